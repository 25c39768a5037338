// The player of recordings: takes over each element of class "theatre", in which a script element
// holds a recording (format 1) and a list tells it in sentences to those who run no scripts.
(function () {
  "use strict";

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    for (const child of children) if (child !== null) node.append(child);
    return node;
  }

  // -- values: boxes in boxes -------------------------------------------------------------------

  function labelled(label, box) {
    return el("span", { class: "tb-part" }, el("span", { class: "tb-label" }, label), drawBox(box));
  }

  function drawBox(box) {
    const node = el("span", { class: "tb tb-" + box.box, title: box.type || "" });
    if (box.box === "jvp") node.append(labelled("primal", box.primal), labelled("tangent", box.tangent));
    else if (box.box === "batch") node.append(labelled("entries along axis " + box.dim, box.value));
    else if (box.box === "zero") node.append("0 ", el("span", { class: "tb-type" }, box.type));
    else if (box.box === "unknown" || box.box === "staged")
      node.append(box.name || "?", el("span", { class: "tb-type" }, " : " + box.type));
    else node.append(box.text, box.type ? el("span", { class: "tb-type" }, " " + box.type) : null);
    return node;
  }

  // -- the panels of one step -------------------------------------------------------------------

  function drawStack(traces) {
    const list = el("ol", { class: "t-stack", "aria-label": "the stack of traces, the current one on top" });
    traces.slice().reverse().forEach((name, i) =>
      list.append(el("li", i === 0 ? { class: "now" } : {}, name)));
    return list;
  }

  const VERBS = { process: "is asked for", result: "gives", rule: "a rule fires", begin: "begins",
    end: "is over", equation: "an equation is written down", transpose: "the way back", compile: "XLA" };

  function drawAction(event) {
    const node = el("div", { class: "t-action" });
    const who = event.traces ? event.traces[event.traces.length - 1] : "";
    const computes = event.kind === "process" && who === "EvalTrace";
    node.append(el("p", { class: "t-verb" }, who, who ? " " : "", computes ? "computes" : VERBS[event.kind] || event.kind));
    if (event.primitive) node.append(el("code", { class: "t-primitive" }, event.primitive));
    if (event.equation) node.append(el("code", { class: "t-equation" }, event.equation));
    const boxes = event.args || event.out;
    if (boxes) node.append(el("div", { class: "t-boxes" }, ...boxes.map(drawBox)));
    return node;
  }

  function drawJaxprs(events, step) {
    const written = new Map();
    for (const event of events.slice(0, step + 1)) {
      if (event.kind !== "equation") continue;
      if (!written.has(event.jaxpr)) written.set(event.jaxpr, []);
      written.get(event.jaxpr).push(event.equation);
    }
    const now = events[step];
    if (!written.size) return null;
    const walkedBack = new Set(events.slice(0, step).filter((e) => e.kind === "transpose").map((e) => e.equation));
    const lists = [...written].map(([number, equations], i) => {
      const label = "equations of jaxpr " + (i + 1);
      const list = el("ol", { class: "t-jaxpr", "aria-label": label });
      for (const text of equations) {
        const current = (now.kind === "equation" || now.kind === "transpose") && now.equation === text;
        list.append(el("li", { class: current ? "now" : walkedBack.has(text) ? "past" : "" }, el("code", {}, text)));
      }
      return el("div", {}, el("p", { class: "t-verb" }, label), list);
    });
    return el("div", { class: "t-jaxprs" }, ...lists);
  }

  function drawSource(recording, event) {
    const [path, line] = event.at;
    const lines = recording.sources[path] || {};
    const code = el("code", {});
    for (let n = line; n in lines && n < line + 24; n++) {
      code.append(el("span", { class: n === line ? "line now" : "line", "data-n": n }, lines[n] + "\n"));
      if (n > line && lines[n].trim() && !/^\s/.test(lines[n]) && !/^\s/.test(lines[line])) break;
    }
    return el("figure", { class: "t-source" },
      el("figcaption", {}, (/^[^/].*\.py$/.test(path) ? "minijax/" : "") + path + ", line " + line), el("pre", { tabindex: "0" }, code));
  }

  function drawUser(recording, event) {
    if (event.user === undefined) return null;
    const [path, line, text] = recording.users[event.user];
    return el("p", { class: "t-user" }, "your line " + line + ": ", el("code", {}, text || path));
  }

  // -- the player -------------------------------------------------------------------------------

  function play(stage) {
    const recording = JSON.parse(stage.querySelector("script").textContent);
    if (recording.format !== 1 || !recording.events.length) return; // the list stays
    const events = recording.events;
    let step = 0;

    const say = el("p", { class: "t-say", "aria-live": "polite" });
    const panels = el("div", { class: "t-panels" });
    const slider = el("input", { type: "range", min: 0, max: events.length - 1, value: 0, "aria-label": "step" });
    const counter = el("span", { class: "t-count" });

    const clamp = (n) => Math.max(0, Math.min(events.length - 1, n));
    function over(direction) {
      let n = step + direction;
      while (n > 0 && n < events.length - 1 && events[n].depth > events[step].depth) n += direction;
      return n;
    }
    function show(n) {
      step = clamp(n);
      const event = events[step];
      say.textContent = event.say;
      slider.value = step;
      slider.setAttribute("aria-valuetext", "step " + (step + 1) + " of " + events.length);
      counter.textContent = step + 1 + " / " + events.length;
      let traces = null;
      for (let i = step; i >= 0 && !traces; i--) traces = events[i].traces;
      const middle = el("div", { class: "t-middle" }, drawAction(event), drawJaxprs(events, step));
      panels.replaceChildren(drawStack(traces || ["EvalTrace"]), middle, drawSource(recording, event));
      const user = drawUser(recording, event);
      if (user) middle.prepend(user);
    }

    const buttons = [["first", "|‹", () => 0], ["back over", "«", () => over(-1)], ["back", "‹", () => step - 1],
      ["on", "›", () => step + 1], ["on over", "»", () => over(1)], ["last", "›|", () => events.length - 1]]
      .map(([name, sign, to]) => {
        const button = el("button", { type: "button", title: name, "aria-label": name }, sign);
        button.addEventListener("click", () => show(to()));
        return button;
      });
    slider.addEventListener("input", () => show(Number(slider.value)));
    const keys = { ArrowRight: () => step + 1, ArrowLeft: () => step - 1, ArrowDown: () => over(1),
      ArrowUp: () => over(-1), Home: () => 0, End: () => events.length - 1 };
    stage.addEventListener("keydown", (key) => {
      if (!(key.key in keys) || key.altKey || key.ctrlKey || key.metaKey) return;
      if (key.target.tagName === "PRE" && key.key !== "ArrowRight" && key.key !== "ArrowLeft") return;
      key.preventDefault();
      show(keys[key.key]());
    });

    const list = stage.querySelector("details");
    list.open = false;
    list.querySelector("summary").textContent = "The same as a list";
    const notes = recording.notes.map((note) => el("p", { class: "t-note" }, note));
    stage.prepend(el("p", { class: "t-title" }, recording.title),
      el("div", { class: "t-controls" }, ...buttons, slider, counter), say, panels, ...notes);
    stage.tabIndex = 0;
    show(0);
  }

  function begin() {
    document.querySelectorAll(".theatre:not(.playing)").forEach((stage) => {
      stage.classList.add("playing");
      play(stage);
    });
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
