// A report about an error: fields fill in its text; a button copies it, a link opens it as an issue. Nothing is sent.
"use strict";

for (const box of document.querySelectorAll("details.witness")) {
  const find = (selector) => box.querySelector(selector);
  const report = find(".witness-report"), says = find(".witness-says"), copy = find(".witness-copy");
  const fields = [...box.querySelectorAll("[data-line]")], link = find("[data-issue]"), blank = report.textContent;
  const chapter = blank.split("\n")[0].replace(/^Chapter: /, "");

  function write() {
    const given = new Map(fields.map((field) => [`${field.dataset.line}:`, field.value.trim()]));
    const fill = (line) => (given.get(line) ? `${line} ${given.get(line)}` : line);
    report.textContent = blank.split("\n").map(fill).join("\n");
    says.textContent = "";
    if (!link) return;
    const title = `Chapter ${[chapter, fields[0].value.trim()].filter(Boolean).join(": ")}`;
    const parts = { "{title}": encodeURIComponent(title), "{body}": encodeURIComponent(report.textContent) };
    link.href = link.dataset.issue.replace(/\{title\}|\{body\}/g, (place) => parts[place]);
  }

  async function put() {
    try {
      await navigator.clipboard.writeText(report.textContent);
    } catch {
      getSelection().selectAllChildren(report); // a page that is not secure, or a browser that asks and was denied
      if (!document.execCommand("copy")) { says.textContent = "The report is selected: copy it."; return; }
    }
    says.textContent = "Copied.";
  }

  // What the page numbers, checks or asks, in its order; anything else can be typed.
  const places = ".proof > .admonition-title, .exercise > .admonition-title, .live > .admonition-title, .eqno, .claim-badge code, "
    + "figcaption .caption-number";
  const name = (place) => {
    const text = place.textContent.replace(/[\s#]+/g, " ").trim();
    return place.matches("code") ? `Claim ${text}` : place.matches(".eqno") ? `Equation ${text}` : text;
  };
  const names = new Set([...document.querySelectorAll(`article :is(${places})`)].map(name));
  find("datalist").append(...[...names].map((value) => Object.assign(document.createElement("option"), { value })));

  for (const field of fields) field.addEventListener("input", write);
  copy.addEventListener("click", put);
  for (const hidden of box.querySelectorAll("[hidden]")) hidden.hidden = false;
}
