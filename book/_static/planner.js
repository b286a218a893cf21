// The planner: the exact error of each mechanism for people whose answers are spread evenly. Needs formulas.js.
"use strict";

// The page: fields, an answer in one sentence, and a table. The choice is kept in the address.
function plannerPage(place) {
  const ADULT = "9, 16, 7, 15, 6, 5, 2, 2", MOST = { attributes: 8, values: 100, users: 1e9 };
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const form = make("form", { className: "planner-form" });
  form.setAttribute("aria-label", "Your survey");
  const fields = {};

  // A number with a slider beside it. `toSlider` and `fromSlider` make a long range even to the hand.
  function number(name, title, { min, max, step, value, toSlider = (v) => v, fromSlider = (s) => s, slide }) {
    const input = make("input", { type: "number", id: `planner-${name}`, min, max, step, value, required: true });
    const slider = make("input", { type: "range", min: toSlider(min), max: toSlider(max), step: slide, value: toSlider(value) });
    slider.setAttribute("aria-label", `${title}, slider`);
    const label = make("label", { htmlFor: input.id }, title);
    slider.addEventListener("input", () => {
      input.value = fromSlider(Number(slider.value));
      slider.setAttribute("aria-valuetext", input.value);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    input.addEventListener("input", () => { slider.value = toSlider(Number(input.value) || min); });
    form.append(make("div", { className: "planner-field" }, label, input, slider));
    fields[name] = input;
  }
  const logarithm = (digits) => ({
    toSlider: Math.log10, fromSlider: (s) => Number((10 ** s).toPrecision(digits)), slide: 0.01,
  });
  number("attributes", "Questions (attributes)", { min: 1, max: MOST.attributes, step: 1, value: 8, slide: 1 });
  number("values", "Answers (values) each, if all alike", { min: 2, max: MOST.values, step: 1, value: 4, slide: 1 });
  const sizes = make("input", { type: "text", id: "planner-sizes", value: ADULT, autocomplete: "off", required: true });
  const hint = make("small", { id: "planner-hint" });
  sizes.setAttribute("aria-describedby", hint.id);
  const label = make("label", { htmlFor: sizes.id }, "Answers (values) of each question");
  form.append(make("div", { className: "planner-field" }, label, sizes, hint));
  number("epsilon", "ε of one person's whole report", { min: 0.1, max: 10, step: "any", value: 1, ...logarithm(2) });
  number("users", "People", { min: 1, max: MOST.users, step: 1, value: 10000, ...logarithm(2) });

  // What is wanted: words for the page's sentence, and how many numbers are estimated.
  const pairs = (k) => k.flatMap((size, j) => k.slice(j + 1).map((other) => size * other));
  const WANTS = {
    frequencies: { title: "Shares of each question", one: "a share", cells: (k) => k },
    tables: { title: "A table of every two questions", one: "a cell of a table", cells: pairs },
    records: { title: "Shares, from reports that are whole records", one: "a share", cells: (k) => k },
  };
  const wish = make("select", { id: "planner-wants" });
  for (const [value, { title }] of Object.entries(WANTS)) wish.append(make("option", { value }, title));
  form.append(make("div", { className: "planner-field" }, make("label", { htmlFor: wish.id }, "What you want"), wish));

  const about = make("select", { id: "planner-sampled" });
  const WHOM = { fixed: "The people asked", sampled: "Many more, of whom they are a random sample" };
  for (const [value, title] of Object.entries(WHOM)) about.append(make("option", { value }, title));
  form.append(make("div", { className: "planner-field" }, make("label", { htmlFor: about.id }, "Whose shares"), about));
  number("confidence", "Confidence of an interval, %", { min: 50, max: 99.9, step: "any", value: 95, slide: 0.1 });
  number("target", "Typical error to reach, points", { min: 0.01, max: 50, step: "any", value: 1, ...logarithm(2) });

  const answer = make("p", { className: "planner-answer" });
  answer.setAttribute("role", "status");
  answer.setAttribute("aria-live", "polite");
  const body = make("tbody");
  const head = make("tr");
  for (const title of ["Mechanism", "Typical error, points", "People needed, against the best"]) {
    head.append(make("th", { scope: "col" }, title));
  }
  const caption = make("caption", {}, "All mechanisms, the best first");
  const table = make("table", { className: "planner-table" }, caption, make("thead", {}, head), body);
  place.replaceChildren(form, answer, make("div", { className: "pst-scrollable-table-container" }, table));

  const digits = (x) => Number(x.toPrecision(3)).toString();
  const off = (x) => (x > 50 ? "over 50" : digits(x));
  const times = (x) => (x > 1000 ? "over 1,000" : digits(x));
  function people(x) {
    const whole = Math.ceil(x - 1e-9);
    return whole > 1 ? `${Number(whole.toPrecision(2)).toLocaleString("en")} people` : "one person";
  }

  // How many standard errors hold a normal variable with this probability: bisection on the integral of its density.
  function quantile(confidence) {
    const inside = (z) => { // Simpson's rule, 200 steps
      const h = z / 200, f = (i) => Math.exp(-((i * h) ** 2) / 2);
      let total = f(0) + f(200);
      for (let i = 1; i < 200; i++) total += f(i) * (i % 2 ? 4 : 2);
      return total * h / 3 * Math.sqrt(2 / Math.PI);
    };
    let low = 0, high = 9;
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      if (inside(middle) < confidence) low = middle;
      else high = middle;
    }
    return high;
  }

  function read() {
    const k = sizes.value.split(/[\s,;]+/).filter(Boolean).map(Number);
    const whole = (x, low, high) => Number.isInteger(x) && low <= x && x <= high;
    const fits = k.length >= 1 && k.length <= MOST.attributes && k.every((size) => whole(size, 2, MOST.values));
    const epsilon = Number(fields.epsilon.value), n = Number(fields.users.value), wants = wish.value;
    const confidence = Number(fields.confidence.value), target = Number(fields.target.value);
    const count = Number(fields.attributes.value), each = Number(fields.values.value);
    const wrong = [
      [fields.attributes, whole(count, 1, MOST.attributes), `Questions: a whole number from 1 to ${MOST.attributes}.`],
      [fields.values, whole(each, 2, MOST.values), `Answers each: a whole number from 2 to ${MOST.values}.`],
      [sizes, fits, `Answers: 1 to ${MOST.attributes} whole numbers from 2 to ${MOST.values}, with commas between them.`],
      [wish, wants === "frequencies" || k.length > 1, "What you want: tables and records need two questions or more."],
      [fields.epsilon, epsilon >= 0.1 && epsilon <= 10, "ε: a number from 0.1 to 10."],
      [fields.users, whole(n, 1, MOST.users), "People: a whole number from 1 to 1,000,000,000."],
      [fields.confidence, confidence >= 50 && confidence <= 99.9, "Confidence: a number from 50 to 99.9."],
      [fields.target, target >= 0.01 && target <= 50, "Typical error to reach: a number from 0.01 to 50."],
    ].filter(([input, good]) => { input.setAttribute("aria-invalid", String(!good)); return !good; });
    const sampling = about.value === "sampled";
    return { k, epsilon, n, wants, sampling, confidence, target, wrong: wrong.map(([, , words]) => words) };
  }

  function show() {
    const { k, epsilon, n, wants, sampling, confidence, target, wrong } = read();
    table.hidden = wrong.length > 0;
    if (wrong.length) {
      answer.textContent = hint.textContent = wrong.join(" ");
      return;
    }
    hint.textContent = `${k.length} question${k.length > 1 ? "s" : ""}, ${k.reduce((a, b) => a + b, 0)} answers in all`;
    const rows = formulas.errors({ k, epsilon, n, wants, sampling }), { one, cells } = WANTS[wants];
    const total = cells(k).reduce((a, b) => a + b, 0), inPoints = (error) => 100 * Math.sqrt(error / total);
    const points = rows.map((row) => inPoints(row.error)), drawn = rows[0].error - formulas.errors({ k, epsilon, n, wants })[0].error;
    const limit = formulas.limit({ k, epsilon, n, wants }) + drawn, half = quantile(confidence / 100) * points[0];
    const enough = formulas.budget({ k, n, wants, sampling, target });
    const level = rows.slice(1).filter((row) => row.error < 1.005 * rows[0].error).map((row) => row.names[0]);
    const next = rows.slice(1).find((row) => row.error >= 1.005 * rows[0].error);
    answer.textContent = `Take ${rows[0].names[0]}: ${one} is typically off by ${off(points[0])} percentage points. ` +
      (level.length ? `${level.join(" and ")} ${level.length > 1 ? "do" : "does"} as well. ` : "") +
      (next ? `${next.names[0]}, the next, needs ${times(next.error / rows[0].error)} times as many people. ` : "") +
      `A typical ${confidence} % interval reaches ${off(half)} points each way. ` +
      `For a typical error of ${target} point${target === 1 ? "" : "s"} you need about ` +
      `${people(n * (points[0] / target) ** 2)}, ` +
      (enough ? `or with ${people(n)} ε = ${digits(enough)}. ` : `since with ${people(n)} no ε up to 20 reaches it. `) +
      (n >= 100 && inPoints(limit) <= 50 ? `No unbiased mechanism is below ${off(inPoints(limit))} points.` : "");
    const row = ({ names, chapter, error }) => {
      const link = make("a", { href: `../notebooks/${chapter}.html` }, names.join(", "));
      const bar = make("span", { className: "planner-bar" }), cell = make("td", {}, off(inPoints(error)), bar);
      bar.style.width = `${Math.min(100, 2 * inPoints(error))}%`;
      return make("tr", {}, make("th", { scope: "row" }, link), cell, make("td", {}, times(error / rows[0].error)));
    };
    const bound = { names: ["the limit: no unbiased one is below"], chapter: wants === "tables" ? "pair_tables" : "limit_bound", error: limit };
    body.replaceChildren(...[...rows, ...(n >= 100 ? [bound] : [])].map(row));
    const address = new URL(location.href), choice = { k: k.join("-"), epsilon, n, wants, sampled: sampling, confidence, target };
    for (const [name, value] of Object.entries(choice)) address.searchParams.set(name, value);
    history.replaceState(null, "", address);
  }

  // An event that does not rise to the form moves the slider, and no more.
  function count() {
    fields.attributes.value = sizes.value.split(/[\s,;]+/).filter(Boolean).length;
    fields.attributes.dispatchEvent(new Event("input"));
  }

  form.addEventListener("input", (event) => {
    if (event.target === fields.attributes || event.target === fields.values) {
      const d = Number(fields.attributes.value), size = Number(fields.values.value);
      if (d >= 1 && d <= MOST.attributes && size >= 2) sizes.value = Array(Math.floor(d)).fill(size).join(", ");
    } else if (event.target === sizes) {
      count();
    }
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  const asked = new URLSearchParams(location.search);
  if (asked.has("k")) sizes.value = asked.get("k").split("-").join(", ");
  if (asked.has("epsilon")) fields.epsilon.value = asked.get("epsilon");
  if (asked.has("n")) fields.users.value = asked.get("n");
  if (Object.hasOwn(WANTS, asked.get("wants"))) wish.value = asked.get("wants");
  if (asked.get("sampled") === "true") about.value = "sampled";
  for (const name of ["confidence", "target"]) if (asked.has(name)) fields[name].value = asked.get(name);
  for (const input of [fields.epsilon, fields.users, fields.confidence, fields.target]) input.dispatchEvent(new Event("input"));
  count();
  show();
}

document.querySelectorAll(".planner").forEach(plannerPage);
