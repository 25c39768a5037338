// Formulas: what Markdown left between \( \) and \[ \] is set by KaTeX.
document.querySelectorAll(".arithmatex").forEach((node) => {
  const text = node.textContent.trim();
  const display = text.startsWith("\\[");
  katex.render(text.slice(2, -2), node, { displayMode: display, throwOnError: true });
});

// The theme leaves the search dialog without a name, which screen readers read out.
document.querySelectorAll(".md-search[role=dialog]").forEach((node) => node.setAttribute("aria-label", "Search"));
