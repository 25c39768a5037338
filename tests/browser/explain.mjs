// The page of `minijax explain`, in a real browser: it needs nothing else, hover and keys light what
// belongs together in all columns, the slider replays, nothing sticks out, axe in all views.
//
//     node explain.mjs ../../build/explain.html [/usr/bin/chromium]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const file = resolve(process.argv[2] ?? "../../build/explain.html"); // the gradient of minijax.numpy.std
const executablePath = process.argv[3] ?? "/usr/bin/chromium";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const problems = [];

async function look(browser, width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const complain = (what) => problems.push(`${width} ${colorScheme}: ${what}`);
  page.on("console", (message) => message.type() === "error" && complain(`console: ${message.text()}`));
  page.on("pageerror", (error) => complain(`error: ${error.message}`));
  page.on("request", (request) => /^https?:/.test(request.url()) && complain(`asks for ${request.url()}`));
  await page.goto(`file://${file}`, { waitUntil: "load" });
  for (const name of ["StableHLO", "XLA's program"]) {
    const button = page.getByRole("button", { name });
    if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
  }
  await lights(page, complain);
  await replays(page, complain);
  const sticksOut = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (sticksOut > 0) complain(`the page is ${sticksOut} px too wide`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run({ preload: false, resultTypes: ["violations"] }));
  for (const { id, nodes } of violations) complain(`axe: ${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 160)}`);
  await context.close();
}

const lit = (page, column) => page.locator(`#column-${column} li.now`);

async function lights(page, complain) {
  const root = page.locator("#column-lines li", { hasText: "= sqrt" }).first();
  await root.hover();
  if ((await lit(page, "lines").count()) !== 1) complain("hover on the root lights not one line of the program");
  if (!(await lit(page, "stablehlo").allTextContents()).some((text) => text.includes("sqrt"))) complain("the root is not lit in StableHLO");
  const before = await page.locator(".told").textContent();
  await page.locator("#column-lines ol").focus();
  await page.keyboard.press("ArrowDown");
  if ((await page.locator(".told").textContent()) === before) complain("↓ does not go to the next equation");
  if (!(await page.locator("li.backward").count())) complain("no backward part");
}

async function replays(page, complain) {
  const slider = page.getByLabel("step of the replay");
  await slider.focus();
  await page.keyboard.press("End");
  const said = await page.locator("output").textContent();
  const [at, of] = said.split(" of ");
  if (at !== of || Number(of) < 5) complain(`the replay ends at ${said}`);
  await page.getByRole("button", { name: "one step back" }).click();
  if (!(await page.locator("output").textContent()).startsWith(String(Number(of) - 1))) complain("◀ does not step back");
  await page.getByLabel("Shade by").selectOption("bytes");
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const width of [390, 1280, 1440]) for (const scheme of ["light", "dark"]) await look(browser, width, scheme);
await browser.close();
for (const problem of problems) console.error(problem);
console.log(problems.length ? `${problems.length} problems` : "explain: no problems");
process.exit(problems.length ? 1 : 0);
