// Formulas: what Markdown left between \( \) and \[ \] is set by KaTeX.
document.querySelectorAll(".arithmatex").forEach((node) => {
  const text = node.textContent.trim();
  const display = text.startsWith("\\[");
  if (display) node.tabIndex = 0; // on a narrow screen it scrolls
  katex.render(text.slice(2, -2), node, { displayMode: display, throwOnError: true });
});

// The drawing on the home page plays once; a button plays it again.
document.querySelectorAll(".hero-again").forEach((button) => {
  button.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches;
  button.addEventListener("click", () => {
    const steps = button.closest(".hero").querySelectorAll(".hero-step");
    steps.forEach((step) => step.getAnimations().forEach((animation) => { animation.cancel(); animation.play(); }));
  });
});

// The theme leaves the search dialog without a name, which screen readers read out.
document.querySelectorAll(".md-search[role=dialog]").forEach((node) => node.setAttribute("aria-label", "Search"));

// Wide tables and drawings scroll; those who use the keyboard must be able to reach them.
const reachable = () => document.querySelectorAll(".md-typeset__scrollwrap, figure.drawing").forEach((node) => {
  if (node.matches(".md-typeset__scrollwrap") || node.scrollWidth > node.clientWidth) node.tabIndex = 0;
  else node.removeAttribute("tabindex");
});
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
