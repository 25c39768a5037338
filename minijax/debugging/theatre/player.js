// The player of recordings: takes over each element of class "theatre", in which a script element
// holds a recording (format 2). The graph is in the page already: here its parts are only lit.
(function () {
  "use strict";

  const PAUSE = 1800; // milliseconds from step to step when it plays by itself

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
    else node.append(box.text, box.type ? el("span", { class: "tb-type" }, " " + box.type) : "");
    return node;
  }

  // -- from events to steps, as steps.py does it ------------------------------------------------

  function endOf(events, i) {
    let j = i + 1;
    while (j < events.length && events[j].depth > events[i].depth) j++;
    return j;
  }

  function visible(events, opened) {
    const found = [];
    for (let i = 0; i < events.length; ) {
      found.push(i);
      const after = endOf(events, i);
      if (opened.has(i) && after > i + 1) i++;
      else i = after < events.length && events[after].of === i ? after + 1 : after;
    }
    return found;
  }

  // The event that a step can be folded into: the one that it is inside of, or the result of.
  function parentOf(events, i) {
    if (events[i].of !== undefined) return events[i].of;
    let j = i - 1;
    while (j >= 0 && events[j].depth >= events[i].depth) j--;
    return j;
  }

  // -- the panels of one step -------------------------------------------------------------------

  function drawStack(event) {
    const traces = event.traces;
    const list = el("ol", { class: "t-stack", "aria-label": "the traces, the current one on top" });
    const current = traces[traces.length - 1];
    const order = event.alive.concat(traces.filter((name) => !event.alive.includes(name))).reverse();
    for (const name of order) {
      const waits = name !== current;
      list.append(el("li", { class: waits ? "waits" : "now" }, name, waits ? el("span", { class: "t-waits" }, " waits") : ""));
    }
    return list;
  }

  const VERBS = { process: "is asked for", result: "gives", begin: "begins", end: "is over", compile: "XLA",
    equation: "an equation is written down", transpose: "backwards through", cotangents: "cotangents" };

  // What a folded step has inside: what was computed, and what was written down.
  function drawInside(events) {
    const done = events.filter((e) => e.kind === "equation" || (e.kind === "result" && e.traces.length === 1))
      .map((e) => el("li", {}, el("code", {}, e.equation || e.primitive + " = " + e.said)));
    return done.length ? el("ul", { class: "t-inside", "aria-label": "done inside this step" }, ...done) : "";
  }

  function drawAction(event, result) {
    const node = el("div", { class: "t-action" });
    const acts = ["process", "result", "begin", "end"].includes(event.kind);
    const who = acts ? event.traces[event.traces.length - 1] : "";
    const computes = event.kind === "process" && who === "EvalTrace";
    node.append(el("p", { class: "t-verb" }, who, who ? " " : "", computes ? "computes" : VERBS[event.kind] || ""));
    const name = event.rule || event.primitive || event.equation;
    if (name) node.append(el("code", { class: event.equation ? "t-equation" : "t-primitive" }, name));
    for (const boxes of [event.args || event.out, result && result.out])
      if (boxes && boxes.length) node.append(el("div", { class: "t-boxes" }, boxes === (result && result.out) ? "gives " : "", ...boxes.map(drawBox)));
    return node;
  }

  function drawJaxprs(events, first, last) {
    const written = new Map();
    for (const event of events.slice(0, last + 1)) {
      if (event.kind !== "equation") continue;
      if (!written.has(event.jaxpr)) written.set(event.jaxpr, []);
      written.get(event.jaxpr).push(event.equation);
    }
    const at = (from, to) => new Set(events.slice(from, to).filter((e) => e.kind === "transpose" || e.kind === "equation")
      .map((e) => e.equation));
    const now = at(first, last + 1);
    const walkedBack = new Set(events.slice(0, first).filter((e) => e.kind === "transpose").map((e) => e.equation));
    return [...written].map(([, equations], i) => {
      const label = "equations of jaxpr " + (i + 1);
      const items = equations.map((text) =>
        el("li", { class: now.has(text) ? "now" : walkedBack.has(text) ? "past" : "" }, el("code", {}, text)));
      return el("div", {}, el("p", { class: "t-verb" }, label), el("ol", { class: "t-jaxpr", "aria-label": label }, ...items));
    });
  }

  function drawSource(recording, place, caption) {
    const [path, line, first, last] = place;
    const lines = recording.sources[path] || {};
    const code = el("code", {});
    for (let n = first; n <= last && n in lines; n++)
      code.append(el("span", { class: n === line ? "line now" : "line", "data-n": n }, lines[n] + "\n"));
    const label = caption + ", line " + line;
    return el("figure", { class: "t-source" }, el("figcaption", {}, label),
      el("pre", { tabindex: "0", role: "group", "aria-label": label }, code));
  }

  function scrollToNow(box, smooth) {
    const now = box.querySelector("g.now, text.now, .line.now, li.now");
    if (!now) return;
    const inner = now.getBoundingClientRect(), outer = box.getBoundingClientRect();
    const behavior = smooth ? "smooth" : "auto";
    const left = inner.width < outer.width ? inner.left - outer.left - (outer.width - inner.width) / 2 : 0;
    box.scrollBy({ left: box.tagName === "PRE" ? 0 : left, top: inner.top - outer.top - (outer.height - inner.height) / 2, behavior });
  }

  // -- the player -------------------------------------------------------------------------------

  function play(stage) {
    const recording = JSON.parse(stage.querySelector("script").textContent);
    if (recording.format !== 2 || !recording.events.length) return; // the list stays
    const events = recording.events;
    const graph = stage.querySelector(".t-graph");
    const parts = [...graph.querySelectorAll("[data-at]")];
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let opened = new Set(recording.open);
    let most = recording.most; // the steps after these are one step, until all are asked for
    let steps = visible(events, opened).slice(0, most);
    let step = 0;
    let timer = null;

    const say = el("p", { class: "t-say", "aria-live": "polite", tabindex: "0" });
    const slider = el("input", { type: "range", min: 0, value: 0, "aria-label": "step" });
    const counter = el("span", { class: "t-count" });
    const [stack, action, jaxprs] = [["t-traces", "traces"], ["t-middle", "what happens"], ["t-jaxprs", "equations"]]
      .map(([name, label]) => el("div", { class: name, role: "group", "aria-label": label, tabindex: "0" }));
    const code = el("div", { class: "t-code" });
    const top = el("div", { class: "t-panels" }, stack, action);
    if (events.some((event) => event.kind === "equation")) top.append(jaxprs);

    const lastOf = (n) => (n + 1 < steps.length ? steps[n + 1] : events.length) - 1;

    function show(n) {
      step = Math.max(0, Math.min(steps.length - 1, n));
      const first = steps[step], last = lastOf(step), event = events[first];
      const rest = step === steps.length - 1 ? visible(events, opened).length - steps.length : 0;
      const result = last > first && events[last].of === first && !rest ? events[last] : null;
      say.textContent = rest ? event.say + " And " + rest + " more steps." : result ? event.say.slice(0, -1) + ", and gives " + result.said + "." : event.say;
      slider.max = steps.length - 1;
      slider.value = step;
      slider.setAttribute("aria-valuetext", "step " + (step + 1) + " of " + steps.length);
      counter.textContent = step + 1 + " / " + steps.length;
      stack.replaceChildren(drawStack(event));
      action.replaceChildren(drawAction(event, result), drawInside(events.slice(first + 1, result ? last : last + 1)));
      jaxprs.replaceChildren(...drawJaxprs(events, first, last));
      const user = event.user === undefined ? null : recording.users[event.user];
      const library = (/^[^/].*\.py$/.test(event.at[0]) ? "minijax/" : "") + event.at[0];
      code.replaceChildren(user ? drawSource(recording, user, "your code") : "", drawSource(recording, event.at, library));
      light(first, last);
      drawFold(first, last);
      for (const box of [graph, jaxprs, ...code.querySelectorAll("pre")]) scrollToNow(box, box === graph && !still.matches);
      for (const mark of marks) mark.node.toggleAttribute("data-now", mark === markAt(first));
      for (const mark of marks) mark.node.setAttribute("aria-pressed", mark === markAt(first));
    }

    function light(first, last) {
      for (const part of parts) {
        const at = Number(part.dataset.at), until = Number(part.dataset.until || Infinity);
        part.classList.toggle("later", at > last);
        part.classList.toggle("gone", until <= last);
        part.classList.toggle("now", at >= first && at <= last && until > last);
      }
    }

    // -- folding --

    const fold = el("button", { type: "button", class: "t-words t-fold" });
    const all = el("button", { type: "button", class: "t-words" });

    function drawFold(first, last) {
      const closed = endOf(events, first) > first + 1 && !opened.has(first);
      const inside = closed ? endOf(events, first) - first - 1 : 0;
      const canFold = opened.has(first) || parentOf(events, first) >= 0;
      fold.textContent = closed ? "open: " + inside + " inside" : "fold";
      fold.disabled = !closed && !canFold;
      const total = visible(events, new Set(events.keys())).length;
      all.textContent = steps.length < total ? "all " + total + " steps" : "fewer steps";
      all.hidden = total <= recording.most && total === visible(events, new Set(recording.open)).length;
    }

    function setOpened(set, at) {
      opened = set;
      steps = visible(events, opened).slice(0, most);
      let n = steps.length - 1;
      while (steps[n] > at) n--;
      show(n);
    }

    function toggle() {
      const at = steps[step], set = new Set(opened);
      most = Infinity;
      if (endOf(events, at) > at + 1 && !opened.has(at)) return setOpened(set.add(at), at);
      const target = opened.has(at) ? at : parentOf(events, at);
      if (target < 0) return;
      set.delete(target);
      setOpened(set, target);
    }

    fold.addEventListener("click", toggle);
    all.addEventListener("click", () => {
      const everything = all.textContent.startsWith("all");
      most = everything ? Infinity : recording.most;
      setOpened(new Set(everything ? events.keys() : recording.open), steps[step]);
    });

    // -- chapters --

    const marks = recording.marks.map(([at, label]) => {
      const node = el("button", { type: "button", class: "t-words t-mark" }, label);
      node.addEventListener("click", () => show(stepOf(at)));
      return { at, node };
    });
    function stepOf(at) {
      if (at > steps[steps.length - 1]) {
        most = Infinity;
        steps = visible(events, opened);
      }
      let n = 0;
      while (n + 1 < steps.length && steps[n + 1] <= at) n++;
      return n;
    }
    const markAt = (at) => marks.filter((mark) => mark.at <= at).pop();
    function chapter(direction) {
      const at = steps[step], to = direction > 0 ? marks.find((mark) => mark.at > at)
        : marks.filter((mark) => mark.at < at).pop();
      return to ? stepOf(to.at) : direction > 0 ? steps.length - 1 : 0;
    }

    // -- playing by itself --

    const runs = el("button", { type: "button" });
    function stop() {
      clearInterval(timer);
      timer = null;
      runs.textContent = "▶";
      for (const name of ["title", "aria-label"]) runs.setAttribute(name, "play");
    }
    function start() {
      if (step === steps.length - 1) show(0);
      timer = setInterval(() => (step < steps.length - 1 ? show(step + 1) : stop()), PAUSE);
      runs.textContent = "❚❚";
      for (const name of ["title", "aria-label"]) runs.setAttribute(name, "pause");
    }
    runs.addEventListener("click", () => (timer ? stop() : start()));
    stop();

    // -- buttons and keys --

    const [atFirst, back, on, atLast] = [["first", "|‹", () => 0], ["back", "‹", () => step - 1],
      ["on", "›", () => step + 1], ["last", "›|", () => steps.length - 1]].map(([name, sign, to]) => {
      const button = el("button", { type: "button", title: name, "aria-label": name }, sign);
      button.addEventListener("click", () => (stop(), show(to())));
      return button;
    });
    slider.addEventListener("input", () => (stop(), show(Number(slider.value))));
    const keys = { ArrowRight: () => step + 1, ArrowLeft: () => step - 1, ArrowDown: () => chapter(1),
      ArrowUp: () => chapter(-1), Home: () => 0, End: () => steps.length - 1 };
    stage.addEventListener("keydown", (key) => {
      if (key.altKey || key.ctrlKey || key.metaKey) return;
      const scrolls = key.target.tabIndex === 0 && key.target.scrollHeight > key.target.clientHeight && key.target !== stage;
      if (key.key in keys && !(scrolls && !/Right|Left/.test(key.key))) {
        key.preventDefault();
        stop();
        show(keys[key.key]());
      } else if (key.target === stage && (key.key === "Enter" || key.key === " ")) {
        key.preventDefault();
        if (key.key === "Enter") toggle();
        else if (timer) stop();
        else start();
      }
    });

    const list = stage.querySelector("details");
    list.open = false;
    list.querySelector("summary").textContent = "The same as a list, and the keys";
    list.querySelector("summary").after(el("p", { class: "t-verb" },
      "Keys: ← and → one step, ↑ and ↓ one chapter, Home and End, Enter opens or folds a step, the space bar plays."));
    const notes = recording.notes.map((note) => el("p", { class: "t-note" }, note));
    stage.prepend(el("p", { class: "t-title" }, recording.title),
      el("div", { class: "t-controls" }, atFirst, back, runs, on, atLast, slider, counter),
      el("div", { class: "t-controls t-second" }, ...(marks.length > 1 ? marks.map((mark) => mark.node) : []),
        el("span", { class: "t-gap" }), fold, all),
      say, top, graph, code, ...notes);
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
