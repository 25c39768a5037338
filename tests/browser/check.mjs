// Reads the built book in a real browser, from the file system, as a reader without network would:
// no page may load anything from outside, print an error, overflow a narrow screen, or fail axe.
//
//     node check.mjs ../../build/site [/usr/bin/chromium]
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve, relative } from "node:path";
import { chromium } from "playwright-core";

const site = resolve(process.argv[2] ?? "../../build/site");
const executablePath = process.argv[3] ?? "/usr/bin/chromium";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = [
  { name: "light", width: 1280, colorScheme: "light" },
  { name: "dark", width: 1280, colorScheme: "dark" },
  { name: "narrow", width: 390, colorScheme: "light" },
];
const problems = [];

function pages(folder) {
  return readdirSync(folder).sort().flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return pages(path);
    return name.endsWith(".html") && name !== "404.html" ? [path] : [];
  });
}

// Pages of code differ in nothing but the code: two of them stand for all in the wide views.
function isWanted(path, view) {
  const place = relative(site, path);
  return view.name === "narrow" || !place.startsWith("source/") || /source\/(index|core\/forward)\.html/.test(place);
}

async function visit(page, path, view) {
  const place = `${relative(site, path)} (${view.name})`;
  const complain = (what) => problems.push(`${place}: ${what}`);
  page.removeAllListeners();
  page.on("console", (message) => message.type() === "error" && complain(`console: ${message.text()}`));
  page.on("pageerror", (error) => complain(`error: ${error.message}`));
  page.on("request", (request) => {
    if (/^https?:/.test(request.url())) complain(`asks for ${request.url()}`);
  });
  await page.goto(`file://${path}`, { waitUntil: "load" });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > view.width) complain(`is ${width} px wide`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run({ preload: false }));
  for (const { id, nodes } of violations) complain(`axe: ${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 160)}`);
}

async function visitAll(browser, view, paths) {
  const context = await browser.newContext({ viewport: { width: view.width, height: 900 }, colorScheme: view.colorScheme });
  const page = await context.newPage();
  for (const path of paths.filter((path) => isWanted(path, view))) await visit(page, path, view);
  await context.close();
}

// -- what a reader does ---------------------------------------------------------------------------

async function searchFinds(page, words, title) {
  await page.goto(`file://${site}/index.html`);
  await page.keyboard.press("/");
  await page.keyboard.type(words, { delay: 20 });
  const found = page.locator(".md-search-result__link h1, .md-search-result__link h2").filter({ hasText: title });
  await found.first().waitFor({ timeout: 15000 }).catch(() => problems.push(`search for ${words} does not find ${title}`));
}

async function theatreTurns(page, path) {
  await page.goto(`file://${path}`);
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
}

async function listWithoutScripts(browser, path) {
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(`file://${path}`);
  if (!(await page.locator(".theatre ol li").first().isVisible())) problems.push("theatre: no list without scripts");
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const all = pages(site);
const withTheatre = all.filter((path) => readFileSync(path, "utf8").includes('class="theatre"'));
await Promise.all(VIEWS.map((view) => visitAll(browser, view, all)));
const page = await browser.newPage();
await searchFinds(page, "transpose", "transpose");
for (const path of withTheatre.slice(0, 2)) await theatreTurns(page, path);
if (withTheatre.length) await listWithoutScripts(browser, withTheatre[0]);
await browser.close();

console.log(problems.length ? problems.join("\n") : `${all.length} pages read in ${VIEWS.length} views: nothing wrong`);
process.exit(problems.length ? 1 : 0);
