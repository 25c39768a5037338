// Live cells: the reader changes the code of an example, and MicroPython runs it in a worker.
// Without this script, and until a cell is run, the stored output stands there.
(() => {
  const SECONDS = 10; // a cell that takes longer is ended
  const HERE = document.currentScript.src;
  const node = (tag, css, text = "") => Object.assign(document.createElement(tag), { className: css, textContent: text });

  // -- the engine ---------------------------------------------------------------------------------

  let engine = null; // the promise of the script
  let worker = null; // the promise of a worker that is ready
  let ran = []; // the code of each cell as it was run in this worker

  function loadEngine() {
    engine ??= new Promise((resolve, reject) => {
      const script = node("script", "");
      script.src = new URL("engine.js", HERE).href;
      script.onload = () => resolve(globalThis.liveEngine);
      script.onerror = () => reject(new Error("assets/engine.js cannot be loaded"));
      document.head.append(script);
    });
    return engine;
  }

  function filesOf(chapter, { files, ends }) {
    const { "tiny.py": tiny, "tiny_loops.py": loops, ...others } = files;
    if (ends[chapter] === undefined) return chapter > 0 ? files : others;
    return { ...others, "tiny.py": tiny.slice(0, ends[chapter]) };
  }

  function startWorker(chapter) {
    worker ??= loadEngine().then((parts) => new Promise((resolve, reject) => {
      const url = URL.createObjectURL(new Blob([parts.worker], { type: "text/javascript" }));
      const made = new BrowserWorker(url);
      made.onmessage = ({ data }) => (data.ready ? resolve(made) : reject(new Error(data.broken)));
      made.onerror = (event) => reject(new Error(event.message || "the worker cannot be started"));
      made.postMessage({ files: filesOf(chapter, parts), wasm: parts.wasm });
    }));
    return worker;
  }

  async function endWorker() {
    const old = worker;
    worker = null;
    ran = [];
    (await old)?.terminate();
  }

  let stop = null; // ends the run that is going on

  // Runs code, and passes on what it prints; resolves to the text of an error, or "".
  async function execute(chapter, task, print) {
    const ready = await startWorker(chapter);
    return new Promise((resolve) => {
      const end = (error) => {
        clearTimeout(timer);
        stop = null;
        resolve(error);
      };
      const abort = (why) => {
        endWorker();
        end(why);
      };
      const timer = setTimeout(() => abort(`Stopped: no result within ${SECONDS} seconds. Is there a loop that does not end?`), SECONDS * 1000);
      stop = () => abort("Stopped.");
      ready.onmessage = ({ data }) => {
        if (data.out !== undefined) print(data.out);
        else if (data.done) end(data.error);
        else abort(`MicroPython ended: ${data.broken}`);
      };
      ready.postMessage(task);
    });
  }

  // -- colours ------------------------------------------------------------------------------------

  const WORDS = "and as assert break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield".split(" ");
  const TOKEN = /(#.*)|("""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|[fr]?"(?:\\.|[^"\\\n])*"?|[fr]?'(?:\\.|[^'\\\n])*'?)|\b(\d[\w.]*)|(@?[A-Za-z_]\w*)/g;

  function colour(code) {
    const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    let html = "", at = 0, before = "";
    for (const match of code.matchAll(TOKEN)) {
      const [text, comment, string, , word] = match;
      const css = comment ? "c1" : string ? "s2" : word && WORDS.includes(word) ? "k" : word && /^(def|class)$/.test(before) ? "nf" : "";
      html += escape(code.slice(at, match.index)) + (css ? `<span class="${css}">${escape(text)}</span>` : escape(text));
      at = match.index + text.length;
      if (word) before = word;
    }
    return html + escape(code.slice(at));
  }

  // -- numbers as the build prints them -------------------------------------------------------------

  function rounded(text) {
    return text.replace(/(?<![\w.])-?\d+\.\d{5,}(e[-+]?\d+)?(?![\w.])/g, (number) => {
      const [digits, exponent] = Number(number).toExponential(4).split("e");
      if (exponent >= -4 && exponent < 5) return String(Number(Number(number).toPrecision(5)));
      const size = String(Math.abs(exponent)).padStart(2, "0");
      return `${Number(digits)}e${exponent < 0 ? "-" : "+"}${size}`;
    }).replace(/\b(at )(0x)?[0-9a-f]{5,}\b/g, "$10x...");
  }

  // -- errors -------------------------------------------------------------------------------------

  // Of a traceback: the last line, the last line of the cell that it passed, and where else it was.
  function explained(trace, name) {
    const lines = trace.trimEnd().split("\n");
    const start = lines.findLastIndex((line) => line.startsWith("  File "));
    const message = lines.slice(start + 1).join("\n");
    const places = [...trace.matchAll(/File "([^"]*)", line (\d+)(?:, in (.*))?/g)].map(([, file, line, where]) => ({ file, line: Number(line), where }));
    const own = places.findLast(({ file }) => file === name);
    const last = places.at(-1);
    const inside = last && last.file !== name && /^tiny|^numpy|^cell/.test(last.file) ? `, from ${last.file}, line ${last.line}` : "";
    return { message, line: own?.line ?? 0, place: own ? `line ${own.line}${inside}` : "" };
  }

  // -- a cell -------------------------------------------------------------------------------------

  const cells = [];

  class Cell {
    constructor(root, number) {
      this.root = root;
      this.name = `cell ${number}`;
      this.chapter = Number(root.dataset.chapter);
      this.check = root.dataset.check ? JSON.parse(root.dataset.check) : null;
      this.mayFail = "raises" in root.dataset;
      this.pre = root.querySelector(".example pre");
      this.code = this.pre.querySelector("code");
      this.stored = { text: this.code.textContent, html: this.code.innerHTML };
      this.output = root.querySelector(":scope > .output");
      this.storedOutput = this.output?.cloneNode(true);
      this.makeEditor();
      this.makeBar();
    }

    makeEditor() {
      const box = this.root.querySelector(".example");
      box.classList.add("live-editor");
      this.pre.removeAttribute("tabindex");
      this.pre.setAttribute("aria-hidden", "true");
      this.numbers = node("pre", "live-numbers");
      this.numbers.setAttribute("aria-hidden", "true");
      this.mark = node("div", "live-mark");
      this.mark.hidden = true;
      this.text = node("textarea", "");
      Object.assign(this.text, { value: this.stored.text, spellcheck: false, autocomplete: "off", wrap: "off" });
      this.text.setAttribute("autocapitalize", "off");
      this.text.setAttribute("aria-label", `${this.check ? "Your answer" : "Code you can change"}. Control and Enter run it.`);
      const grid = node("div", "live-grid");
      grid.append(this.mark, this.numbers, this.pre, this.text);
      box.replaceChildren(grid);
      this.text.addEventListener("input", () => this.changed());
      this.text.addEventListener("keydown", (event) => this.key(event));
      this.count();
    }

    makeBar() {
      const button = (words, act) => {
        const made = node("button", "", words);
        made.type = "button";
        made.addEventListener("click", act);
        return made;
      };
      this.runButton = button(this.check ? "Check" : "Run", () => run(this));
      this.runButton.title = "Ctrl+Enter";
      this.stopButton = button("Stop", () => stop?.());
      this.resetButton = button("Reset", () => this.reset());
      this.stopButton.hidden = this.resetButton.hidden = true;
      this.status = node("span", "live-status", this.check ? "" : "edit, then Ctrl+Enter");
      this.status.setAttribute("role", "status");
      this.bar = node("div", "live-bar");
      this.bar.append(this.runButton, this.stopButton, this.resetButton, this.status);
      this.root.querySelector(".example").after(this.bar);
    }

    get source() {
      return this.text.value;
    }

    key(event) {
      if (event.key !== "Enter") return;
      const { selectionStart: at, value } = this.text;
      if (event.ctrlKey || event.metaKey) run(this);
      else if (event.shiftKey) return;
      else {
        const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
        const deeper = /:\s*(#.*)?$/.test(line) ? "    " : "";
        document.execCommand("insertText", false, `\n${line.match(/^ */)[0]}${deeper}`);
      }
      event.preventDefault();
    }

    changed() {
      this.code.innerHTML = colour(this.source);
      this.mark.hidden = true;
      this.resetButton.hidden = this.source === this.stored.text;
      this.count();
    }

    count() {
      const lines = this.source.split("\n").length;
      this.numbers.textContent = Array.from({ length: lines }, (_, i) => i + 1).join("\n") + "\n";
      if (!this.code.textContent.endsWith("\n")) this.code.append("\n"); // as high as the text
    }

    reset() {
      this.text.value = this.stored.text;
      this.changed();
      this.code.innerHTML = this.stored.html;
      this.count();
      this.output?.remove();
      this.output = this.storedOutput?.cloneNode(true);
      if (this.output) this.root.append(this.output);
      this.status.textContent = "";
      this.text.focus();
    }

    show() {
      if (!this.output) {
        this.output = node("div", "output");
        this.root.append(this.output);
      }
      this.output.innerHTML = '<div class="highlight"><pre tabindex="0"><code></code></pre></div>';
      this.printed = "";
    }

    print(text) {
      this.printed += text;
      this.output.hidden = !this.printed;
      this.output.querySelector("code").textContent = rounded(this.printed).replace(/\n$/, "");
    }

    // Runs this cell alone. Returns whether those below it may run.
    async run() {
      const source = this.source;
      this.show();
      this.mark.hidden = true;
      this.root.classList.add("running");
      this.stopButton.hidden = false;
      this.status.textContent = worker ? "running …" : "loading Python (0.3 MB) …";
      const begin = performance.now();
      const trace = await execute(this.chapter, { code: source, name: this.name, check: this.check }, (text) => this.print(text));
      const took = performance.now() - begin;
      this.root.classList.remove("running");
      this.stopButton.hidden = true;
      this.print("");
      if (!trace) {
        this.status.textContent = this.check ? "✓ right" : `run in ${took < 1000 ? `${Math.ceil(took)} ms` : `${(took / 1000).toFixed(1)} s`} by MicroPython, in this page`;
      } else this.fail(trace);
      this.root.classList.toggle("right", Boolean(this.check && !trace));
      return !trace || this.mayFail;
    }

    fail(trace) {
      if (trace.startsWith("Stopped") || trace.startsWith("MicroPython ended")) {
        this.status.textContent = trace;
      } else if (trace.startsWith("Wrong: ")) {
        this.print(`✗ ${trace.slice("Wrong: ".length)}`);
        this.status.textContent = "not yet";
      } else {
        const { message, line, place } = explained(trace, this.name);
        this.print(message);
        this.status.textContent = place ? `error in ${place}` : "error";
        this.mark.hidden = !line;
        this.mark.style.setProperty("--line", line - 1);
      }
    }
  }

  // -- running, in the order of the page ------------------------------------------------------------

  let busy = false;

  async function run(cell) {
    if (busy) return;
    busy = true;
    try {
      const above = cell.check ? [] : cells.filter((other) => !other.check).slice(0, cells.filter((other) => !other.check).indexOf(cell));
      const first = above.findIndex((other) => ran[cells.indexOf(other)] !== other.source);
      for (const other of first < 0 ? [cell] : [...above.slice(first), cell]) {
        if (!other.check) ran[cells.indexOf(other)] = other.source;
        if (!(await other.run()) && other !== cell) {
          cell.status.textContent = "a cell above has an error";
          break;
        }
      }
    } catch (error) {
      cell.status.textContent = String(error.message);
      cell.stopButton.hidden = true;
      endWorker().catch(() => {});
    }
    busy = false;
  }

  document.querySelectorAll(".woven.live").forEach((root, i) => cells.push(new Cell(root, i + 1)));
})();
