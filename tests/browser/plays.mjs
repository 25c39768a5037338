// The theatre and the explanations to play with, in a real browser: keys, values, no errors, nothing
// clipped or overprinted at any step, axe in light, dark and narrow.
//
//     node plays.mjs ../../build/site ../../build/theatre.html [/usr/bin/chromium]
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import { chromium } from "playwright-core";

const site = resolve(process.argv[2] ?? "../../build/site");
const own = resolve(process.argv[3] ?? "../../build/theatre.html"); // written by `python -m minijax theatre`
const executablePath = process.argv[4] ?? "/usr/bin/chromium";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = [
  { name: "light 1440", width: 1440, colorScheme: "light" },
  { name: "dark 1440", width: 1440, colorScheme: "dark" },
  { name: "narrow", width: 390, colorScheme: "light" },
];
// What each explanation says at a step: the number of times that → is pressed, and words to be there.
const SAYS = {
  "batch-axis": [2, "the batch axis moves from 1 to 0"],
  jacobian: [2, "gives column 2: (4, 4)"],
  lowering: [2, "= sin c became one line"],
  "scan-ribbon": [2, "7 · 3 + 5 = 26"],
  unzip: [7, "the gradient, −2.829"],
};
const problems = [];

function pages(folder) {
  return readdirSync(folder).sort().flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return pages(path);
    return name.endsWith(".html") && /class="(theatre|play)"/.test(readFileSync(path, "utf8")) ? [path] : [];
  });
}

async function open(browser, path, view, options = {}) {
  const context = await browser.newContext({ viewport: { width: view.width, height: 900 }, colorScheme: view.colorScheme, ...options });
  const page = await context.newPage();
  const place = `${relative(site, path)} (${view.name})`;
  const complain = (what) => problems.push(`${place}: ${what}`);
  page.on("console", (message) => message.type() === "error" && complain(`console: ${message.text()}`));
  page.on("pageerror", (error) => complain(`error: ${error.message}`));
  page.on("request", (request) => /^https?:/.test(request.url()) && complain(`asks for ${request.url()}`));
  await page.goto(`file://${path}`, { waitUntil: "load" });
  return { page, complain, close: () => context.close() };
}

// -- geometry -------------------------------------------------------------------------------------

// Runs in the page: what is outside of the stage that cannot be scrolled to, and which words of a
// picture lie on each other.
function faults(stage) {
  const found = [];
  const shown = (node) => {
    const style = getComputedStyle(node), box = node.getBoundingClientRect();
    return style.visibility === "visible" && style.display !== "none" && box.width > 0 && box.height > 0;
  };
  const scrolls = (node) => {
    for (let up = node.parentElement; up && up !== stage.parentElement; up = up.parentElement)
      if (/auto|scroll/.test(getComputedStyle(up).overflowX) || getComputedStyle(up).textOverflow === "ellipsis") return true;
    return false;
  };
  const outer = stage.getBoundingClientRect();
  for (const node of stage.querySelectorAll("button, p, li, code, text, input, figcaption, td"))
    if (shown(node) && !scrolls(node) && node.getBoundingClientRect().right > outer.right + 1) found.push(`clipped: ${node.textContent.slice(0, 40)}`);
  for (const svg of stage.querySelectorAll("svg")) {
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].filter(shown).map((node) => [node.textContent, node.getBoundingClientRect()]);
    boxes.forEach(([words, a], i) => {
      if (a.right > frame.right + 1 || a.left < frame.left - 1 || a.bottom > frame.bottom + 2) found.push(`outside its picture: ${words}`);
      for (const [others, b] of boxes.slice(i + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 2 && down > 4) found.push(`overprinted: ${words} and ${others}`);
      }
    });
  }
  return found;
}

async function isWhole(stage, complain, when) {
  for (const fault of new Set(await stage.evaluate(faults))) complain(`${when}: ${fault}`);
}

// -- one stage ------------------------------------------------------------------------------------

async function everyStep(page, stage, counter, complain, name) {
  await stage.focus();
  await page.keyboard.press("Home");
  const heights = new Set();
  for (let k = 1; ; k++) {
    await isWhole(stage, complain, `${name}, step ${k}`);
    heights.add(Math.round((await stage.boundingBox()).height));
    const [now, last] = (await stage.locator(counter).textContent()).split(" / ").map(Number);
    if (now !== k) return complain(`${name}: step ${k} is called ${now}`);
    if (now === last) break;
    await page.keyboard.press("ArrowRight");
  }
  return heights;
}

async function theatre(page, stage, complain, name) {
  const heights = await everyStep(page, stage, ".t-count", complain, name);
  if (heights && heights.size > 1) complain(`${name}: its height changes: ${[...heights]}`);
  const count = async () => (await stage.locator(".t-count").textContent()).split(" / ").map(Number);
  const all = stage.getByRole("button", { name: /^all \d+ steps$/ });
  if (await all.isVisible()) {
    const [, few] = await count();
    await all.click();
    if ((await count())[1] <= few) complain(`${name}: all steps are ${await count()}`);
    await isWhole(stage, complain, `${name}, all steps`);
    await stage.getByRole("button", { name: "fewer steps" }).click();
    if ((await count())[1] !== few) complain(`${name}: fewer steps are ${await count()}`);
  }
}

