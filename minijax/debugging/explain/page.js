"use strict";
// The page of an explanation. Focus or hover on a line of any column lights, in all columns, what
// belongs to the same expression of the user's (`kin`), and to the same equation (`now`).
const data = JSON.parse(document.getElementById("data").textContent);
for (const line of data.lines) {
  line.flops ??= 0; line.bytes ??= 0; line.live ??= 0; line.values ??= [];
  line.rules = (line.rules ?? []).map((rule) => data.rules[rule]);
  [line.expression, line.where] = data.places[line.place] ?? ["", "an unknown place"];
}
const root = document.getElementById("explanation");
const COLUMNS = [["source", "your code"], ["lines", "the program"], ["stablehlo", "StableHLO"], ["xla", "XLA's program"]];
const PHASES = ["forward", "tangent", "backward"];

function element(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options))
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  node.append(...children);
  return node;
}

function amount(n, unit) {
  for (const prefix of ["", "k", "M", "G", "T"]) {
    if (n < 1000 || prefix === "T") return `${Number(n.toPrecision(3))} ${prefix}${unit}`;
    n /= 1000;
  }
}

// -- the columns ----------------------------------------------------------------------------------

const rows = { lines: [], stablehlo: [], xla: [] }; // of a column: [element, number of the equation]
const sourceRows = []; // [element, "file:line"]
const pieces = []; // of the source: [element, number of the expression]

function column(name, title) {
  const list = element("ol", { class: "code", tabindex: "0", "aria-label": title });
  if (name === "source") fillSource(list);
  else if (name === "lines") data.lines.forEach((line, n) => list.append(programRow(line, n)));
  else for (const [text, number] of data[name]) {
    const row = element("li", {}, text || " ");
    if (number !== null) watch(row, () => show(number, row));
    rows[name].push([row, number]);
    list.append(row);
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || name !== "lines") return;
    event.preventDefault();
    show(Math.min(Math.max((current ?? -1) + step, 0), data.lines.length - 1));
  });
  return element("section", { class: "column", id: `column-${name}`, "aria-label": title }, element("h2", {}, title), list);
}

function fillSource(list) {
  for (const { file, lines } of data.source) {
    list.append(element("li", { class: "file" }, file));
    let before = null;
    for (const [number, parts] of lines) {
      if (before !== null && number > before + 1) list.append(element("li", { class: "file" }, "    ⋮"));
      before = number;
      const row = element("li", {}, element("span", { class: "n" }, String(number)), element("span", { class: "value" }));
      for (const [text, place] of parts) {
        const piece = element("span", {}, text);
        if (place >= 0) watch(piece, () => showPlace(place));
        pieces.push([piece, place]);
        row.append(piece);
      }
      sourceRows.push([row, `${file}:${number}`]);
      list.append(row);
    }
  }
}

function programRow(line, n) {
  const row = element("li", { class: line.phase + (line.dead ? " dead" : ""), "data-number": n },
    "  ".repeat(line.depth ?? 0) + line.text, element("span", { class: "value" }));
  watch(row, () => show(n, row));
  rows.lines.push([row, n]);
  return row;
}

function watch(node, then) {
  node.addEventListener("mouseenter", then);
  node.addEventListener("click", then);
}

// -- what is lit ----------------------------------------------------------------------------------

let current = null;

function show(number, from) {
  const line = data.lines[number];
  current = number;
  light(line.place, (other) => other === number, from);
  tell(line, number);
}

function showPlace(place) {
  const number = data.lines.findIndex((line) => line.place === place);
  if (number >= 0) show(number, pieces.find(([, other]) => other === place)[0]);
}

function light(place, isNow, from) {
  const kin = (number) => number !== null && place >= 0 && data.lines[number]?.place === place;
  for (const list of Object.values(rows)) {
    let first = null;
    for (const [row, number] of list) {
      const now = number !== null && isNow(number);
      row.classList.toggle("now", now);
      row.classList.toggle("kin", !now && kin(number));
      if (!first && now) first = row;
    }
    if (first && first !== from) reveal(first);
  }
  let first = null;
  for (const [piece, other] of pieces) {
    const part = place >= 0 && (other === place || Boolean(data.places[other]?.[2].includes(place)));
    piece.classList.toggle("now", part);
    if (!first && part) first = piece;
  }
  if (first && first !== from) reveal(first);
  for (const bar of document.querySelectorAll(".memory rect")) bar.classList.toggle("now", isNow(Number(bar.dataset.number)));
}

function reveal(node) {
  const list = node.closest("ol"), box = node.getBoundingClientRect(), frame = list.getBoundingClientRect();
  if (box.top < frame.top || box.bottom > frame.bottom) list.scrollTop += box.top - frame.top - frame.height / 3;
}

const told = element("div", { class: "told", tabindex: "0", role: "status", "aria-live": "polite" });

function tell(line, number) {
  const code = (text) => element("code", {}, text);
  const how = line.rules.length ? `, made by ${[...line.rules].reverse().join(", of ")}` : "";
  const parts = line.batched ? `${line.phase}, batched` : line.phase;
  const costs = [line.flops && amount(line.flops, "operations"), amount(line.bytes, "B moved"), amount(line.live, "B alive after it")];
  told.replaceChildren(
    line.expression ? element("p", {}, code(line.expression), ` at ${line.where}${line.library ? `, in ${line.library}` : ""}`) : element("p", {}, "from no line of your code"),
    element("p", {}, `${parts}${how}${line.dead ? "; no result depends on it, so it is not compiled" : ""}`),
    element("p", {}, [costs.filter(Boolean).join(" · "), line.loop ? `${line.loop} iterations` : "", values(number, line)].filter(Boolean).join(" · ")));
}

