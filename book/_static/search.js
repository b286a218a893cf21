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
    const words = query.trim().replace(/\s+/g, " ").toLowerCase(), index = Search._index;
    let found = perform(query, ...terms), named = OTHER_NAMES[words] || [];
    if (!found.length && !named.length) {
      // No page has all the words: show those that have some, the most first, and what the names within are about.
      const each = [...terms[0]].map((word) => perform(word, new Set([word]), ...terms.slice(1)).filter(([, , anchor]) => !anchor));
      const pages = new Map(each.flat().map((result) => [result[0], result]));
      const count = (page) => each.filter((results) => results.some(([own]) => own === page)).length;
      found = [...pages.values()].sort((a, b) => count(a[0]) - count(b[0]) || a[4] - b[4]);
      named = Object.keys(OTHER_NAMES).filter((name) => name.includes(" ") && words.includes(name)).flatMap((name) => OTHER_NAMES[name]);
    }
    for (const docname of named.toReversed()) {
      const place = index.docnames.indexOf(docname);
      const same = found.findIndex(([page, , anchor]) => page === docname && !anchor);
      if (same >= 0) found.push(...found.splice(same, 1));
      else if (place >= 0) found.push([docname, index.titles[place], "", null, 1000, index.filenames[place]]);
    }
    return found;
  };

  // A page with many results is read once: to read the largest anew for each would take seconds.
  const read = new Map(), ASIDE = ".headerlink, script, style, .cell_input, .highlight-python, summary, .cell-label, .ledger-label, .rests, .witness";
  Search.htmlToText = (source, anchor) => {
    if (!read.has(source)) {
      // Pages read here bring handlers of theirs, which this page's policy would forbid one by one on the console.
      const page = new DOMParser().parseFromString(source.replace(/ on\w+="[^"]*"/g, ""), "text/html");
      for (const formula of page.querySelectorAll("[data-plain]")) formula.textContent = formula.dataset.plain;
      // A summary is of the text, not of the code or of what stands around.
      for (const part of page.querySelectorAll(ASIDE)) part.remove();
      read.set(source, page);
    }
    const page = read.get(source), main = page.querySelector(".bd-article") || page.body;
    return ((anchor && page.getElementById(anchor.slice(1))) || main).textContent;
  };
}

// Before the first search, whichever of the two scripts the page loads first.
if (typeof Search === "undefined") document.addEventListener("DOMContentLoaded", improveSearch, { capture: true });
else improveSearch();