async function theatreOfOwn(browser) {
  const { page, complain, close } = await open(browser, own, VIEWS[0], { reducedMotion: "reduce" });
  const stage = page.locator(".theatre"), count = () => stage.locator(".t-count").textContent();
  await stage.focus();
  const back = page.getByRole("button", { name: "backwards" });
  await page.keyboard.press("ArrowDown");
  if ((await back.getAttribute("aria-pressed")) !== "true") complain("↓ does not lead to the chapter `backwards`");
  const steps = async () => Number((await count()).split(" / ")[1]), before = await steps();
  await page.keyboard.press("Enter");
  const folded = await steps();
  await page.keyboard.press("Enter");
  if (!(folded < before && (await steps()) === before)) complain(`Enter folds ${before} to ${folded}, and opens ${await steps()}`);
  await page.keyboard.press("End");
  const cotangents = await stage.locator(".tg-ct:not(.gone)").allTextContents();
  if (!cotangents.some((words) => words.includes("[1. 1. 1.]"))) complain(`the cotangents at the end: ${cotangents}`);
  await page.keyboard.press("Home");
  if (await stage.locator(".tg-way:not(.later)").count()) complain("a way back is drawn at the beginning");
  await page.keyboard.press(" ");
  await page.waitForTimeout(2300);
  if ((await count()).startsWith("1 /")) complain("the space bar does not play");
  await page.keyboard.press(" ");
  await close();
}

async function explanation(page, stage, complain, name) {
  if (name === "tangent-arrow") return tangentArrow(page, stage, complain);
  await everyStep(page, stage, ".pl-count", complain, name);
  const [times, words] = SAYS[name];
  await page.keyboard.press("Home");
  for (let i = 0; i < times; i++) await page.keyboard.press("ArrowRight");
  const said = await stage.locator(".pl-say").textContent();
  if (!said.includes(words)) complain(`${name} says at step ${times}: ${said}`);
  if (name === "lowering") {
    await stage.getByRole("button", { name: /sin/ }).click();
    const lit = await stage.locator("li.pl-lit").allTextContents();
    if (lit.length !== 1 || !lit[0].includes("stablehlo.sine")) complain(`the equation of sin lights ${lit}`);
  }
}

async function tangentArrow(page, stage, complain) {
  const say = () => stage.locator(".pl-say").textContent();
  await stage.getByLabel("the point x").focus();
  await page.keyboard.press("Home");
  if (!(await say()).includes("the value 0 and the tangent 0.")) complain(`tangent-arrow at 0 says ${await say()}`);
  const svg = stage.locator("svg");
  await svg.scrollIntoViewIfNeeded();
  const box = await svg.boundingBox(), at = (x) => box.x + ((40 + 68 * x) / 658) * box.width;
  await page.mouse.move(at(1), box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(at(3), box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  if (!(await say()).includes("jvp(f, (3.00,), (1.0,)) gives the value 0.4234 and the tangent −2.829")) complain(`tangent-arrow, dragged to 3, says ${await say()}`);
  await stage.getByLabel("the tangent of x").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  if (!(await say()).includes("the tangent −5.658")) complain(`tangent-arrow with tangent 2 says ${await say()}`);
  await isWhole(stage, complain, "tangent-arrow");
}

async function withoutScripts(browser, path) {
  const { page, complain, close } = await open(browser, path, VIEWS[0], { javaScriptEnabled: false });
  for (const stage of await page.locator(".theatre, .play").all()) {
    const name = await stage.getAttribute("aria-label");
    if (!(await stage.locator("svg:visible, table:visible, li:visible").count())) complain(`${name}: no picture without scripts`);
    if (await stage.locator("button:visible:not([data-go]), input:visible").count()) complain(`${name}: dead buttons without scripts`);
    await isWhole(stage, complain, `${name}, without scripts`);
  }
  await close();
}

// -------------------------------------------------------------------------------------------------

async function visit(browser, path, view) {
  const { page, complain, close } = await open(browser, path, view);
  const isNew = view.colorScheme === "light"; // what differs in the dark is only the colours
  for (const stage of isNew ? await page.locator(".theatre").all() : []) await theatre(page, stage, complain, await stage.getAttribute("aria-label"));
  for (const stage of isNew ? await page.locator(".play").all() : []) await explanation(page, stage, complain, await stage.getAttribute("data-play"));
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(".theatre, .play", { preload: false, resultTypes: ["violations"] }).catch(() => axe.run({ preload: false, resultTypes: ["violations"] })));
  for (const { id, nodes } of violations) complain(`axe: ${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 160)}`);
  await close();
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const all = [...pages(site), own];
for (const path of all) {
  for (const view of VIEWS) await visit(browser, path, view);
  await withoutScripts(browser, path);
}
await theatreOfOwn(browser);
const text = all.map((path) => readFileSync(path, "utf8")).join("");
for (const name of [...Object.keys(SAYS), "tangent-arrow"])
  if (!text.includes(`data-play="${name}"`)) problems.push(`no page has the explanation ${name}`);
await browser.close();

console.log(problems.length ? problems.join("\n") : `${all.length} pages with theatres and explanations: nothing wrong`);
process.exit(problems.length ? 1 : 0);
