// Reads the built book in a real browser, from the file system and from a web server, as a reader
// without network would: no page may load anything from outside, print an error, overflow the
// screen, print text over text, cut code off at 1280 px, have words under 9 px in a drawing at 390 px,
// or fail axe.
//
//     node check.mjs ../../build/site [/usr/bin/chromium [WORDS]]
//
// With WORDS, only the pages whose address contains them are looked at, and nothing is done on them.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { cutOff, overlaps, tooSmall } from "./geometry.mjs";
import * as reader from "./reader.mjs";
import { serve } from "./server.mjs";

const site = resolve(process.argv[2] ?? "../../build/site");
const executablePath = process.argv[3] ?? "/usr/bin/chromium";
const only = process.argv[4] ?? "";
const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const server = await serve(site);
const FILE = `file://${site}`;
// A page is loaded twice, from the file system and from the server, and then its window changes.
const LOADS = [
  { base: FILE, colorScheme: "light", views: [
    { name: "light, 1280, file", width: 1280, axe: true, whole: true },
    { name: "light, 1440, file", width: 1440, whole: true },
    { name: "light, 1920, file", width: 1920, whole: true },
    { name: "light, 390, file", width: 390, legible: true },
  ] },
  { base: server.url, colorScheme: "dark", views: [
    { name: "dark, 1280, http", width: 1280 },
    { name: "dark, 390, http", width: 390, axe: true, legible: true },
    { name: "print, http", width: 794, media: "print" },
  ] },
];
const LARGEST = { page: 400_000, engine: 600_000 }; // bytes, compressed
const problems = [];

function pages(folder) {
  return readdirSync(folder).sort().flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return pages(path);
    return name.endsWith(".html") && name !== "404.html" ? [relative(site, path)] : [];
  });
}

// Pages of code differ in nothing but the code, and pages of the reference in nothing but the names:
// a few of them stand for all.
const isWanted = (path) => !/^(source|reference)\//.test(path) ||
  /^source\/(index|core\/(forward|__init__|jaxpr))\.html|^reference\/(index|minijax|minijax\.lax)\.html/.test(path);

async function visit(page, path, { base, views }) {
  let view = views[0];
  const complain = (what) => problems.push(`${path} (${view.name}): ${what}`);
  page.removeAllListeners();
  page.on("console", (message) => message.type() === "error" && complain(`console: ${message.text()}`));
  page.on("pageerror", (error) => complain(`error: ${error.message}`));
  page.on("request", (request) => {
    if (/^https?:/.test(request.url()) && !request.url().startsWith(server.url)) complain(`asks for ${request.url()}`);
  });
  page.on("response", (response) => response.status() >= 400 && complain(`${response.url()} is not there`));
  await show(page, view);
  await page.goto(`${base}/${path}`, { waitUntil: "load" });
  await page.evaluate(() => document.fonts.ready);
  for (view of views) {
    await show(page, view);
    await look(page, view, complain);
  }
}

async function show(page, { width, media }) {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ media: media ?? "screen" });
}

async function look(page, view, complain) {
  await page.evaluate(reader.atRest);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > view.width) complain(`is ${width} px wide`);
  for (const pair of await page.evaluate(overlaps)) complain(`text over text: ${pair}`);
  if (view.whole) for (const block of await page.evaluate(cutOff)) complain(`cut off: ${block}`);
  if (view.legible) for (const drawing of await page.evaluate(tooSmall)) complain(`small words: ${drawing}`);
  if (view.axe) for (const violation of await violations(page)) complain(violation);
}

async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run({ preload: false, resultTypes: ["violations"] }));
  return found.violations.map(({ id, nodes }) => `axe: ${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 160)}`);
}

// On a narrow screen the contents lie in a drawer, which axe sees when it is open.
async function drawerPasses(path) {
  for (const { base, colorScheme } of LOADS) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 390, height: 900 } });
    const page = await context.newPage();
    await reader.openDrawer(page, base, path);
    problems.push(...(await violations(page)).map((words) => `the drawer of ${path} (${colorScheme}): ${words}`));
    await context.close();
  }
}

