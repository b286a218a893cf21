// Live boxes: a formula that the reader edits, compared with an exact enumeration by Python in a worker.
"use strict";

const live = { worker: null, started: null, waiting: new Map(), number: 0, seconds: 60 };
live.folder = document.currentScript.src.replace(/live\.js.*$/, "");

// One worker for all boxes: who asks while it is being loaded waits for the same one.
live.start = () => live.started ??= new Promise((resolve, reject) => {
  const worker = new Worker(`${live.folder}live-worker.js`);
  worker.onerror = (event) => {
    event.preventDefault?.();
    if (live.worker !== worker) live.started = null;
    reject(new Error("Python could not be loaded. Open the book through a web server."));
  };
  worker.onmessage = ({ data }) => {
    if (data.ready) { live.worker = worker; resolve(); return; }
    live.waiting.get(data.id)?.(data);
  };
});

live.stop = () => {
  live.worker.terminate();
  live.worker = live.started = null;
  for (const answer of [...live.waiting.values()]) answer({ error: `No answer after ${live.seconds} seconds: stopped.` });
};

live.run = async (formula, exact) => {
  await live.start();
  const id = ++live.number;
  return new Promise((resolve) => {
    const timer = setTimeout(live.stop, 1000 * live.seconds);
    live.waiting.set(id, (answer) => { clearTimeout(timer); live.waiting.delete(id); resolve(answer); });
    live.worker.postMessage({ id, formula, exact });
  });
};

function liveBox(box) {
  const { formulas, exact } = JSON.parse(box.dataset.live), names = Object.keys(formulas);
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const id = box.closest(".admonition").id, result = box.querySelector(".live-result");
  const listing = box.closest(".admonition").querySelector("div[class*=highlight-]");
  const code = make("textarea", { id: `${id}-code`, spellcheck: false, value: formulas[names[0]] });
  const choice = make("select", { id: `${id}-choice` }, ...names.map((name) => make("option", { value: name }, name)));
  const button = make("button", { type: "button", className: "live-run" }, "Compare"), says = make("p", { className: "live-says" });
  says.setAttribute("role", "status");
  let latest = 0;
  const fit = () => { code.rows = code.value.split("\n").length; };
  code.setAttribute("autocapitalize", "off");
  code.addEventListener("input", fit);
  choice.addEventListener("change", () => { code.value = formulas[choice.value]; fit(); run(); });
  button.addEventListener("click", () => run());

  function show(rows) {
    const head = make("tr", {}, ...["case", "enumerated", "formula", "difference"].map((word) => make("th", {}, word)));
    const body = rows.map((row) => make("tr", { className: row.equal ? "same" : "other" },
      ...[row.label, row.exact, row.yours, row.equal ? "0 (equal)" : row.gap || "differs"].map((word) => make("td", {}, word))));
    result.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  async function run() {
    const mine = ++latest;
    button.disabled = true;
    says.className = "live-says";
    says.textContent = live.worker ? "Comparing." : "Loading Python (1.4 MB, once).";
    let answer;
    try { answer = await live.run(code.value, exact); } catch (error) { answer = { error: error.message }; }
    if (mine !== latest) return; // the reader asked again meanwhile: only the last question's answer is shown
    button.disabled = false;
    if (answer.error) {
      says.className = "live-says other";
      says.textContent = `Not run: ${answer.error}`;
      result.replaceChildren();
      return;
    }
    show(answer.rows);
    const wrong = answer.rows.filter((row) => !row.equal).length, number = answer.rows.length;
    says.className = `live-says ${wrong ? "other" : "same"}`;
    says.textContent = wrong ? `✗ The formula differs in ${wrong} of ${number} cases.` : `✓ The formula equals the enumeration in all ${number} cases.`;
  }

  const open = make("button", { type: "button", className: "live-open" }, "Edit and run it here");
  open.addEventListener("click", () => {
    listing?.remove();
    box.prepend(
      make("div", { className: "live-edit" },
        make("label", { htmlFor: code.id }, "The formula, in Python; change it"), code,
        make("div", { className: "live-controls" }, make("label", { htmlFor: choice.id }, "or take"), choice, button)),
      says);
    open.remove();
    fit();
    code.focus();
    run();
  });
  box.prepend(open);
}

document.querySelectorAll(".live-box").forEach(liveBox);
