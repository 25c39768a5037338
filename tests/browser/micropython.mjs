// Runs the last of the given Python files in MicroPython, which can import the others.
// `numpy_stand_in.py` is imported as `numpy`.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { loadMicroPython } from "@micropython/micropython-webassembly-pyscript";

const files = process.argv.slice(2);
const micropython = await loadMicroPython({ heapsize: 32 * 1024 * 1024, stdout: (line) => console.log(line) });
for (const file of files) {
  const name = basename(file).replace("numpy_stand_in", "numpy");
  micropython.FS.writeFile(`/${name}`, readFileSync(file, "utf8"));
}
try {
  micropython.runPython(readFileSync(files.at(-1), "utf8"));
} catch (error) {
  console.log(String(error).slice(0, 2000)); // Node would print all of MicroPython before it
  process.exit(1);
}
