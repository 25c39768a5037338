// What a reader does with the book: search, step through a theatre, change and run live cells.
// Each function takes a page and the site's address, and returns what went wrong.

export async function searchFinds(page, site, words, title) {
  await page.goto(`${site}/index.html`);
  await page.keyboard.press("/");
  await page.keyboard.type(words, { delay: 20 });
  const found = page.locator(".md-search-result__link h1, .md-search-result__link h2").filter({ hasText: title });
  return found.first().waitFor({ timeout: 15000 }).then(() => [], () => [`search for ${words} does not find ${title}`]);
}

// The header shows where the reader is, and the table of contents follows: the theme's script lives.
export async function contentsFollow(page, site, path) {
  await page.goto(`${site}/${path}`);
  const heading = page.locator("article h2").nth(2);
  await heading.scrollIntoViewIfNeeded();
  await page.evaluate(() => scrollBy(0, 600));
  const active = page.locator(".md-sidebar--secondary .md-nav__link--active");
  return active.first().waitFor({ timeout: 5000 }).then(() => [], () => [`${path}: the table of contents does not follow`]);
}

// Runs in the page: waits until nothing moves or fades any more.
export const atRest = () => Promise.all(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished.catch(() => {})));

export async function openDrawer(page, site, path) {
  await page.goto(`${site}/${path}`);
  await page.locator(".md-header label[for=__drawer]").click();
  await page.evaluate(atRest);
}

export async function darkSwitch(page, site, path) {
  await page.goto(`${site}/${path}`);
  await page.locator("label[for=__palette_1]").click();
  const scheme = await page.evaluate(() => document.body.dataset.mdColorScheme);
  return scheme === "slate" ? [] : [`${path}: the dark switch leads to ${scheme}`];
}

export async function theatreTurns(page, site, path) {
  const problems = [];
  await page.goto(`${site}/${path}`);
  const stage = page.locator(".theatre").first();
  const step = () => stage.locator(".t-count").textContent();
  const expectStep = async (wanted, key) => {
    if (!(await step()).startsWith(wanted)) problems.push(`theatre: ${key} leads to ${await step()}`);
  };
  await stage.focus();
  await expectStep("1 /", "the beginning");
  for (const [key, wanted] of [["ArrowRight", "2 /"], ["ArrowRight", "3 /"], ["ArrowLeft", "2 /"], ["Home", "1 /"]]) {
    await page.keyboard.press(key);
    await expectStep(wanted, key);
  }
  await page.keyboard.press("End");
  const [now, last] = (await step()).split(" / ");
  if (now !== last) problems.push(`theatre: End leads to ${now} of ${last}`);
  await stage.getByRole("button", { name: "back", exact: true }).click();
  await expectStep(`${last - 1} /`, "the button back");
  if (!(await stage.locator("[aria-live]").textContent())) problems.push("theatre: says nothing");
  return problems;
}

// -- live cells -------------------------------------------------------------------------------------

const cells = (page) => page.locator(".woven.live:not(.exercise)");
const text = async (cell) => ((await cell.locator(":scope > .output").count()) ? (await cell.locator(":scope > .output").innerText()).trim() : "");
const status = (cell) => cell.locator(".live-status");
const press = (cell, name) => cell.getByRole("button", { name, exact: true }).click();
const finished = (cell, words = /run in|error|Stopped|right|not yet/) => status(cell).filter({ hasText: words }).waitFor({ timeout: 30000 });
const squeezed = (words) => words.replace(/\s+/g, " ");
// MicroPython's dicts have no order: of a line that shows one, the parts are compared.
const unordered = (words) => words.split("\n").map((line) => (/^\{'/.test(line) ? line.split(/[{}, ]+/).sort().join(" ") : line)).join("\n");

// Each cell, unchanged, prints what the book says it prints.
export async function cellsPrintWhatIsStored(page, site, path) {
  const problems = [];
  await page.goto(`${site}/${path}`);
  const all = cells(page);
  for (let i = 0; i < (await all.count()); i++) {
    const cell = all.nth(i);
    const stored = await text(cell);
    await press(cell, "Run");
    await finished(cell);
    const now = await text(cell);
    const raises = (await cell.getAttribute("data-raises")) !== null;
    const same = raises ? squeezed(now).split(":")[0] === squeezed(stored).split(":")[0] : squeezed(unordered(now)) === squeezed(unordered(stored));
    if (!same) problems.push(`${path}: cell ${i + 1} prints\n${now}\ninstead of\n${stored}`);
  }
  return problems;
}

async function type(page, cell, code) {
  await cell.locator("textarea").focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(code);
}

// Cells share their names, run those above first, show errors with their line, and can be stopped.
export async function cellsCanBeChanged(page, site, path) {
  const problems = [];
  const expect = (condition, words) => condition || problems.push(`${path}: ${words}`);
  await page.goto(`${site}/${path}`);
  const [first, last] = [cells(page).first(), cells(page).last()];
  const stored = await text(first);
  expect((await page.locator("script[src*='engine.js']").count()) === 0, "the engine is loaded before a cell is run");
  const code = await first.locator("textarea").inputValue();
  await type(page, first, `${code}\nimport tiny\nx = 3.0 * tiny.sin(0.5)`);
  await type(page, last, "y = x * 2\nprint('y is', y)\ny < 3");
  await page.keyboard.press("Control+Enter");
  await finished(last);
  const y = 6 * Math.sin(0.5);
  expect((await text(last)) === `y is ${y.toFixed(4)}\nTrue`, `a changed cell prints ${await text(last)}`);
  await type(page, last, "def f(x):\n    return x.missing\n\nf(y)");
  await page.keyboard.press("Control+Enter");
  await finished(last, /error in line 2/);
  expect(/AttributeError/.test(await text(last)), `an error is shown as ${await text(last)}`);
  expect(await last.locator(".live-mark").isVisible(), "the line of the error is not marked");
  await type(page, last, "while True:\n    pass");
  await press(last, "Run");
  await status(last).filter({ hasText: "running" }).waitFor();
  await press(last, "Stop");
  await finished(last, /Stopped/);
  await type(page, last, "while True: print('for ever')");
  await press(last, "Run");
  await finished(last, /no result within/);
  await type(page, last, "x + 1");
  await press(last, "Run"); // in a new worker, after the cells above
  await finished(last, /run in/);
  expect((await text(last)) === String(+(1 + y / 2).toPrecision(5)), `after a stop, a cell prints ${await text(last)}`);
  await press(first, "Reset");
  expect((await text(first)) === stored, "Reset does not bring the stored output back");
  return problems;
}

// -- exercises --------------------------------------------------------------------------------------

// The stub is not right, the solution is, and a wrong answer is explained.
export async function exerciseIsSolved(page, site, path, number, solution) {
  const problems = [];
  const expect = (condition, words) => condition || problems.push(`${path}, exercise ${number}: ${words}`);
  await page.goto(`${site}/${path}`);
  const exercise = page.locator(`#exercise-${number.replace(".", "-")}`);
  await exercise.locator("summary").first().click();
  const cell = exercise.locator(".woven.exercise");
  await press(cell, "Check");
  await finished(cell);
  expect(/nothing yet/.test(await text(cell)), `the stub gives ${await text(cell)}`);
  await type(page, cell, solution);
  await page.keyboard.press("Control+Enter");
  await finished(cell);
  expect((await status(cell).textContent()) === "✓ right", `the solution gives ${await status(cell).textContent()} ${await text(cell)}`);
  return problems;
}