async function visitAll(browser, load, paths) {
  const context = await browser.newContext({ colorScheme: load.colorScheme });
  const page = await context.newPage();
  for (const path of paths.filter((path) => isWanted(path) && path.includes(only))) await visit(page, path, load).catch((error) => problems.push(`${path} (${load.colorScheme}): ${error.message}`));
  await context.close();
}

// What stands there without scripts: the theatre as a list, and the stored outputs.
async function withoutScripts(browser, withTheatre, withCells) {
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(`${FILE}/${withTheatre}`);
  if (!(await page.locator(".theatre ol li").first().isVisible())) problems.push("theatre: no list without scripts");
  await page.goto(`${FILE}/${withCells}`);
  if (!(await page.locator(".woven.live .output").first().isVisible())) problems.push("live cells: no output without scripts");
}

// A page with all that it loads, and the engine, as a server would send them.
function weigh(paths) {
  const bytes = (path) => gzipSync(readFileSync(path)).length;
  for (const path of paths.filter((path) => /^\d\d-/.test(path))) {
    const html = readFileSync(join(site, path), "utf8");
    const loaded = [...html.matchAll(/(?:src|href)="([^"#?:]*\.(?:js|css|woff2))"/g)].map(([, url]) => resolve(join(site, path), "..", url));
    const sum = [join(site, path), ...loaded].map(bytes).reduce((a, b) => a + b, 0);
    if (sum > LARGEST.page) problems.push(`${path} has ${sum} bytes, compressed, with what it loads`);
  }
  const engine = bytes(join(site, "assets/engine.js"));
  if (engine > LARGEST.engine) problems.push(`the engine has ${engine} bytes, compressed`);
}

// The MicroPython of the site is that of the package.
function comparePackage() {
  const sum = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");
  for (const name of ["micropython.mjs", "micropython.wasm"]) {
    const [ours, theirs] = [`../../site/vendor/micropython/${name}`, `node_modules/@micropython/micropython-webassembly-pyscript/${name}`];
    if (sum(ours) !== sum(theirs)) problems.push(`${name} differs from the package's`);
  }
}

// What a reader does, over file and http.
async function doAll() {
  const page = await browser.newPage();
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => errors.push(`error: ${error.message}`));
  for (const base of [FILE, server.url]) {
    const add = (found) => problems.push(...found.map((words) => `${words} (${base === FILE ? "file" : "http"})`));
    add(await reader.searchFinds(page, base, "transpose", "transpose"));
    add(await reader.contentsFollow(page, base, "02-forward-mode/index.html"));
    add(await reader.darkSwitch(page, base, "source/core/forward.html"));
    for (const path of withTheatre.slice(0, 2)) add(await reader.theatreTurns(page, base, path));
    add(await reader.cellsCanBeChanged(page, base, "tiny/index.html"));
    for (const [path, number, solution] of exercises.slice(0, base === FILE ? undefined : 1)) add(await reader.exerciseIsSolved(page, base, path, number, solution));
  }
  for (const path of withCells) problems.push(...await reader.cellsPrintWhatIsStored(page, FILE, path));
  problems.push(...errors);
  await drawerPasses("12-numpy/indexing.html");
  await withoutScripts(browser, withTheatre[0], withCells[0]);
  weigh(all);
  comparePackage();
}

// The exercises that can be solved on the page, with their solutions, told by the build's own code.
const exercises = JSON.parse(readFileSync(join(site, "assets/exercises.json"), "utf8"));

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const all = pages(site);
const has = (words) => all.filter((path) => readFileSync(join(site, path), "utf8").includes(words));
const [withTheatre, withCells] = [has('class="theatre'), has('class="woven live"')];
await Promise.all(LOADS.map((load) => visitAll(browser, load, all)));
if (!only) await doAll();
await browser.close();
server.close();

console.log(problems.length ? problems.join("\n") : `${all.length} pages read in ${LOADS.flatMap((load) => load.views).length} views, ${withCells.length} with live cells, ${exercises.length} exercises solved: nothing wrong`);
process.exit(problems.length ? 1 : 0);
