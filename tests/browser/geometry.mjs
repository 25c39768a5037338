// What is wrong with a page's layout, found in the page: text over text, and code that is cut off.

// Runs in the page. Returns up to eight pairs of texts whose boxes overlap.
export function overlaps() {
  const hidden = (element) => !element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  const floats = (element) => { // lies over the page on purpose
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      if (["fixed", "sticky"].includes(getComputedStyle(at).position)) return true;
      if (at.matches(".md-search, .md-header, .md-dialog, .md-top, .live-grid textarea, [data-over]")) return true;
    }
    return false;
  };
  // What of a box can be seen within the boxes that clip or scroll it.
  const clipped = (rect, element) => {
    let { left, right, top, bottom } = rect;
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const { overflowX, overflowY, clipPath } = getComputedStyle(at);
      if (clipPath !== "none") return null;
      if (overflowX === "visible" && overflowY === "visible") continue;
      const box = at.getBoundingClientRect();
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom } : null;
  };
  const found = [];
  const add = (rect, element, text, group) => {
    const box = clipped(rect, element);
    if (!box) return;
    const height = box.bottom - box.top; // a line's box is higher than its letters
    found.push({ ...box, top: box.top + 0.25 * height, bottom: box.bottom - 0.2 * height, text: text.trim().slice(0, 40), group });
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element || element.closest("script, style, .katex, title, desc") || hidden(element) || floats(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    for (const rect of range.getClientRects()) add(rect, element, walker.currentNode.data, element);
  }
  for (const formula of document.querySelectorAll(".katex")) { // its parts overlap on purpose
    if (!hidden(formula)) for (const rect of formula.getClientRects()) add(rect, formula, formula.textContent, formula);
  }
  found.sort((a, b) => a.top - b.top);
  const pairs = [];
  for (let i = 0; i < found.length && pairs.length < 8; i++) {
    for (let j = i + 1; j < found.length && found[j].top < found[i].bottom - 1; j++) {
      const [a, b] = [found[i], found[j]];
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      if (width > 2 && a.group !== b.group) pairs.push(`“${a.text}” over “${b.text}”`);
    }
  }
  return pairs;
}

// Runs in the page. Code and tables that are wider than their place. The theatre's panes are meant to
// be scrolled.
export function cutOff() {
  const blocks = document.querySelectorAll("article pre, article .md-typeset__scrollwrap, article .live-editor, article .file");
  return [...blocks].filter((block) => !block.closest(".theatre") && block.checkVisibility() && getComputedStyle(block).overflowX !== "visible" && block.scrollWidth > block.clientWidth + 1)
    .map((block) => `${block.scrollWidth - block.clientWidth} px of “${block.textContent.trim().slice(0, 50)}”`);
}

// Runs in the page. Drawings with words of less than nine pixels.
export function tooSmall() {
  const words = (svg) => [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim() && text.checkVisibility());
  const size = (svg, text) => parseFloat(getComputedStyle(text).fontSize) * (svg.getScreenCTM()?.a ?? 1);
  return [...document.querySelectorAll("article figure.drawing svg, article .play svg")].filter((svg) => svg.checkVisibility())
    .map((svg) => [svg, Math.min(...words(svg).map((text) => size(svg, text)))]).filter(([, least]) => least < 9)
    .map(([svg, least]) => `${least.toFixed(1)} px in “${(svg.getAttribute("aria-label") ?? "").slice(0, 50)}”`);
}
