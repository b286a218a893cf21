// For keyboards and screen readers: what scrolls sideways, and what a button would open. And paper shows all.
"use strict";

// A box that scrolls has a tab stop and a name, while it scrolls. Nothing else in the text needs a tab stop.
const watchBoxes = (() => {
  const boxes = ".bd-article :is(pre, div.math, .output, .pst-scrollable-table-container, li.claim > p, figure)";
  const names = [
    [".math", "Formula"], [":has(> table)", "Table"], [".cell_output *", "Output"], ["pre", "Code"], ["figure", "Diagram"],
  ];
  const nameOf = (box) => (names.find(([kind]) => box.matches(kind)) || ["", "Wide text"])[1];

  const observer = new ResizeObserver((entries) => {
    const scrolls = entries.map(({ target }) => target.scrollWidth > target.clientWidth);
    entries.forEach(({ target }, i) => {
      const wanted = scrolls[i] ? { tabindex: "0", role: "group", "aria-label": nameOf(target) } : {};
      for (const name of ["tabindex", "role", "aria-label"]) {
        if (name in wanted) target.setAttribute(name, wanted[name]);
        else target.removeAttribute(name);
      }
    });
  });
  return () => document.querySelectorAll(boxes).forEach((box) => observer.observe(box));
})();
window.addEventListener("load", watchBoxes);

// The buttons of folded solutions say what they open and whether it is open.
window.addEventListener("load", () => {
  for (const button of document.querySelectorAll("button.toggle-button")) {
    const box = document.getElementById(button.dataset.target);
    const say = () => { button.ariaExpanded = String(!box.classList.contains("toggle-hidden")); };
    button.ariaLabel = box.querySelector(".admonition-title").textContent.trim();
    new MutationObserver(say).observe(box, { attributeFilter: ["class"] });
    say();
  }
});

// On paper nothing can be opened, so all is open: folded code and answers; solutions by the style sheet.
window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not([open])")) {
    folded.open = true;
    window.addEventListener("afterprint", () => { folded.open = false; }, { once: true });
  }
});

// On a phone the contents of a page lie over it: who has chosen a section wants to see it.
document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("dialog a[href^='#']");
  if (link) link.closest("dialog").close();
});
