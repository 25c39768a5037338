// The worker that runs live cells. The page ends it if a cell does not.
let python = null;
let left = 0; // characters that a cell may still print

function print(line) {
  if (left <= 0) return;
  left -= line.length + 1;
  postMessage({ out: left > 0 ? `${line}\n` : `${line.slice(0, 1000)}\n… and more, which is not shown\n` });
}

async function start({ files, wasm }) {
  const loadMicroPython = await loading;
  python = await loadMicroPython({ url: wasm, heapsize: 32 * 1024 * 1024, stdout: print, stderr: print });
  for (const [name, text] of Object.entries(files)) python.FS.writeFile(`/${name}`, text);
  python.runPython("import runner\nnames = {'__name__': '__main__'}");
  postMessage({ ready: true });
}

function run({ code, name, check }) {
  left = 20000;
  python.globals.set("task", JSON.stringify([code, name, ...(check ? [check.code, check.function, check.answers] : [])]));
  python.runPython("import json\ntask = json.loads(task)");
  python.runPython(check ? "error = runner.check_answers(*task)" : "error = runner.run_cell(*task, names)");
  postMessage({ done: true, error: python.globals.get("error") ?? "" });
}

onmessage = async ({ data }) => {
  try {
    if (data.files) await start(data);
    else run(data);
  } catch (error) {
    postMessage({ broken: String(error?.message ?? error) });
  }
};
