// The figures with sliders: for each its sliders, its numbers, what it says in a sentence, and its drawing, an SVG text.
// The numbers are those of ldp_lib, and the drawings at the start are stored (tools/explore.py). Needs formulas.js.
"use strict";

const scenes = (() => {
  const WIDTH = 460, HEIGHT = 300, INK = "#1f2933", SOFT = "#52606d", GRID = "#e5e5e5";
  const { range } = formulas;
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif";

  // Colours and markers of ldp_lib/book/figures.py.
  const LOOKS = {
    RR: ["#0072B2", "h"], GRR: ["#0072B2", "o"], SUE: ["#CC79A7", "v"], OUE: ["#009E73", "^"], OLH: ["#E69F00", "s"], SubsetSelection: ["#D55E00", "D"],
    OneQuestion: ["#009E73", "o"], AskSome: ["#E69F00", "P"], SPL: ["#6e6e6e", "s"], CorrRR: ["#D55E00", "o"], JRR: ["#D55E00", "s"],
  };
  const MARKERS = {
    o: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", s: "M-3.6 -3.6h7.2v7.2h-7.2z", D: "M0 -5L5 0L0 5L-5 0z", "^": "M0 -5L4.6 3.6H-4.6z", v: "M0 5L4.6 -3.6H-4.6z",
    P: "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z", h: "M0 -4.6L4 -2.3V2.3L0 4.6L-4 2.3V-2.3z",
  };

  // Words.
  const digits = (x, n = 3) => (x >= 1000 ? Number(x.toPrecision(n)).toLocaleString("en") : String(Number(x.toPrecision(n))));
  const ratioOf = (x) => digits(x, x < 1 ? 2 : 3); // two digits of 1.04 are 1.0, which would say that nothing is lost
  const percent = (x) => `${digits(100 * x)}\u00a0%`;
  const ofHundred = (x) => digits(100 * x, x < 0.995 ? 2 : 4); // two digits of 99.8 are 100, which would be certainty
  const many = (count, words) => `${count.toLocaleString("en")} ${count === 1 ? words.replace(/s$/, "") : words}`;

  // Shapes. Coordinates have one digit after the point, so that the text is the same in every browser.
  // To a tenth of a unit; first to ten-millionths, so that a tie's last bit, which processors choose, does not decide.
  const at = (x) => String(Math.round(Math.round(x * 1e7) / 1e6) / 10);
  const escape = (words) => words.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const text = (x, y, words, { size = 13.5, colour = INK, anchor = "middle", more = "" } = {}) =>
    `<text x="${at(x)}" y="${at(y)}" font-size="${size}" fill="${colour}" text-anchor="${anchor}"${more}>${escape(words)}</text>`;
  const line = (x1, y1, x2, y2, colour = SOFT, more = "") =>
    `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" stroke="${colour}"${more}/>`;
  const box = (x, y, w, h, fill, more = "") =>
    `<rect x="${at(x)}" y="${at(y)}" width="${at(w)}" height="${at(h)}" fill="${fill}"${more}/>`;
  const marker = (x, y, [colour, mark], scale = 1) =>
    `<path d="${MARKERS[mark]}" transform="translate(${at(x)} ${at(y)}) scale(${scale})" fill="${colour}" stroke="#fff"/>`;
  const DASHED = ' stroke-dasharray="5 4"';

  // Entries of a legend in rows: a marker and a name each. Returns the drawing; names are measured by their letters.
  function legend(entries, left, y) {
    let x = left, row = 0;
    return entries.map(({ look, name, dash = "" }) => {
      const wide = 38 + 7 * name.length;
      if (x + wide > WIDTH && x > left) [x, row] = [left, row + 1];
      const top = y + 17 * row, start = x;
      x += wide;
      return line(start, top, start + 22, top, look[0], ` stroke-width="2"${dash}`) +
        (look[1] ? marker(start + 11, top, look) : "") + text(start + 27, top + 4, name, { anchor: "start", size: 13 });
    }).join("");
  }

  // A plot of lines: each has `points`, a `look` and a `name`; `here` is the place on the x axis that a slider sets.
  function plot({ x, y, lines, here, left = 66, top = 62, more = () => "" }) {
    const wide = WIDTH - left - 14, high = HEIGHT - top - 46, scale = (axis, length) => {
      const [from, to] = axis.range.map(axis.log ? Math.log : (v) => v);
      return (v) => ((axis.log ? Math.log(v) : v) - from) / (to - from) * length;
    };
    const right = scale(x, wide), up = scale(y, high), over = (v) => high - up(v);
    const parts = y.ticks.map((v) => line(left, top + over(v), left + wide, top + over(v), GRID) +
      text(left - 6, top + over(v) + 4, v.toLocaleString("en"), { anchor: "end", size: 12.5 }));
    parts.push(...x.ticks.map((v) => line(left + right(v), top, left + right(v), top + high, GRID) +
      text(left + right(v), top + high + 16, v.toLocaleString("en"), { size: 12.5 })));
    parts.push(line(left, top + high, left + wide, top + high, INK), line(left, top, left, top + high, INK));
    parts.push(text(left + wide / 2, HEIGHT - 10, x.label));
    parts.push(text(0, 0, y.label, { more: ` transform="translate(14 ${at(top + high / 2)}) rotate(-90)"` }));
    parts.push(`<svg x="${at(left)}" y="${at(top)}" width="${at(wide)}" height="${at(high)}">`);
    if (here !== undefined) parts.push(line(right(here), 0, right(here), high, SOFT, DASHED));
    for (const { points, look, dash = "" } of lines) {
      const path = points.map(([a, b]) => `${at(right(a))} ${at(Math.max(-999, Math.min(999, over(b))))}`).join("L");
      parts.push(`<path d="M${path}" fill="none" stroke="${look[0]}" stroke-width="1.8"${dash}/>`);
    }
    for (const { look, value } of lines) if (look[1] && value !== undefined) parts.push(marker(right(here), over(value), look, 1.4));
    parts.push(more(right, over), "</svg>");
    return legend(lines.filter(({ name }) => name), left, 34) + parts.join("");
  }
  const picture = (title, head, drawing) =>
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" ` +
    `font-family="${FONT}"><title>${escape(title)}</title>` +
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#ffffff"/>${text(14, 17, head, { anchor: "start", colour: SOFT })}${drawing}</svg>`;
  const DECADES = range(9).map((i) => Number(`1e${i - 3}`));
  const logarithmic = (label, from, to) =>
    ({ label, log: true, range: [from, to], ticks: DECADES.filter((v) => v >= from && v <= to) });
  const POINTS = "standard error, percentage points";

  // Sliders: each goes through its stops.
  const BUDGETS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8];
  const PEOPLE = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];
  const slider = (name, label, stops, start, words = (v) => v.toLocaleString("en")) => ({ name, label, stops, start, words });
  const epsilon = (start = 1, least = 0.1, most = 8) => slider("epsilon", "Privacy parameter ε", BUDGETS.filter((b) => least <= b && b <= most), start);
  const answers = (start, stops = [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 50, 100]) => slider("k", "Possible answers", stops, start);
  const along = (from, to, count = 61) => range(count).map((i) => from * (to / from) ** (i / (count - 1)));
  const evenly = (from, to, count = 61) => range(count).map((i) => from + (to - from) * i / (count - 1));

  const all = {};

  all.randomized_response = {
    about: "Standard error of a frequency of 10 % against ε, on logarithmic axes; dashed, the sampling error of as many people.",
    sliders: [epsilon(1, 0.1, 6), answers(9, [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 30, 50, 100]), slider("n", "People", PEOPLE, 1e4)],
    numbers({ epsilon: b, k, n }) {
      const drawn = formulas.drawnVariance(0.1, n, ...formulas.coin(k, b));
      return { points: 100 * Math.sqrt(formulas.variance(0.1, n, ...formulas.coin(k, b))), open: 0.09 / drawn };
    },
    says: (v, { points, open }) => `At ε = ${v.epsilon}, with ${v.k} answers and ${many(v.n, "people")}, the standard error is ` +
      `${digits(points, 2)} percentage points. As a random sample, these people tell ` +
      (open < 1 ? "less than one who answers openly." : `as much as ${digits(open, 2)} who answer openly.`),
    draw(v, { points }) {
      const plain = 100 * Math.sqrt(0.09 / v.n);
      return [`${v.k} answers, ${many(v.n, "people")}, ε = ${v.epsilon}`, plot({
        x: { label: "ε", log: true, range: [0.1, 6], ticks: [0.1, 0.2, 0.5, 1, 2, 4] },
        y: logarithmic(POINTS, 0.01, 1000), here: v.epsilon,
        lines: [
          { name: "randomization", look: LOOKS.GRR, value: points, points: along(0.1, 6).map((b) => [b, this.numbers({ ...v, epsilon: b }).points]) },
          { name: "sampling, no privacy", look: [SOFT], dash: DASHED, points: [[0.1, plain], [6, plain]] },
        ],
      })];
    },
  };

  all.channel_matrix = {
    about: "The channel matrix of GRR on the left, darker where a probability is larger, and its inverse on the right.",
    sliders: [epsilon(1, 0.1, 5), answers(3, [2, 3, 4, 5, 6, 8])],
    numbers({ epsilon: b, k }) {
      const [p, q] = formulas.coin(k, b), [diagonal, other] = formulas.inverse(k, b);
      return { p, q, diagonal, other, stretch: p - q };
    },
    says: (v, { p, stretch }) => `At ε = ${v.epsilon}, with ${v.k} answers, ${digits(100 * p)} of 100 reports are true. ` +
      `The channel shrinks every difference to ${digits(stretch)} of its size; the inverse stretches it, and the noise, ` +
      `by ${digits(1 / stretch)}.`,
    draw(v, { p, q, diagonal, other }) {
      const table = (left, title, on, off, most) => {
        const side = 180 / v.k;
        return text(left + 90, 46, title) + range(v.k * v.k).map((i) => {
          const row = Math.floor(i / v.k), column = i % v.k, value = row === column ? on : off;
          const grey = Math.round(245 - 95 * Math.min(value / most, 1)), x = left + side * column, y = 58 + side * row;
          const shown = v.k < 5 ? String(value.toFixed(2)).replace("-", "\u2212") : value < 0 && "\u2212";
          return box(x, y, side, side, value < 0 ? "#f3c1b5" : `rgb(${grey},${grey},${grey})`, ` stroke="${SOFT}"`) +
            (shown ? text(x + side / 2, y + side / 2 + 4, shown) : "");
        }).join("") + text(left + 90, 260, title === "channel" ? "row: answer, column: report" : "row: what one report counts as");
      };
      const drawing = table(28, "channel", p, q, 1) + table(252, "inverse", diagonal, other, diagonal);
      return [`${v.k} answers, ε = ${v.epsilon}`, drawing];
    },
  };

  const KINDS = { GRR: "GRR", SUE: "SUE", OUE: "OUE", OLH: "OLH", SubsetSelection: "subset selection" };
  all.frequency_oracles = {
    about: "Standard error of a frequency against the number of possible answers, 10,000 people: GRR, SUE, OUE, OLH, subset selection.",
    sliders: [epsilon(1, 0.5, 5), answers(16, [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 30, 50, 100, 200, 500])],
    numbers({ epsilon: b, k }) {
      const points = (total) => Math.sqrt(total / k);
      return {
        GRR: points(formulas.grr(k, b)), SUE: points(formulas.sue(k, b)), OUE: points(formulas.oue(k, b)), OLH: points(formulas.olh(k, b)),
        SubsetSelection: points(formulas.subset(k, b)), size: formulas.subsetSize(Math.exp(b), k),
      };
    },
    says(v, { size, GRR, SUE, OUE, OLH, SubsetSelection }) {
      const best = size > 1 ? `subset selection names ${size} answers and has a standard error of ${digits(SubsetSelection)} points; ` +
        `GRR has ${digits(GRR)}` : `subset selection names one answer, as GRR does: ${digits(GRR)} points`;
      return `At ε = ${v.epsilon}, with ${v.k} answers, ${best}, SUE ${digits(SUE)}, OUE ${digits(OUE)}, OLH ${digits(OLH)}.`;
    },
    draw(v, numbers) {
      const sizes = [2, 3, 4, 5, 6, 7, 8, 9, ...along(10, 500, 40).map(Math.round)];
      return [`10,000 people, ${v.k} answers, ε = ${v.epsilon}`, plot({
        x: { label: "number of possible answers", log: true, range: [2, 500], ticks: [2, 5, 10, 20, 50, 100, 200, 500] },
        y: { ...logarithmic(POINTS, 0.08, 50), ticks: [0.1, 0.5, 1, 5, 10, 50] }, here: v.k,
        lines: Object.entries(KINDS).map(([kind, name], i) => ({
          name, look: LOOKS[kind], value: numbers[kind], dash: i % 2 ? DASHED : "",
          points: sizes.map((k) => [k, this.numbers({ ...v, k })[kind]]),
        })),
      })];
    },
  };

  all.subset_selection = {
    about: "Total variance for one user against the number of values that a report names; the best number is marked.",
    sliders: [epsilon(1, 0.5, 5), answers(16, [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50, 60])],
    numbers({ epsilon: b, k }) {
      const errors = formulas.sizeErrors(k, b), size = formulas.subsetSize(Math.exp(b), k);
      return { errors, size, share: k / (Math.exp(b) + 1), times: errors[0] / errors[size - 1] };
    },
    says: (v, { size, share, times }) => `At ε = ${v.epsilon}, with ${v.k} values, k/(e^ε + 1) is ${digits(share, 2)}: name ${size}. ` +
      (size > 1 ? `A single one takes ${digits(times, times < 1.005 ? 4 : 3)} times as many people, drawn uniformly.` : "That is GRR."),
    draw: (v, { errors, size, share }) => [`${v.k} values, ε = ${v.epsilon}`, plot({
      x: { label: "number of values that a report names", log: true, range: [0.5, 65], ticks: [1, 2, 4, 8, 16, 32, 64] },
      y: logarithmic("total variance, one user", 0.4, 2e4), top: 40, here: share,
      lines: [{ look: LOOKS.SubsetSelection, points: errors.map((error, i) => [i + 1, error]) }],
      more: (x, y) => errors.map((error, i) => marker(x(i + 1), y(error), LOOKS.SubsetSelection, i + 1 === size ? 1.7 : 0.6)).join("") +
        (share > 0.5 ? text(x(share) + 5, 13, "k/(e^ε + 1)", { anchor: "start", colour: SOFT }) : ""),
    })],
  };

  const SIZES = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64];
  all.budget_splitting = {
    about: "ε split into three parts, one a question: the best split above the equal one, and the error of both as bars.",
    sliders: [epsilon(), ...["First", "Second", "Third"].map((word, i) => slider(`k${i + 1}`, `${word} question's answers`, SIZES, [2, 4, 16][i]))],
    numbers(v) {
      const k = [v.k1, v.k2, v.k3], parts = formulas.brrShares(k, v.epsilon);
      const equal = formulas.splitError(k, k.map(() => v.epsilon / 3)), best = formulas.splitError(k, parts);
      return { parts, best, equal };
    },
    says(v, { parts, best, equal }) {
      const list = parts.map((part) => part.toPrecision(2)), gain = digits(100 * (equal / best - 1), 2);
      return `At ε = ${v.epsilon}, with ${v.k1}, ${v.k2} and ${v.k3} answers, the best parts are ${list[0]}, ${list[1]} and ${list[2]}. ` +
        (equal / best < 1.0005 ? "Equal parts do as well." : `Equal parts have ${gain}\u00a0% more error.`);
    },
    draw(v, { parts, best, equal }) {
      const fills = ["#b8d8ea", "#f8deaa", "#b3dfd3"], wide = 424, k = [v.k1, v.k2, v.k3];
      const bar = (y, name, own) => {
        let x = 18;
        return text(18, y - 7, name, { anchor: "start" }) + own.map((part, j) => {
          const width = part / v.epsilon * wide, left = x;
          x += width;
          return box(left, y, width, 34, fills[j], ` stroke="${INK}"`) + text(left + width / 2, y + 22, part.toPrecision(2));
        }).join("");
      };
      const error = (y, name, value, look) => {
        const length = 250 * value / Math.max(best, equal);
        return text(118, y + 14, name, { anchor: "end" }) + box(126, y, length, 18, look[0]) +
          text(132 + length, y + 14, digits(value), { anchor: "start" });
      };
      return [`questions with ${k[0]}, ${k[1]} and ${k[2]} answers, ε = ${v.epsilon}`, bar(56, "best parts of ε", parts) +
        bar(128, "equal parts", parts.map(() => v.epsilon / 3)) + text(18, 196, "total error, one user", { anchor: "start" }) +
        error(206, "best parts", best, ["#009E73"]) + error(238, "equal parts", equal, ["#52606d"])];
    },
  };

  const WAYS = { SPL: "all, split budget", OneQuestion: "one question each", AskSome: "the best number of them" };
  all.attribute_sampling = {
    about: "Typical error of a share against the number of questions: all with a split budget, one each, the best number of them.",
    sliders: [epsilon(1, 0.5), slider("d", "Questions", [2, 3, 4, 5, 6, 7, 8], 4), answers(4, [2, 3, 4, 6, 8, 12, 16])],
    numbers({ epsilon: b, d, k }) {
      const sizes = range(d).map(() => k), points = (error) => 100 * Math.sqrt(error / (d * k));
      return {
        SPL: points(d * formulas.grr(k, b / d) / 1e4), OneQuestion: points(formulas.oneQuestion(sizes, b, 1e4)),
        AskSome: points(formulas.askSome(sizes, b, 1e4)), asked: formulas.bestDesign(sizes, b).m,
      };
    },
    says: (v, { SPL, OneQuestion, AskSome, asked }) => `At ε = ${v.epsilon}, of ${v.d} questions with ${v.k} answers, it is best to ask ` +
      `${asked > 1 ? `${asked} at once` : "one"}: ${digits(AskSome)} points of error. ${asked > 1 ? `One has ${digits(OneQuestion)}, all` : "All"} ` +
      `with a split budget ${asked > 1 ? "" : "have "}${SPL > 100 ? "over 100" : digits(SPL)}.`,
    draw(v, numbers) {
      return [`10,000 people, ${v.d} questions, ${v.k} answers each, ε = ${v.epsilon}`, plot({
        x: { label: "number of questions", range: [1.9, 8.1], ticks: [2, 3, 4, 5, 6, 7, 8] },
        y: logarithmic("typical error, percentage points", 0.1, 100), here: v.d,
        lines: Object.entries(WAYS).map(([kind, name], i) => ({
          name, look: LOOKS[kind], value: numbers[kind], dash: ["", "", DASHED][i],
          points: [2, 3, 4, 5, 6, 7, 8].map((d) => [d, this.numbers({ ...v, d })[kind]]),
        })),
      })];
    },
  };

  all.fake_data = {
    about: "A hundred reports of one attribute as squares: true answers, false ones by randomization, and fakes.",
    sliders: [epsilon(), slider("d", "Questions", [2, 3, 4, 5, 6, 8, 10, 12, 16], 4), answers(4, [2, 3, 4, 6, 8, 12, 16, 32])],
    numbers({ epsilon: b, d, k }) {
      const own = formulas.coin(k, b), mixed = formulas.amongFakes(k, d, b);
      const times = formulas.variance(0, 1, ...mixed) / (d * formulas.variance(0, 1, ...own));
      return { told: own[0] / d, lied: (1 - own[0]) / d, faked: 1 - 1 / d, times };
    },
    says: (v, { told, faked, times }) => `At ε = ${v.epsilon}, with ${v.d} questions of ${v.k} answers, of 100 reports about one question ` +
      `${digits(100 * faked)} are fakes and ${digits(100 * told, 2)} true answers. For an answer that nobody holds, fakes take ${digits(times, 2)} times as many people ` +
      "as saying openly which question was answered.",
    draw(v, { told, lied, faked }) {
      const shares = [told, lied, faked].map((share) => 100 * share), counts = shares.map(Math.floor);
      const rest = range(3).sort((a, b) => shares[b] - counts[b] - shares[a] + counts[a] || a - b);
      for (let i = 0; formulas.sum(counts) < 100; i++) counts[rest[i]] += 1;
      const shapes = [
        (x, y) => box(x, y, 19, 19, "#0072B2"),
        (x, y) => box(x, y, 19, 19, "#f8deaa", ` stroke="${INK}"`) + line(x + 4, y + 4, x + 15, y + 15, INK) + line(x + 15, y + 4, x + 4, y + 15, INK),
        (x, y) => box(x, y, 19, 19, "#ffffff", ` stroke="#9aa5b1"`),
      ];
      const squares = range(100).map((i) => {
        const kind = i < counts[0] ? 0 : i < counts[0] + counts[1] ? 1 : 2;
        return shapes[kind](20 + 24 * (i % 10), 36 + 24 * Math.floor(i / 10));
      });
      const names = ["true answers", "false, randomized", "fakes"].map((name, i) =>
        shapes[i](282, 60 + 44 * i) + text(310, 74 + 44 * i, `${counts[i]} ${name}`, { anchor: "start" }));
      return [`100 reports about one of ${v.d} questions, ${v.k} answers, ε = ${v.epsilon}`, squares.join("") + names.join("")];
    },
  };

  // Two yes-or-no attributes: the probability that both are yes, from the least possible (-1) over independent to the largest (1).
  function bothYes(own, pivot, tie) {
    const apart = own * pivot, least = Math.max(0, own + pivot - 1), most = Math.min(own, pivot);
    return apart + (tie > 0 ? tie * (most - apart) : tie * (apart - least));
  }
  const SHARES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95];
  all.corr_rr = {
    about: "Left, the joint distribution of two yes-or-no answers. Right, the mean squared error of Corr-RR against the probability of a true copy; the least is marked.",
    sliders: [
      slider("tie", "Correlation of the answers", evenly(-1, 1, 21).map((x) => Math.round(10 * x) / 10), 0.5, (v) => `${percent(v).replace("-", "\u2212")} of the most`),
      slider("own", "Yes to the other question", SHARES, 0.7, percent), slider("pivot", "Yes to the pivot", SHARES, 0.8, percent), epsilon(1, 0.1, 5),
    ],
    numbers({ tie, own, pivot, epsilon: b }) {
      const both = bothYes(own, pivot, tie), setting = { own, pivot, n: 2000, b };
      const free = formulas.bestCopies(setting), best = formulas.clip(free, 0, 1);
      const correlation = (both - own * pivot) / Math.sqrt(own * (1 - own) * pivot * (1 - pivot));
      const error = (copied) => 1000 * formulas.copyError({ ...setting, copied });
      return { both, correlation, free, best, least: error(best), always: error(1), never: error(0.5) };
    },
    says: (v, { correlation, best, least, always }) => `At a correlation of ${digits(Math.round(correlation * 100) / 100, 2).replace("-", "\u2212")} and ` +
      `ε = ${v.epsilon} the best probability of a true copy is ${digits(best)}, with a mean squared error of ${digits(least, 2)} thousandths ` +
      `(${digits(always, 2)} if all copies are true). The correlation moves neither.`,
    draw(v, { both, correlation, best, least }) {
      const side = 128, left = 22, top = 88, yes = v.pivot * side, fill = ["#D55E00", "#f6d4bd"];
      const column = (x, wide, share, first) => box(x, top, wide, share * side, fill[first], ' stroke="#fff"') +
        box(x, top + share * side, wide, (1 - share) * side, fill[1 - first], ' stroke="#fff"');
      const mosaic = column(left, yes, both / v.pivot, 0) + column(left + yes, side - yes, (v.own - both) / (1 - v.pivot), 1) +
        text(left + side / 2, 56, `correlation ${digits(Math.round(correlation * 100) / 100, 2).replace("-", "\u2212")}`) +
        text(left + side / 2, 76, "pivot: yes, no", { size: 13, colour: SOFT }) +
        text(0, 0, "other: no, yes", { size: 13, colour: SOFT, more: ` transform="translate(14 ${top + side / 2}) rotate(-90)"` }) +
        text(left + side / 2, 236, "dark: both agree", { size: 13, colour: SOFT });
      const error = (copied) => 1000 * formulas.copyError({ ...v, n: 2000, b: v.epsilon, copied });
      const curve = plot({
        left: 234, top: 40, here: best, x: { label: "probability of a true copy", range: [0, 1], ticks: [0, 0.5, 1] },
        y: logarithmic("", 0.02, 2000), lines: [{ look: LOOKS.CorrRR, value: least, points: evenly(0, 1).map((x) => [x, error(x)]) }],
      });
      const label = text(0, 0, "mean squared error, thousandths", { more: ' transform="translate(176 147) rotate(-90)"' });
      return [`${percent(v.own)} and ${percent(v.pivot)} say yes, 2,000 people, ε = ${v.epsilon}`, mosaic + curve + label];
    },
  };

  all.jrr = {
    about: "Variance of joint randomized response (JRR) over that of randomized response at the same ε, against the share of people who hold the answer.",
    sliders: [
      epsilon(1, 0.1, 5), slider("colluders", "Colluders", [0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3], 0.05, percent),
      slider("share", "People who hold the answer", evenly(0, 1, 21).map((x) => Math.round(20 * x) / 20), 0.9, percent),
    ],
    numbers({ epsilon: b, colluders, share }) {
      const n = 1e4, odds = Math.round(n * colluders) / (n - Math.round(n * colluders)), [own] = formulas.coin(2, b);
      if (odds >= Math.tanh(b / 2)) return { own, tied: null, ratio: null };
      const tied = formulas.corner(own, odds), rho = -(1 - tied) / tied;
      const ratio = formulas.pairVariance(share * n, n, tied, rho) / formulas.pairVariance(share * n, n, own, 0);
      return { own, tied, ratio };
    },
    says(v, { own, tied, ratio }) {
      const start = `At ε = ${v.epsilon}, if ${percent(v.colluders)} collude, `;
      if (tied === null) return `${start}no negative correlation lowers the variance at this ε: too many people tell about their partners.`;
      return `${start}JRR tells the truth with probability ${digits(tied)} in place of ${digits(own)}. If ${percent(v.share)} hold the answer, ` +
        `its variance is ${ratioOf(ratio)} times that of randomized response.`;
    },
    draw(v, { ratio }) {
      const tied = ratio === null ? [] : evenly(0, 1, 101).map((share) => [share, this.numbers({ ...v, share }).ratio]);
      return [`10,000 people, ${percent(v.colluders)} collude, ε = ${v.epsilon}`, plot({
        x: { label: "share of people who hold the answer", range: [0, 1], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] },
        y: { label: "variance, RR = 1", range: [0, 2], ticks: [0, 0.5, 1, 1.5, 2] }, here: v.share,
        lines: [
          { name: "RR", look: LOOKS.RR, value: 1, points: [[0, 1], [1, 1]] },
          { name: "JRR", look: LOOKS.JRR, value: ratio ?? undefined, points: tied.length ? tied : [[0, 9], [1, 9]] },
        ],
      })];
    },
  };

  all.limit_correlation = {
    about: "Total squared error against the share of people whose two answers differ: each answer for its own question, or all for both.",
    sliders: [epsilon(0.7, 0.5, 4), slider("n", "People", PEOPLE, 2e4), slider("differ", "People whose answers differ", evenly(0, 0.1, 21).map((x) => Math.round(200 * x) / 200), 0.02, percent)],
    numbers({ epsilon: b, n, differ }) {
      const coin = formulas.coin(2, b), drawn = (f, users) => formulas.drawnVariance(f, users, ...coin);
      const apart = 2000 * (drawn(0.4, n / 2) + drawn(0.4 - differ, n / 2));
      return { apart, pooled: 1000 * (differ ** 2 + 4 * drawn(0.4 - differ / 2, n)) };
    },
    says(v, { apart, pooled }) {
      const good = pooled < apart;
      return `At ε = ${v.epsilon}, with ${many(v.n, "people")} of whom ${percent(v.differ)} give two different answers, to presume that all agree ` +
        `${good ? "saves" : "costs"}: ${ratioOf(pooled / apart)} times the error of taking each answer for its own question.`;
    },
    draw(v, numbers) {
      const shares = evenly(0, 0.1);
      return [`${many(v.n, "people")}, ε = ${v.epsilon}`, plot({
        x: { label: "share of people whose answers differ", range: [0, 0.1], ticks: [0, 0.02, 0.04, 0.06, 0.08, 0.1] },
        y: logarithmic("total squared error, thousandths", 0.001, 100), here: v.differ,
        lines: [["apart", "each for its own", ["#0072B2", "o"]], ["pooled", "all for both", ["#D55E00", "s"]]].map(([key, name, look]) => ({
          name, look, value: numbers[key], points: shares.map((differ) => [differ, this.numbers({ ...v, differ })[key]]),
        })),
      })];
    },
  };

  all.attacker = {
    about: "How often the best guess from one report is right against ε: about the answer that was asked, about another that depends on it, and blind.",
    sliders: [epsilon(1, 0.1, 8), answers(2, [2, 3, 4, 5, 6, 8, 10, 12, 16, 20]), slider("tie", "People whose other answer is the same for sure", evenly(0, 1, 21).map((x) => Math.round(20 * x) / 20), 0.5, percent)],
    numbers({ epsilon: b, k, tie }) {
      const [asked] = formulas.coin(k, b);
      return { asked, other: tie * asked + (1 - tie) / k, blind: 1 / k };
    },
    says: (v, { asked, other, blind }) => `At ε = ${v.epsilon}, with ${v.k} answers, the best guess is right for ${ofHundred(asked)} of 100 people, ` +
      `for ${ofHundred(other)} about the other answer, which nobody asked for, and a blind guess for ${digits(100 * blind, 2)}.`,
    draw(v, { asked, other, blind }) {
      const at = (key) => along(0.1, 8).map((b) => [b, this.numbers({ ...v, epsilon: b })[key]]);
      return [`${v.k} equally likely answers, ε = ${v.epsilon}`, plot({
        x: { label: "ε of the report", log: true, range: [0.1, 8], ticks: [0.1, 0.2, 0.5, 1, 2, 4, 8] },
        y: { label: "probability of a right guess", range: [0, 1], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] }, here: v.epsilon,
        lines: [
          { name: "asked", look: LOOKS.GRR, value: asked, points: at("asked") },
          { name: "never asked", look: LOOKS.CorrRR, value: other, points: at("other") },
          { name: "blind", look: [SOFT], dash: DASHED, points: [[0.1, blind], [8, blind]] },
        ],
      })];
    },
  };

  const CHANCES = evenly(0.1, 0.9, 17).map((x) => Math.round(20 * x) / 20);
  all.real_survey = {
    about: "Standard error of a share, 710 people, against the probability of the sensitive question: the unrelated question above Warner's design.",
    sliders: [
      slider("p", "Probability of the sensitive question", CHANCES, 0.5), slider("share", "True share", CHANCES, 0.3, percent),
      slider("alpha", "Innocuous yes", [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 0.1, percent),
    ],
    numbers({ p, share, alpha }) {
      const no = 1 + p / ((1 - p) * (1 - alpha)), yes = 1 + p / ((1 - p) * alpha), e = Math.max(no, yes);
      const unrelated = formulas.drawnVariance(share, 710, p + (1 - p) * alpha, (1 - p) * alpha);
      const best = formulas.drawnVariance(share, 710, e / (1 + e), 1 / (1 + e));
      return { no, yes, unrelated: 100 * Math.sqrt(unrelated), warner: 100 * Math.sqrt(best), people: 710 * best / unrelated };
    },
    says: (v, { no, yes, unrelated, warner, people }) => `A yes changes the odds ${digits(yes)} times, a no ${digits(no)} times. The standard error is ` +
      `${digits(unrelated)} percentage points; Warner's design with the larger ratio has ${digits(warner)}, so ${many(Math.ceil(people - 1e-9), "people")} would do.`,
    draw(v, { unrelated, warner }) {
      const curve = (key) => CHANCES.map((p) => [p, this.numbers({ ...v, p })[key]]);
      return [`innocuous yes ${percent(v.alpha)}, true share ${percent(v.share)}`, plot({
        x: { label: "probability of the sensitive question", range: [0.1, 0.9], ticks: [0.1, 0.3, 0.5, 0.7, 0.9] },
        y: logarithmic(POINTS, 1, 100), here: v.p,
        lines: [
          { name: "unrelated question", look: LOOKS.CorrRR, value: unrelated, points: curve("unrelated") },
          { name: "Warner, equal ε", look: LOOKS.RR, value: warner, dash: DASHED, points: curve("warner") },
        ],
      })];
    },
  };

  all.real_survey_privacy = {
    about: "Likelihood ratio of a record of two answers against how many innocuous pairs are yes and yes; dashed, the product of the questions' ratios.",
    sliders: [
      slider("alpha", "Innocuous yes, each", [0.05, 0.1, 0.2, 0.3, 0.4, 0.5], 0.1, percent),
      slider("p", "Probability of the sensitive question", CHANCES, 0.5),
      slider("times", "Both yes, independent = 1", [0, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1, 1.2, 1.5, 2], 0.1),
    ],
    numbers({ alpha, p, times }) {
      const odds = p / (1 - p), both = times * alpha ** 2, joint = [[1 - 2 * alpha + both, alpha - both], [alpha - both, both]];
      const ratio = (a, b) => {
        const [first, second] = [a ? alpha : 1 - alpha, b ? alpha : 1 - alpha];
        return 1 + (odds * (first + second) + odds ** 2) / joint[a][b];
      };
      const product = (1 + odds / Math.min(alpha, 1 - alpha)) ** 2;
      const possible = Math.min(joint[0][0], joint[0][1], both) > 1e-12;
      return { product, record: possible ? Math.max(ratio(0, 0), ratio(0, 1), ratio(1, 1)) : null };
    },
    says: (v, { product, record }) => `If the two innocuous answers are independent, the record's ratio is the product ${digits(product)}. ` +
      (record === null ? "Here a pair cannot occur: the ratio is infinite." : `Here both are yes ${digits(v.times)} times as often: it is ${digits(record)}.`),
    draw(v, { product, record }) {
      const curve = along(0.01, 2, 81).map((times) => [times, this.numbers({ ...v, times }).record ?? 1e9]);
      return [`innocuous yes ${percent(v.alpha)} each`, plot({
        left: 84,
        x: { label: "both yes, relative to independence", log: true, range: [0.01, 2], ticks: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2] },
        y: logarithmic("likelihood ratio of the record", 1, 1e5), here: v.times || 0.01,
        lines: [
          { name: "record", look: LOOKS.CorrRR, value: record ?? undefined, points: curve },
          { name: "product of the questions", look: LOOKS.RR, value: product, dash: DASHED, points: [[0.01, product], [2, product]] },
        ],
      })];
    },
  };

  all.noncompliance = {
    about: "What randomized response estimates, on average, against the share of people who do not follow: those who answer at random, and those who always say no.",
    sliders: [epsilon(1, 0.3, 5), slider("share", "True share", CHANCES, 0.3, percent), slider("others", "People who do not follow", [0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3], 0.1, percent)],
    numbers({ epsilon: b, share, others }) {
      const one = Math.exp(b) / Math.expm1(b), mixed = (from) => 100 * ((1 - others) * share + others * from);
      return { careless: mixed(0.5), denying: mixed(1 - one), claiming: mixed(one), inputs: mixed(1) };
    },
    says: (v, { careless, denying, claiming, inputs }) => `${percent(v.others)} who answer at random move the estimate of ${percent(v.share)} to ${digits(careless)}\u00a0%, ` +
      `those who always say no to ${digits(denying).replace("-", "\u2212")}\u00a0%. Fakes reach ${digits(claiming)}\u00a0% if they choose the report, ${digits(inputs)}\u00a0% if only the input.`,
    draw(v, numbers) {
      const looks = { careless: ["at random", LOOKS.OUE], denying: ["always no", LOOKS.CorrRR], claiming: ["always yes", LOOKS.OLH], inputs: ["input yes", LOOKS.RR] };
      return [`true share ${percent(v.share)}, ε = ${v.epsilon}`, plot({
        x: { label: "share of people who do not follow", range: [0, 0.3], ticks: [0, 0.1, 0.2, 0.3] },
        y: { label: "estimate, per cent", range: [-40, 120], ticks: [-40, 0, 40, 80, 120] }, here: v.others,
        lines: Object.entries(looks).map(([key, [name, look]], i) => ({
          name, look, value: numbers[key], dash: i % 2 ? DASHED : "",
          points: [0, 0.3].map((others) => [others, this.numbers({ ...v, others })[key]]),
        })),
      })];
    },
  };

  const SET = [0, 0.1, 0.2, 0.5, 0.7, 1, 1.1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15.5, 16, 16.25, 16.5, 16.75, 17, 17.25, 17.5, 17.75, 18];
  all.browser = {
    about: "The ε that a browser's randomized response realises against the ε that is set: equal up to about 14, then in steps, and none beyond 17.5.",
    sliders: [slider("epsilon", "ε that is set", SET, 1.1), slider("visits", "Reports of one person", [1, 2, 5, 10, 20, 50, 100, 365], 10)],
    numbers({ epsilon: b, visits }) {
      const rate = formulas.browserRate(b), chance = formulas.belowAsFloat(rate);
      const realised = chance > 0 ? Math.log((2 - chance) / chance) : null;
      return { rate, realised, total: chance > 0 ? visits * realised : null };
    },
    says: (v, { rate, realised, total }) => `At ε = ${v.epsilon} noise is applied at a rate of ${rate.toFixed(7)}. ` + (realised === null ?
      "The report is always the truth: no ε holds." : `One report realises ε = ${digits(realised, 4)}, and ${many(v.visits, "reports")} of one person ${digits(total, 4)} together.`),
    draw(v, { realised }) {
      const points = evenly(0, 17.5, 701).map((b) => [b, this.numbers({ epsilon: b, visits: 1 }).realised]).filter(([, y]) => y !== null);
      return [`ε = ${v.epsilon}`, plot({
        x: { label: "ε that is set", range: [0, 18], ticks: [0, 3, 6, 9, 12, 15, 18] },
        y: { label: "ε of one report", range: [0, 20], ticks: [0, 5, 10, 15, 20] }, here: v.epsilon,
        lines: [
          { name: "realised", look: LOOKS.CorrRR, value: realised ?? undefined, points },
          { name: "as set", look: [SOFT], dash: DASHED, points: [[0, 0], [18, 18]] },
        ],
        more: (x, y) => text(x(17.5) - 4, y(1), "no noise beyond 17.5", { anchor: "end", colour: SOFT }),
      })];
    },
  };

  all.repeated = {
    about: "What the reports of many rounds reveal: about the last round's answer, and about all answers, against the number of rounds.",
    sliders: [epsilon(1, 0.1, 4), slider("change", "Probability of a change between rounds", [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5], 0.1, percent), slider("rounds", "Rounds", [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 39, 52], 10)],
    numbers({ epsilon: b, change, rounds }) {
      const now = formulas.lossNow(b, change, rounds);
      return { all: rounds * b, now, limit: formulas.lossEver(b, change) };
    },
    says: (v, { all: total, now, limit }) => `After ${many(v.rounds, "rounds")} at ε = ${v.epsilon} each, the loss about all answers together is ` +
      `${digits(total)}. About the last answer, if it changes with probability ${percent(v.change)}, it is ${digits(now)}, and never above ${digits(limit)}.`,
    draw(v, { all: total, now, limit }) {
      const rounds = range(52).map((i) => i + 1), most = Math.max(4, 3 * limit);
      const ticks = evenly(0, 4, 5).map((i) => Number((i * most / 4).toPrecision(2)));
      return [`ε = ${v.epsilon} a round, change ${percent(v.change)}`, plot({
        x: { label: "rounds", range: [0, 53], ticks: [0, 13, 26, 39, 52] }, y: { label: "loss, as an ε", range: [0, most], ticks }, here: v.rounds,
        lines: [
          { name: "all answers", look: LOOKS.SPL, value: total, points: rounds.map((t) => [t, t * v.epsilon]) },
          { name: "the last answer", look: LOOKS.CorrRR, value: now, points: rounds.map((t) => [t, formulas.lossNow(v.epsilon, v.change, t)]) },
          { name: "its limit", look: [SOFT], dash: DASHED, points: [[0, limit], [53, limit]] },
        ],
      })];
    },
  };

  const start = (name) => Object.fromEntries(all[name].sliders.map(({ name: key, start: value }) => [key, value]));
  return {
    LOOKS, all, start, numbers: (name, v) => all[name].numbers(v), says: (name, v) => all[name].says(v, all[name].numbers(v)),
    picture: (name, v = start(name)) => picture(all[name].about, ...all[name].draw(v, all[name].numbers(v))),
  };
})();
