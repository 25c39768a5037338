// Explanations to play with: each element of class "play" has its data in a script element, and a
// picture whose parts say in which steps they are shown (data-show) and lit (data-lit).
(function () {
  "use strict";

  function el(tag, attributes, text) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // Whether a step is among "2-4,6-".
  function among(ranges, step) {
    return ranges.split(",").some((range) => {
      const [from, to] = range.split("-");
      return step >= Number(from) && step <= (to === undefined ? Number(from) : to === "" ? Infinity : Number(to));
    });
  }

  // -- explanations in steps --------------------------------------------------------------------

  function playSteps(stage, steps) {
    const parts = [...stage.querySelectorAll("[data-show], [data-lit]")];
    const picture = stage.querySelector(".pl-picture");
    const last = steps.length - 1;
    let now = 0;

    const say = el("p", { class: "pl-say", "aria-live": "polite" });
    const counter = el("span", { class: "pl-count" });
    const controls = el("div", { class: "pl-controls" });
    const button = (words, name, to) => {
      const node = el("button", { type: "button", "aria-label": name, title: name }, words);
      node.addEventListener("click", () => show(to()));
      controls.append(node);
    };
    button("‹", "back", () => now - 1);
    button("›", "on", () => now + 1);
    const marks = steps.flatMap(([, label], at) => {
      if (!label) return [];
      const node = el("button", { type: "button", class: "pl-mark" }, label);
      node.addEventListener("click", () => show(at));
      controls.append(node);
      return [{ at, node }];
    });
    controls.append(counter);

    function show(n) {
      now = Math.max(0, Math.min(last, n));
      say.textContent = steps[now][0];
      counter.textContent = now + 1 + " / " + steps.length;
      const current = marks.filter((mark) => mark.at <= now).pop();
      for (const mark of marks) mark.node.setAttribute("aria-pressed", mark === current);
      for (const part of parts) {
        if (part.dataset.show) part.classList.toggle("pl-off", !among(part.dataset.show, now));
        if (part.dataset.lit) part.classList.toggle("pl-lit", among(part.dataset.lit, now));
      }
      scrollToLit();
    }

    // On a narrow screen the picture scrolls sideways: bring what is lit into sight.
    function scrollToLit() {
      const lit = parts.find((part) => part.matches(".pl-lit") && part.getBoundingClientRect().width);
      if (!lit) return;
      const inner = lit.getBoundingClientRect(), outer = picture.getBoundingClientRect();
      picture.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
    }

    for (const node of stage.querySelectorAll("[data-go]")) node.addEventListener("click", () => show(Number(node.dataset.go)));
    const keys = { ArrowRight: () => now + 1, ArrowLeft: () => now - 1, Home: () => 0, End: () => last };
    stage.addEventListener("keydown", (key) => {
      if (!(key.key in keys) || key.altKey || key.ctrlKey || key.metaKey) return;
      key.preventDefault();
      show(keys[key.key]());
    });
    picture.before(controls, say);
    stage.querySelector(".pl-list").hidden = true;
    stage.tabIndex = 0;
    show(0);
  }

  // -- the tangent arrow ------------------------------------------------------------------------

  function playTangent(stage, data) {
    const svg = stage.querySelector("svg");
    const [x, t] = [stage.querySelector(".pl-x"), stage.querySelector(".pl-t")];
    const say = stage.querySelector(".pl-say");
    const number = (n) => String(Number(n.toPrecision(4))).replace("-", "−");
    const place = (a, b) => [data.left + data.scale * a, (data.highest - b) * data.up];

    function draw() {
      const at = Number(x.value), tangent = Number(t.value) / 2, slope = data.slope[at] * tangent;
      const [a, b] = place(data.x[at], data.y[at]);
      const [c, d] = place(data.x[at] + tangent, data.y[at] + slope);
      const set = (selector, attributes) => {
        for (const [name, value] of Object.entries(attributes)) svg.querySelector(selector).setAttribute(name, value);
      };
      set(".pl-point", { cx: a, cy: b });
      set(".pl-sides", { d: `M${a} ${b}H${c}V${d}` });
      set(".pl-line", { d: `M${a} ${b}L${c} ${d}` });
      say.textContent = `jvp(f, (${data.x[at].toFixed(2)},), (${tangent.toFixed(1).replace("-", "−")},)) gives the value ` +
        `${number(data.y[at])} and the tangent ${number(slope)}.`;
      x.setAttribute("aria-valuetext", data.x[at].toFixed(2));
      t.setAttribute("aria-valuetext", tangent.toFixed(1));
    }

    function follow(event) {
      const box = svg.getBoundingClientRect();
      const wanted = ((event.clientX - box.left) * (svg.viewBox.baseVal.width / box.width) - data.left) / data.scale;
      x.value = data.x.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(data.x[best] - wanted) ? i : best), 0);
      draw();
    }
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      svg.addEventListener("pointermove", follow);
      follow(event);
    });
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => svg.removeEventListener("pointermove", follow));
    for (const input of [x, t]) input.addEventListener("input", draw);
    draw();
  }

  function begin() {
    for (const stage of document.querySelectorAll(".play:not(.playing)")) {
      stage.classList.add("playing");
      const data = JSON.parse(stage.querySelector("script").textContent);
      if (data.steps.length) playSteps(stage, data.steps);
      else playTangent(stage, data);
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
