// The order of search results, and readable summaries. Sphinx puts this into language_data.js.
"use strict";

// What explains comes first: of equal matches chapters, then other pages; every entry of the library's page after those.
var Scorer = {
  score: ([docname, , , , score]) =>
    score - (docname === "book/api" ? 1000 : docname.startsWith("notebooks/audit_") ? 2 : docname.startsWith("book/") ? 1 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

document.addEventListener("DOMContentLoaded", () => {
  Search.htmlToText = (source, anchor) => {
    // Pages read here bring handlers of theirs, which this page's policy would forbid one by one on the console.
    const page = new DOMParser().parseFromString(source.replace(/ on\w+="[^"]*"/g, ""), "text/html");
    for (const formula of page.querySelectorAll("[data-plain]")) formula.textContent = formula.dataset.plain;
    // A summary is of the text, not of the code or of what stands around.
    for (const part of page.querySelectorAll(".headerlink, script, style, .cell_input, summary")) part.remove();
    const main = page.querySelector(".bd-article") || page.body;
    return ((anchor && page.getElementById(anchor.slice(1))) || main).textContent;
  };
});
