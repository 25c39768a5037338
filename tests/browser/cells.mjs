// Runs live cells in the MicroPython of the site: standard input is a JSON list of pages, each with the files that it
// can import and its cells. Prints a JSON list with what each cell of each page printed, its error's last line included.
import { readFileSync } from "node:fs";

const engine = new URL("../../site/vendor/micropython/", import.meta.url);
const { loadMicroPython } = await import(new URL("micropython.mjs", engine));
const url = decodeURIComponent(new URL("micropython.wasm", engine).pathname);

async function run({ files, cells }) {
  let lines = [];
  const micropython = await loadMicroPython({ url, heapsize: 32 * 1024 * 1024, stdout: (line) => lines.push(line) });
  for (const [name, text] of Object.entries(files)) micropython.FS.writeFile(`/${name}`, text);
  return cells.map((cell) => {
    lines = [];
    try {
      micropython.runPython(cell);
    } catch (error) {
      lines.push(String(error).trim().split("\n").at(-1));
    }
    return lines.join("\n");
  });
}

const printed = [];
for (const page of JSON.parse(readFileSync(0, "utf8"))) printed.push(await run(page));
console.log(JSON.stringify(printed));