function values(number, line) {
  const step = stepOf.get(number);
  return (step ?? line.values).map((value, i) => `value${line.values.length > 1 ? ` ${i + 1}` : ""}: ${value}`).join(", ");
}

// -- the memory, and the replay -------------------------------------------------------------------

function memory() {
  const width = 1000, n = data.lines.length || 1;
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("class", "memory");
  svg.setAttribute("viewBox", `0 0 ${width} 56`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `live memory along the program; at most ${amount(data.peak, "B")}`);
  const most = Math.max(...data.lines.map((line) => line.live), data.peak, 1);
  data.lines.forEach((line, i) => {
    const bar = document.createElementNS(ns, "rect"), height = (54 * line.live) / most;
    for (const [name, value] of Object.entries({ x: (width * i) / n, width: Math.max(width / n - 0.5, 0.5), y: 56 - height, height, class: line.phase }))
      bar.setAttribute(name, value);
    bar.dataset.number = i;
    watch(bar, () => show(i));
    svg.append(bar);
  });
  return svg;
}

function held() {
  const list = element("ul", {});
  for (const { bytes, type, made, wanted } of data.held.slice(0, 12)) {
    const name = (n) => `${data.lines[n].expression || data.lines[n].text} (${data.lines[n].phase})`;
    list.append(element("li", {}, `${amount(bytes, "B")} ${type}: ${made === null ? "an argument or a constant" : name(made)}` +
      (wanted === null ? "" : `; last read by ${name(wanted)}`)));
  }
  return element("details", {}, element("summary", {}, `At most ${amount(data.peak, "B")} are alive: what, and why`), list);
}

const stepOf = new Map(); // the values at this step of the replay, by the number of the line

function fillValues(replaying) {
  for (const [row, number] of rows.lines) {
    const text = (replaying ? stepOf.get(number) ?? [] : data.lines[number].values).join("; ");
    const value = row.querySelector(".value");
    value.textContent = text;
    value.classList.toggle("bad", /NaN|inf/.test(text));
  }
}

function replay() {
  const out = element("output", {});
  const slider = element("input", { type: "range", min: "0", max: String(data.steps.length), value: "0", "aria-label": "step of the replay" });
  const go = () => {
    const at = Number(slider.value);
    stepOf.clear();
    for (const [number, texts] of data.steps.slice(0, at)) stepOf.set(number, texts ?? data.lines[number].values);
    fillValues(at > 0);
    out.textContent = `${at} of ${data.steps.length}`;
    if (at) show(data.steps[at - 1][0]);
  };
  const press = (step) => () => { slider.value = String(Number(slider.value) + step); go(); };
  slider.addEventListener("input", go);
  out.textContent = `0 of ${data.steps.length}`;
  return element("div", { class: "bar" }, element("span", {}, "Replay with its values:"),
    element("button", { onclick: press(-1), "aria-label": "one step back" }, "◀"),
    element("button", { onclick: press(1), "aria-label": "one step on" }, "▶"), slider, out);
}

// The shade of a line says its share; of a line of the source, the sum of what came of it.
function heat(select) {
  const of = select.value;
  const shade = (row, amount, most) => {
    const share = most ? Math.sqrt(amount / most) : 0;
    row.style.backgroundImage = share ? `linear-gradient(rgba(var(--heat), ${0.5 * share}) 0 0)` : "";
  };
  const sums = new Map();
  for (const line of data.lines)
    if (!line.calls && !line.dead && of) sums.set(line.where, (of === "live" ? Math.max : (a, b) => a + b)(sums.get(line.where) ?? 0, line[of]));
  for (const [row, where] of sourceRows) {
    shade(row, sums.get(where) ?? 0, Math.max(...sums.values()));
    const said = row.querySelector(".value");
    said.textContent = of && sums.get(where) ? amount(sums.get(where), { flops: "op", bytes: "B", live: "B" }[of]) : "";
  }
  const most = Math.max(...data.lines.filter((line) => !line.calls).map((line) => line[of] ?? 0), 1);
  for (const [row, number] of rows.lines) shade(row, of && !data.lines[number].calls ? data.lines[number][of] : 0, most);
}

// -- the page -------------------------------------------------------------------------------------

const columns = element("div", { class: "columns" }, ...COLUMNS.map(([name, title]) => column(name, title)));
const bar = element("div", { class: "bar" });
for (const [name, title] of COLUMNS) {
  const button = element("button", { "aria-pressed": "true" }, title);
  const set = (on) => {
    button.setAttribute("aria-pressed", String(on));
    columns.querySelector(`#column-${name}`).hidden = !on;
  };
  button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
  if (name === "stablehlo" || name === "xla") set(innerWidth > 1300 && data[name].length > 0);
  bar.append(button);
}
const select = element("select", {}, ...[["flops", "operations"], ["bytes", "bytes moved"], ["live", "live memory"], ["", "nothing"]]
  .map(([value, text]) => element("option", { value }, text)));
select.addEventListener("change", () => heat(select));
bar.append(element("label", {}, "Shade by", select));
const keys = element("p", {}, ...PHASES.filter((phase) => data.lines.some((line) => line.phase === phase))
  .flatMap((phase) => [element("span", { class: `key ${phase}` }, phase), " "]));
fillValues(false);
root.replaceChildren(keys, memory(), held(), ...(data.steps.length ? [replay()] : []), told, bar, columns);
heat(select);
if (data.lines.length) show(data.at ?? 0);
