// The closed forms behind the planner and the chapters' sliders, computed in the page: budgets in, exact errors out.
// They are those of ldp_lib; a test compares the two at hundreds of settings (tests/site/test_site.py).
"use strict";

const formulas = (() => {
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const roundEven = (x) => {
    const below = Math.floor(x), rest = x - below;
    return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
  };
  const clip = (x, low, high) => Math.min(Math.max(x, low), high);

  // One attribute: n times the variance of one user's contribution, summed over the k values (ldp_lib.pure).
  const pure = (k, p, q) => (p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2;
  const grr = (k, b) => {
    const z = Math.expm1(b);
    return (k - 1) * (2 * z + k) / z ** 2;
  };
  const sue = (k, b) => {
    const z = Math.expm1(b / 2);
    return k * (1 + z) / z ** 2;
  };
  const oue = (k, b) => pure(k, 0.5, 1 / (Math.exp(b) + 1));
  const olh = (k, b) => {
    const e = Math.exp(b), h = Math.max(Math.floor(e), 1), g = e * e * (1 - 1e-12) > h * (h + 1) ? h + 2 : h + 1;
    return pure(k, e / (e + g - 1), 1 / g);
  };
  // Subset selection: `spread` is the error of users drawn from the uniform law, 1 - 1/k more than that of fixed data.
  const spread = (e, k, size) => (k - 1) ** 2 * (k / (e - 1) + size) ** 2 / (k * size * (k - size));
  const subsetSize = (e, k) => {
    const below = Math.floor(k / (e + 1));
    if (below < 1) return 1;
    return below === k - 1 || spread(e, k, below) <= spread(e, k, below + 1) * (1 + 1e-12) ? below : below + 1;
  };
  const subset = (k, b) => {
    const e = Math.exp(b);
    return spread(e, k, subsetSize(e, k)) - 1 + 1 / k;
  };

  // The shares of n people spread evenly over k values, to whole people: the sum of their squares.
  function evenSquares(k, n) {
    const each = Math.floor(1 / k * n), more = n - k * each;
    return (more * (each + 1) ** 2 + (k - more) * each ** 2) / n / n;
  }

  // Sizes of groups, planned sizes rounded down or up at random, and their chances (ldp_lib.sampled.assignment).
  function groupSizes(expected) {
    const steps = [];
    expected.reduce((total, x, i) => (steps[i] = total + x), 0);
    steps[steps.length - 1] = roundEven(steps[steps.length - 1]);
    const ends = [...new Set([0, ...steps.map((s) => (1 - s % 1) % 1), 1])].sort((a, b) => a - b);
    return range(ends.length - 1).map((i) => {
      const middle = (ends[i] + ends[i + 1]) / 2, reached = steps.map((s) => Math.floor(s + middle));
      return { chance: ends[i + 1] - ends[i], sizes: reached.map((r, j) => r - (j ? reached[j - 1] : 0)) };
    });
  }

  // The total variance of one attribute's estimate, for fixed data, if users are dealt to questions in groups.
  function dealt(k, n, groups, expected, concern, noise, pull) {
    const squares = evenSquares(k, n), counted = Math.max(...concern.map((c) => expected[c])) >= 1;
    let total = 0;
    for (const { chance, sizes } of groups) {
      let one = 0, two = 0, own = 0;
      concern.forEach((c, i) => {
        one += sizes[c] * pull[i];
        two += sizes[c] * pull[i] ** 2;
        own += sizes[c] * pull[i] ** 2 * noise[i];
      });
      const by = counted ? Math.max(one, Math.min(...pull)) : sum(concern.map((c, i) => expected[c] * pull[i]));
      const others = (two - one ** 2 / n) * n / Math.max(n - 1, 1);
      total += chance * (own + others * (1 - squares)) / by ** 2;
      total += chance * (one / by - 1) ** 2 * (squares - 1 / k);
    }
    return total;
  }

  function oneQuestion(k, b, n) {
    const e = Math.exp(b), sizes = k.map((size) => subsetSize(e, size));
    const roots = k.map((size, j) => Math.sqrt(spread(e, size, sizes[j])));
    const expected = roots.map((root) => n * root / sum(roots)), groups = groupSizes(expected);
    return sum(k.map((size, j) => dealt(size, n, groups, expected, [j], [subset(size, b)], [1])));
  }

  // Asking some attributes together: the search for sizes, weights and number (ldp_lib.sampled.design).
  function questions(d, m) {
    const found = [];
    const extend = (chosen, from) => {
      if (chosen.length === m) found.push(chosen);
      else for (let j = from; j < d; j++) extend([...chosen, j], j + 1);
    };
    extend([], 0);
    return found;
  }
  const keepOf = (e, k, asked, sizes) => asked.map((question) => {
    const odds = (e - 1) * question.reduce((share, j) => share * (sizes[j] / k[j]), 1);
    return odds / (1 + odds);
  });
  const endOf = (k, sizes) => k.map((size, j) => sizes[j] * (size - 1) ** 2 / (size * (size - sizes[j])));

  // The same for each part: an attribute, or a pair of them.
  const endsOf = (k, sizes, parts) => {
    const own = endOf(k, sizes);
    return parts.map((part) => part.reduce((a, j) => a * own[j], 1));
  };
  // Which parts each question holds.
  const holds = (asked, parts) => asked.map((question) =>
    range(parts.length).filter((i) => parts[i].every((j) => question.includes(j))));

  // What all reports about each part weigh.
  function pulls(held, count, keep, weights) {
    const total = new Float64Array(count);
    for (let i = 0; i < held.length; i++) {
      const pull = weights[i] * keep[i] ** 2;
      for (const j of held[i]) total[j] += pull;
    }
    return total;
  }
  function bestWeights(ends, held, keep, rounds) {
    const slope = new Float64Array(ends.length), weights = new Float64Array(held.length).fill(1 / held.length);
    for (let round = 0; round < rounds; round++) {
      const pull = pulls(held, ends.length, keep, weights);
      for (let j = 0; j < ends.length; j++) slope[j] = ends[j] / pull[j] ** 2;
      let total = 0;
      for (let i = 0; i < held.length; i++) {
        let slopes = 0;
        for (const j of held[i]) slopes += slope[j];
        weights[i] *= keep[i] * Math.sqrt(slopes);
        total += weights[i];
      }
      for (let i = 0; i < held.length; i++) weights[i] /= total;
    }
    return weights;
  }
  // The first of those that are least to within rounding.
  function least(errors) {
    const most = Math.min(...errors) * (1 + 1e-9);
    return errors.findIndex((error) => error <= most);
  }
  function bestSizes(e, k, asked, parts, held, known) {
    const equal = k.every((size) => size === k[0]), pairs = parts[0].length > 1;
    const errorOf = (sizes, rounds) => {
      const keep = keepOf(e, k, asked, sizes), ends = endsOf(k, sizes, parts);
      const pull = pulls(held, parts.length, keep, bestWeights(ends, held, keep, rounds));
      return sum(ends.map((end, j) => end / pull[j]));
    };
    const starts = new Map();
    for (const i of range(equal ? k[0] - 1 : 90)) {
      const share = i < 89 ? 0.01 + i * ((0.9 - 0.01) / 89) : 0.9;
      const sizes = k.map((size) => (equal ? i + 1 : clip(roundEven(share * size), 1, size - 1)));
      starts.set(sizes.join(), sizes);
    }
    const first = (a, b) => a.findIndex((s, j) => s !== b[j]);
    const all = [...starts.values()].sort((a, b) => a[first(a, b)] - b[first(a, b)]);
    const tried = all.map((start) => errorOf(start, equal && !pairs ? 0 : 50));
    let sizes = all[least(tried)];
    for (; (pairs || !equal) && Math.min(...tried) < 2 * known;) {
      const steps = [1, -1].flatMap((step) => k.map((_, j) =>
        sizes.map((s, i) => (i === j ? clip(s + step, 1, k[i] - 1) : s))));
      const around = [sizes, ...steps], errors = around.map((one) => errorOf(one, 100));
      if (Math.min(...errors) >= errors[0] * (1 - 1e-9)) break;
      sizes = around[least(errors)];
    }
    return sizes;
  }
  function design(e, k, m, together, known) {
    const asked = questions(k.length, m), parts = questions(k.length, together), held = holds(asked, parts);
    const sizes = bestSizes(e, k, asked, parts, held, known), keep = keepOf(e, k, asked, sizes), ends = endsOf(k, sizes, parts);
    let weights = Array.from(bestWeights(ends, held, keep, 500), (w) => roundEven(w * 1e6) / 1e6);
    const total = sum(weights);
    weights = weights.map((w) => w / total);
    const pull = pulls(held, parts.length, keep, weights);
    return { error: sum(ends.map((end, j) => end / pull[j])), m, asked, sizes, keep, weights };
  }
  const designs = new Map();
  function remembered(key, make) {
    if (!designs.has(key)) {
      if (designs.size > 50) designs.clear();
      designs.set(key, make());
    }
    return designs.get(key);
  }
  // Designs for each number of questions from `together` on; one that is far above the least before it is not searched further.
  function allDesigns(k, b, together) {
    const found = [];
    for (let m = together; m <= k.length; m++) {
      found.push(design(Math.exp(b), k, m, together, Math.min(Infinity, ...found.map(({ error }) => error))));
    }
    return found;
  }
  const bestDesign = (k, b) => remembered(`${k.join()};${b}`, () => {
    const all = allDesigns(k, b, 1);
    return all[least(all.map(({ error }) => error))];
  });
  function askSome(k, b, n) {
    const { asked, sizes, keep, weights } = bestDesign(k, b);
    const expected = weights.map((w) => n * w), groups = groupSizes(expected);
    return sum(k.map((size, j) => {
      const concern = range(asked.length).filter((i) => asked[i].includes(j)), share = sizes[j] / size;
      const noise = concern.map((i) => {
        const q = keep[i] * (sizes[j] - 1) / (size - 1) + (1 - keep[i]) * share;
        return pure(size, keep[i] + (1 - keep[i]) * share, q);
      });
      return dealt(size, n, groups, expected, concern, noise, concern.map((i) => keep[i] ** 2));
    }));
  }

  // Budgets of least total error: all attributes have the same marginal error, found by halving (ldp_lib.allocation).
  function shares(k, b, budgetAt, marginalAt) {
    if (k.every((size) => size === k[0])) return k.map(() => b / k.length);
    const halve = (low, high, rises, target) => {
      for (let i = 0; i < 200 && low < high; i++) {
        const middle = (low + high) / 2;
        if (middle === low || middle === high) break;
        if (rises(middle) < target) low = middle;
        else high = middle;
      }
      return (low + high) / 2;
    };
    const budgets = (mu) => k.map((size) => budgetAt(Math.exp(halve(-80, 80, (v) => marginalAt(Math.exp(v), size), mu))));
    return budgets(halve(-150, 150, (mu) => -sum(budgets(mu)), -b));
  }
  const brrShares = (k, b) => shares(
    k, b, (u) => 4 * Math.asinh(1 / Math.sqrt(u)), (u, size) => Math.log(size / 8 * u * Math.sqrt(1 + u)));
  const mrrShares = (k, b) => shares(
    k, b, (u) => Math.log1p(1 / u), (u, size) => Math.log(2 * (size - 1) * u * (1 + u) * (1 + size * u)));

  // Randomized response on the cells of a cluster: each attribute's own value is kept, or drawn uniformly.
  function clustered(k, budget) {
    const z = Math.expm1(budget), keep = z / (z + k.reduce((a, b) => a * b, 1));
    return sum(k.map((size) => {
      const q = (1 - keep) / size, p = keep + q;
      return (p * (1 - p) + (size - 1) * q * (1 - q)) / keep ** 2;
    }));
  }
  function neighbours(k) {
    const clusters = [];
    let cells = Infinity;
    k.forEach((size, j) => {
      if (cells * size <= 50) clusters[clusters.length - 1].push(j);
      else clusters.push([j]);
      cells = clusters[clusters.length - 1].reduce((a, i) => a * k[i], 1);
    });
    return clusters;
  }

  // Each family of mechanisms: names (all with the same error), chapter, and total error from sizes, budget and users.
  const ONE = [
    { names: ["RR", "GRR"], chapter: "randomized_response", serves: (k) => k === 2, error: (k, b, n) => grr(k, b) / n },
    { names: ["GRR"], chapter: "randomized_response", serves: (k) => k > 2, error: (k, b, n) => grr(k, b) / n },
    { names: ["SUE"], chapter: "frequency_oracles", error: (k, b, n) => sue(k, b) / n },
    { names: ["OUE", "UnaryEncoding"], chapter: "frequency_oracles", error: (k, b, n) => oue(k, b) / n },
    { names: ["OLH"], chapter: "frequency_oracles", error: (k, b, n) => olh(k, b) / n },
    { names: ["SubsetSelection"], chapter: "subset_selection", error: (k, b, n) => subset(k, b) / n },
  ];
  const SEVERAL = [
    { names: ["OneQuestion"], chapter: "attribute_sampling", error: oneQuestion },
    { names: ["AskSome"], chapter: "attribute_sampling", error: askSome },
    {
      names: ["RSFD", "RSRFD"], chapter: "fake_data",
      error: (k, b, n) => sum(k.map((size) => {
        const e = Math.exp(b), fake = (k.length - 1) / size;
        return pure(size, (e / (e + size - 1) + fake) / k.length, (1 / (e + size - 1) + fake) / k.length);
      })) / n,
    },
    {
      names: ["SPL", "MRR"], chapter: "budget_splitting",
      error: (k, b, n) => sum(k.map((size) => grr(size, b / k.length))) / n,
    },
    {
      names: ["OMRR", "RRIndependent", "ProductRR"], chapter: "budget_splitting",
      error: (k, b, n) => { const own = mrrShares(k, b); return sum(k.map((size, j) => grr(size, own[j]))) / n; },
    },
    {
      names: ["BRR"], chapter: "budget_splitting",
      error: (k, b, n) => sum(k.map((size) => sue(size, b / k.length))) / n,
    },
    {
      names: ["OBRR"], chapter: "budget_splitting",
      error: (k, b, n) => { const own = brrShares(k, b); return sum(k.map((size, j) => sue(size, own[j]))) / n; },
    },
    {
      names: ["RRClusters"], chapter: "audit_multidim",
      error: (k, b, n) => {
        const own = mrrShares(k, b);
        return sum(neighbours(k).map((c) => clustered(c.map((j) => k[j]), sum(c.map((j) => own[j]))))) / n;
      },
    },
    { names: ["RRJoint"], chapter: "audit_multidim", error: (k, b, n) => clustered(k, b) / n },
  ];

  // Tables of every two attributes (ldp_lib.survey.planner.pairs_error), at even tables. `drawing` is what is not the coins'.
  const pairsOf = (k) => questions(k.length, 2).map(([i, j]) => [k[i], k[j]]);
  const drawing = (cells) => sum(cells.map((size) => 1 - 1 / size));
  const cellsOf = (k) => pairsOf(k).map(([a, b]) => a * b);
  const truthful = (k, b) => Math.expm1(b) / (Math.expm1(b) + k);
  const inverseSquares = (k, keep) => 1 + (k - 1) / keep ** 2; // of a matrix that keeps, or draws evenly
  // The parts of tables that renaming values keeps apart: single attributes, then pairs (ldp_lib.limit.pair_tables.spaces).
  const spaces = (k) => [
    ...k.map((size, j) => ({
      of: [j], square: (size - 1) ** 2 / size * sum(k.map((other, i) => (i === j ? 0 : 1 / other))),
    })),
    ...questions(k.length, 2).map((of) => ({ of, square: of.reduce((a, j) => a * (k[j] - 1) ** 2 / k[j], 1) })),
  ];
  // Two or more questions together, as many as have the least error.
  const askPairs = (k, b) => remembered(`tables ${k.join()};${b}`, () => Math.min(...allDesigns(k, b, 2).map((found) => {
    const { asked, sizes, keep, weights } = found, odds = sizes.map((s, j) => k[j] / s - 1);
    return sum(spaces(k).map(({ of, square }) => {
      const concern = range(asked.length).filter((q) => of.every((j) => asked[q].includes(j)));
      const inform = sum(concern.map((q) => weights[q] * keep[q] ** 2));
      return square / (inform * of.reduce((a, j) => a * odds[j], 1));
    })) - drawing(cellsOf(k));
  })));
  const TABLES = [
    { names: ["AskSome"], chapter: "pair_tables", error: (k, b, n) => askPairs(k, b) / n },
    {
      names: ["RRIndependent"], chapter: "audit_multidim",
      error: (k, b, n) => {
        const own = mrrShares(k, b).map((share, j) => inverseSquares(k[j], truthful(k[j], share)) / k[j]);
        return sum(pairsOf(own).map(([one, other]) => one * other - 1)) / n;
      },
    },
    {
      names: ["RRJoint"], chapter: "audit_multidim",
      error: (k, b, n) => {
        const keep = truthful(k.reduce((x, y) => x * y, 1), b);
        return sum(cellsOf(k).map((cells) => inverseSquares(cells, keep) / cells - 1)) / n;
      },
    },
  ];
  const RECORDS = ["RRIndependent", "ProductRR", "RRClusters", "RRJoint"];

  // What no unbiased mechanism's error is below (ldp_lib.limit.closed_forms).
  function limit({ k, epsilon, n, wants }) {
    const e = Math.exp(epsilon), tables = wants === "tables", cells = tables ? cellsOf(k) : k;
    const alone = cells.map((size) => spread(e, size, subsetSize(e, size)));
    if (!tables && k.every((size) => size === k[0]) && epsilon <= Math.log(1 + k[0] * (2 * k[0] - 3)) + 1e-12) {
      return (k.length ** 2 * alone[0] - drawing(cells)) / n;
    }
    const roots = tables ? spaces(k).map(({ square }) => Math.sqrt(square)) : k.map((size) => (size - 1) / Math.sqrt(size));
    return (Math.max((sum(roots) / Math.sinh(epsilon / 2)) ** 2, sum(alone)) - drawing(cells)) / n;
  }

  function compared(k, wants) {
    if (wants === "tables") return TABLES;
    if (k.length === 1) return ONE.filter((family) => !family.serves || family.serves(k[0]));
    if (wants !== "records") return SEVERAL;
    const whole = SEVERAL.map((family) => ({ ...family, names: family.names.filter((name) => RECORDS.includes(name)) }));
    return whole.filter((family) => family.names.length);
  }

  // All mechanisms with their total mean squared error, the least first; equal ones stay in the order above. What is
  // wanted: "frequencies" of each attribute, these from "records", or the "tables" of every two attributes.
  // If the people are a random sample of many more, drawing them adds its variance (planner.errors, sampling).
  function errors({ k, epsilon, n, wants = "frequencies", sampling = false }) {
    const drawn = sampling ? sum((wants === "tables" ? cellsOf(k) : k).map((size) => 1 - 1 / size)) / n : 0;
    const rows = compared(k, wants).map(({ names, chapter, error }) =>
      ({ names, chapter, error: error(k.length > 1 ? k : k[0], epsilon, n) + drawn }));
    const first = rows[least(rows.map((row) => row.error))];
    return [first, ...rows.filter((row) => row !== first).sort((a, b) => a.error - b.error)];
  }

  // The root mean squared error of one share or cell, in points, and a budget that reaches it, the least to 1 part in
  // 1,000 (but for some tables), or NaN if none from 0.001 to 20 does (planner.required_budget).
  function points(wish) {
    const cells = sum(wish.wants === "tables" ? cellsOf(wish.k) : wish.k);
    return 100 * Math.sqrt(errors(wish)[0].error / cells);
  }
  function budget({ target, ...wish }) {
    let low = 1e-3, high = 20;
    if (!(target > 0) || points({ ...wish, epsilon: high }) > target) return NaN;
    while (high > 1.001 * low) {
      const middle = Math.sqrt(low * high);
      if (points({ ...wish, epsilon: middle }) <= target) high = middle;
      else low = middle;
    }
    return high;
  }

  // The chapters' own. Each is a function of ldp_lib by the name in brackets, for numbers.
  const variance = (f, n, p, q) => (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2); // pure.variance
  const drawnVariance = (f, n, p, q) => variance(f, n, p, q) + f * (1 - f) / n; // pure.iid_variance
  const coin = (k, b) => [Math.exp(b), 1].map((odds) => odds / (Math.exp(b) + k - 1)); // grr.probabilities
  const inverse = (k, b) => [(Math.exp(b) + k - 2) / Math.expm1(b), -1 / Math.expm1(b)]; // grr.inverse, its entries
  const sizeErrors = (k, b) => range(k - 1).map((s) => spread(Math.exp(b), k, s + 1)); // subset.error
  const splitError = (k, budgets) => sum(k.map((size, j) => sue(size, budgets[j]))); // allocation.brr_error
  // A report among d, of which one is real (fake_data.probabilities).
  const amongFakes = (k, d, b) => coin(k, b).map((chance) => (chance + (d - 1) / k) / d);

  // The error of copies of a yes-or-no answer, summed over both values (corr_rr.expectation, corr_rr.iid_variance).
  function copyError({ own, pivot, copied, n, b }) {
    const [p, q] = coin(2, b), t = 2 * copied - 1, mean = (own + t * pivot + (1 - t) / 2) / 2;
    const report = q + (p - q) * mean;
    return 2 * ((mean - own) ** 2 + report * (1 - report) / (n * (p - q) ** 2));
  }
  const bestCopies = ({ own, pivot, n }) => { // corr_rr.minimizer
    const t = (n + 1) / (n - 1) * (own - 0.5) / (pivot - 0.5);
    return (1 + t) / 2;
  };
  // Two people's coins (jrr.variance for two answers and even n; jrr.corner).
  function pairVariance(holders, n, p, rho) {
    const q = 1 - p, excess = (2 * holders - n) ** 2 - n;
    return p * q * (n + rho * excess / (n - 1)) / (p - q) ** 2;
  }
  const corner = (p, c) => (p - c) / (1 - c);

  // A browser's rate of noise, and the probability that 53 random bits, stored as a 32-bit float, are below it (leakage.below_as_float32).
  const browserRate = (b) => Math.round(2 / (1 + Math.exp(clip(b, 0, 18))) * 1e7) / 1e7;
  function belowAsFloat(rate) {
    if (rate === 0) return 0;
    const bits = new Uint32Array(1), float = new Float32Array(bits.buffer);
    float[0] = rate;
    if (float[0] >= rate) bits[0] -= 1;
    const odd = bits[0] % 2, largest = float[0];
    bits[0] += 1;
    const middle = (largest + float[0]) / 2 * 2 ** 53, count = Math.floor(middle) + 1;
    return (count - (Number.isInteger(middle) && odd ? 1 : 0)) / 2 ** 53;
  }
  // The same question in every round (repeated.ratio_now, repeated.ratio_ever).
  function lossNow(b, change, rounds) {
    let ratio = Math.exp(b);
    for (let t = 1; t < rounds; t++) ratio = Math.exp(b) * ((1 - change) * ratio + change) / (change * ratio + 1 - change);
    return Math.log(ratio);
  }
  function lossEver(b, change) {
    const e = Math.exp(b), lead = (1 - change) * (e - 1);
    return Math.log((lead + Math.sqrt(lead * lead + 4 * e * change ** 2)) / (2 * change));
  }

  return {
    amongFakes, askSome, belowAsFloat, bestCopies, bestDesign, browserRate, brrShares, budget, clip, coin, copyError, corner, drawnVariance, errors, grr,
    inverse, limit, lossEver, lossNow, olh, oneQuestion, oue, pairVariance, points, range, sizeErrors, splitError, subset, subsetSize, sue, sum, variance,
  };
})();
