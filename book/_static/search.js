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

function improveSearch() {
  // Pages that the glossary names for these words come first; results are shown from the end.
  const perform = Search._performSearch;
  Search._performSearch = (query, ...terms) => {
    const found = perform(query, ...terms), index = Search._index;
    const named = OTHER_NAMES[query.trim().replace(/\s+/g, " ").toLowerCase()] || [];
    for (const docname of named.toReversed()) {
      const place = index.docnames.indexOf(docname);
      const same = found.findIndex(([page, , anchor]) => page === docname && !anchor);
      if (same >= 0) found.push(...found.splice(same, 1));
      else if (place >= 0) found.push([docname, index.titles[place], "", null, 1000, index.filenames[place]]);
    }
    return found;
  };

  Search.htmlToText = (source, anchor) => {
    // Pages read here bring handlers of theirs, which this page's policy would forbid one by one on the console.
    const page = new DOMParser().parseFromString(source.replace(/ on\w+="[^"]*"/g, ""), "text/html");
    for (const formula of page.querySelectorAll("[data-plain]")) formula.textContent = formula.dataset.plain;
    // A summary is of the text, not of the code or of what stands around.
    for (const part of page.querySelectorAll(".headerlink, script, style, .cell_input, .highlight-python, summary")) part.remove();
    const main = page.querySelector(".bd-article") || page.body;
    return ((anchor && page.getElementById(anchor.slice(1))) || main).textContent;
  };
}

// Before the first search, whichever of the two scripts the page loads first.
if (typeof Search === "undefined") document.addEventListener("DOMContentLoaded", improveSearch, { capture: true });
else improveSearch();
