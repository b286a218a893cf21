// Filter of the claims page by paper, verdict, kind and free text. The choice is kept in the address.
"use strict";

function ledgerFilter(place) {
  const lists = [...document.querySelectorAll("ul.ledger")];
  const valueOf = (element, prefix) =>
    [...element.classList].find((name) => name.startsWith(prefix)).slice(prefix.length);
  const rows = lists.flatMap((list) =>
    [...list.children].map((item) => ({
      item,
      paper: valueOf(list, "paper-"),
      verdict: valueOf(item, "claim-"),
      kind: valueOf(item, "kind-"),
      text: item.textContent.toLowerCase(),
    }))
  );

  const form = document.createElement("form");
  form.className = "ledger-form";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "Filter the claims");
  const controls = {};
  function add(name, title, control) {
    const label = document.createElement("label");
    label.textContent = title;
    control.id = "ledger-" + name;
    control.name = name;
    label.htmlFor = control.id;
    const field = document.createElement("div");
    field.append(label, control);
    form.append(field);
    controls[name] = control;
  }
  for (const [name, title] of [["paper", "Paper"], ["verdict", "Verdict"], ["kind", "Kind"]]) {
    const select = document.createElement("select");
    select.append(new Option("all", ""));
    for (const value of new Set(rows.map((row) => row[name]))) select.append(new Option(value, value));
    add(name, title, select);
  }
  const text = document.createElement("input");
  text.type = "search";
  text.autocomplete = "off";
  add("text", "Text or id", text);
  const reset = document.createElement("button");
  reset.type = "reset";
  reset.textContent = "Show all";
  form.append(reset);
  const count = document.createElement("p");
  count.setAttribute("role", "status");
  count.setAttribute("aria-live", "polite");
  place.replaceChildren(form, count);

  function apply() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const match =
        ["paper", "verdict", "kind"].every((name) => !controls[name].value || controls[name].value === row[name]) &&
        words.every((word) => row.text.includes(word));
      row.item.hidden = !match;
      shown += match;
    }
    for (const list of lists) {
      list.closest("section").hidden = [...list.children].every((item) => item.hidden);
    }
    count.textContent = `${shown} of ${rows.length} claims shown.`;
  }

  function remember() {
    const address = new URL(location.href);
    for (const [name, control] of Object.entries(controls)) {
      if (control.value) address.searchParams.set(name, control.value);
      else address.searchParams.delete(name);
    }
    history.replaceState(null, "", address);
  }

  // A link to one row shows that row, whatever the filter was.
  function showTarget() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.hidden) {
      form.reset();
      target.scrollIntoView({ behavior: "instant" });
    }
  }

  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("reset", () => {
    for (const control of Object.values(controls)) control.value = "";
    apply();
    remember();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", showTarget);

  const asked = new URLSearchParams(location.search);
  for (const [name, control] of Object.entries(controls)) {
    const value = asked.get(name) || "";
    // A select takes only a value that it offers; else it stays at "all".
    if (control === text || [...control.options].some((option) => option.value === value)) control.value = value;
  }
  apply();
  showTarget();
}

document.querySelectorAll(".ledger-filter").forEach(ledgerFilter);

// In a chapter, a badge's id links to the claim's row.
function ledgerLinks() {
  const root = document.documentElement.dataset.content_root || "../";
  for (const badge of document.querySelectorAll(".claim-badge[id]")) {
    const name = badge.querySelector("code");
    const link = document.createElement("a");
    link.href = `${root}book/claims.html#${badge.id}`;
    name.replaceWith(link);
    link.append(name);
  }
}
ledgerLinks();
