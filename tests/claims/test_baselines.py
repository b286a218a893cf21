"""What the papers say of the mechanisms they compare with: what is only bookkeeping; the rest is in audit_baselines.

GRR, two values, unary encoding, splitting the budget (SPL), and fakes (RS+FD, RS+RFD).
"""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import sympy as sp

from ldp_lib import channel, check, corr_rr, fake_data, grr, hashing, postprocess, pure, splitting, unary
from ldp_lib.book.claims import claim
from ldp_lib.corr_rr import tree_law
from ldp_lib.datasets import load_adult
from ldp_lib.fake_data import RSFD, RSRFD
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.splitting import SPL

PEOPLE = load_adult().select("race", "sex", "income")
USERS = np.random.default_rng(1).permutation(PEOPLE.users())
SHARES = (0.05, 0.1, 0.2, 0.5)
E, N, K, D, EPS = sp.symbols("e n k d epsilon", positive=True)
F = sp.symbols("f", nonnegative=True)
P, Q = grr.probabilities(E, K)
BINARY = list(itertools.product((0, 1), repeat=2))


def test_two_demands_leave_no_other_probabilities_than_those_of_randomized_response():
    own, other = sp.symbols("a b", positive=True)
    (only,) = sp.solve([sp.Eq(own + (K - 1) * other, 1), sp.Eq(own / other, E)], [own, other], dict=True)
    printed = E / (E + K - 1), 1 / (E + K - 1)
    as_printed = [sp.cancel(only[x] - y) for x, y in zip((own, other), printed, strict=True)]
    as_shipped = [sp.cancel(only[x] - y) for x, y in zip((own, other), (P, Q), strict=True)]
    claim("corr-rr-v1/eq-grr").holds(as_printed == as_shipped == [0, 0])
    claim("corr-rr-v2/eq-grr").holds(as_shipped == [0, 0])


def test_the_debiased_count_is_the_only_unbiased_estimate_that_is_a_function_of_the_count():
    count = N * F * P + N * (1 - F) * Q  # expected: holders and others support the value with p and q
    printed = (sp.Symbol("c") / N - Q) / (P - Q)
    slope, shift = sp.symbols("s t")
    (only,) = sp.solve(sp.Poly(slope * count + shift - F, F).all_coeffs(), [slope, shift], dict=True)
    unbiased = sp.cancel(printed.subs("c", count)) == F
    shipped = sp.cancel(printed - pure.estimate(sp.Symbol("c"), N, P, Q)) == 0
    assert sp.factor((P - Q) * (E + K - 1)) == E - 1  # so p = q at a budget of 0, and there only
    claim("corr-rr-v1/eq-grr-estimator").holds(unbiased, shipped)
    # Nor is there another that is not linear: the laws of the count for h of n holders have the generating functions
    # u^h v^(n-h), which span all n+1 powers of z, as u and v span 1 and z. So n+1 means determine n+1 estimates.
    p, q, z = sp.symbols("p q z")
    u, v = 1 - p + p * z, 1 - q + q * z
    single = sp.expand(p * v - q * u - (p - q)) == 0 == sp.expand((1 - q) * u - (1 - p) * v - (p - q) * z)
    claim("corr-rr-v2/eq-grr-estimator").holds(
        unbiased, sp.cancel(only[slope] * sp.Symbol("c") + only[shift] - printed) == 0, single
    )


def exact_variance(share):
    """The variance of an estimated share by definition: independent coins with p for holders and q for others."""
    return (N * share * P * (1 - P) + N * (1 - share) * Q * (1 - Q)) / (N * (P - Q)) ** 2


def test_the_variance_of_a_given_share_is_linear_in_the_number_of_values():
    assert sp.cancel(exact_variance(F) - pure.variance(F, N, P, Q)) == 0
    slope = sp.factor(sp.diff(sp.cancel(exact_variance(F)), K))
    printed_slope = sp.factor(sp.diff((E + K - 2) / (N * (E - 1) ** 2), K))
    agree = sp.cancel(slope.subs(F, 0) - printed_slope) == sp.cancel(slope - printed_slope * (1 + F * (E - 1))) == 0
    claim("corr-rr-v1/sent-grr-linear-k").holds(K not in slope.free_symbols, agree)
    claim("corr-rr-v2/sent-grr-linear-k").holds(K not in slope.free_symbols, agree)


def test_the_revised_variance_is_lost():
    claim("corr-rr-v2/eq-grr-variance").not_checkable(
        "The formula is missing from our text of the revised paper. If it is the first version's, it is conditional "
        "as there; the exact variance would hold."
    )


def test_users_drawn_at_random_add_the_error_of_sampling():
    lam = F * P + (1 - F) * Q
    drawn = N * lam * (1 - lam) / (N * (P - Q)) ** 2
    assert sp.cancel(drawn - exact_variance(F) - F * (1 - F) / N) == 0
    assert sp.cancel(drawn - pure.iid_variance(F, N, P, Q)) == 0


def test_two_values_as_the_jrr_paper_counts_them():
    p, holders, reports = sp.symbols("p n_v I_v")
    q = 1 - p
    printed = (reports - N * q) / (p - q)
    expected = holders * p + (N - holders) * q
    spread = holders * p * (1 - p) + (N - holders) * q * (1 - q)
    # By listing all reports of three users, the first ones hold v; then with each holding v with probability f.
    rows, listed, t, f = grr.channel(Fraction(4), 2), {}, Fraction(4, 5), Fraction(3, 10)
    for c in range(4):
        law = {}
        for y in itertools.product((0, 1), repeat=3):
            value = (sum(y) - 3 * (1 - t)) / (2 * t - 1)
            law[value] = law.get(value, 0) + math.prod(rows[int(j < c)][v] for j, v in enumerate(y))
        listed[c] = [sum(chance * v**power for v, chance in law.items()) for power in (1, 2)]
    noise = 3 * t * (1 - t) / (2 * t - 1) ** 2
    weights = {c: math.comb(3, c) * f**c * (1 - f) ** (3 - c) for c in listed}
    drawn = sum(weights[c] * second for c, (_, second) in listed.items()) - (3 * f) ** 2
    claim("jrr/eq-2").holds(
        sp.cancel(printed.subs(reports, expected) - holders) == 0, all(first == c for c, (first, _) in listed.items())
    )
    claim("jrr/eq-3").holds(
        sp.cancel(spread / (p - q) ** 2 - N * p * q / (p - q) ** 2) == 0,
        sp.cancel(N**2 * pure.variance(holders / N, N, p, q) - N * p * q / (p - q) ** 2) == 0,
        all(second - first**2 == noise for first, second in listed.values()),
        drawn == noise + 3 * f * (1 - f),
    )


def test_optimized_unary_encoding_is_bits_with_two_coins_of_the_stated_ratio():
    # The sentence, written out: each bit is 1 with p if it is the user's own and with q if not, all independent.
    e, k = Fraction(4), 3
    p, q = unary.oue_probabilities(e)
    law = [
        [
            math.prod((p if v == x else q) if y >> v & 1 else 1 - (p if v == x else q) for v in range(k))
            for y in range(2**k)
        ]
        for x in range(k)
    ]
    claim("jrr/sec-4.6.2-oue-def").holds(
        channel.privacy_ratio(law) == e,
        (np.array(law) == unary.channel(p, q, k)).all(),
        p != 1 - q,  # two different coins
        all(
            unary.oue_probabilities(v) == (Fraction(1, 2), 1 / (v + 1))
            and channel.privacy_ratio(unary.channel(*unary.oue_probabilities(v), k)) == v
            for v in map(Fraction, ("11/10", "3", "20"))
        ),
    )
    p, q = unary.sue_probabilities(Fraction(2))
    assert p == 1 - q  # with one coin for ones and zeros the mechanism is SUE


def test_the_best_noise_of_bits_depends_on_the_share_and_on_the_number_of_values():
    s = sp.symbols("s", positive=True)
    scaled = sp.expand(sp.cancel(pure.variance(F, N, *unary.probabilities(E, s / (1 + s))) * N * (E - 1) ** 2))
    a, b = E * F + 1 - F, E * F + E**2 * (1 - F)
    assert sp.cancel(scaled - (a / s + 2 * E + b * s)) == 0  # least at s^2 = a / b
    square = sp.simplify((a / b).subs(F, 1 / K))  # for the total over all values
    assert sp.cancel(square - (E + K - 1) / (E * (1 + (K - 1) * E))) == 0
    assert sp.cancel((a / b).subs(F, 0) - 1 / E**2) == 0  # OUE: q = 1 / (e + 1)
    assert sp.cancel((a / b).subs(F, sp.Rational(1, 2)) - 1 / E) == 0  # SUE: q = 1 / (sqrt(e) + 1)
    assert sp.limit(square, K, sp.oo) == 1 / E**2
    assert sp.cancel(square.subs(K, 2) - 1 / E) == 0


def test_where_bits_beat_the_plain_answer_the_usual_bits_are_nearly_best():
    def total(values, e, q):
        return values * pure.variance(1 / values, 1, *unary.probabilities(e, q))

    e, values = np.meshgrid(np.exp(np.linspace(0.1, 6, 60)), np.arange(2, 2_000))
    odds = np.sqrt((e + values - 1) / (e * (1 + (values - 1) * e)))
    best, usual = total(values, e, odds / (1 + odds)), total(values, e, 1 / (e + 1))
    plain = values * pure.variance(1 / values, 1, *grr.probabilities(e, values))
    assert 1.005 < (usual / best)[usual < plain].max() < 1.01


def test_from_how_many_values_on_bits_have_less_total_error():
    total_grr = sp.cancel(K * pure.variance(1 / K, N, P, Q) * N * (E - 1) ** 2)
    total_oue = sp.cancel(K * pure.variance(1 / K, N, *unary.oue_probabilities(E)) * N * (E - 1) ** 2)
    crossing = max(sp.solve(sp.expand(total_grr - total_oue), K), key=lambda root: root.subs(E, 3))
    assert sp.simplify(crossing - (E + sp.Rational(3, 2) + sp.sqrt(8 * E**2 + 12 * E + 5) / 2)) == 0
    assert sp.limit(crossing / E, E, sp.oo) == 1 + sp.sqrt(2)


def test_hashes_that_are_independent_in_pairs_only_support_values_in_clusters():
    rng = np.random.default_rng(3)
    g, wide = hashing.optimal_g(math.exp(3)), np.arange(64, dtype=np.uint64)[:, None]
    a, b = rng.integers(2**64, size=(2, 50_000), dtype=np.uint64)
    cheap = (((a * wide + b) >> 32) * g) >> 32
    seed = hashing._draw_seeds(50_000, rng)
    shipped = np.stack([hashing.hash_values(seed, v, g) for v in range(64)])
    independent = 63 / g * (1 - 1 / g)
    check.close((shipped[1:] == shipped[0]).sum(axis=0), variance=independent, foil=1.5 * independent)
    assert check.variance_z((cheap[1:] == cheap[0]).sum(axis=0), 1.5 * independent) > 5


def test_the_target_is_the_share_among_these_users():
    sizes, users = (2, 3), [(0, 0), (0, 2), (1, 2)]
    words = list(itertools.product(*map(range, sizes)))
    cells = [(j, v) for j in (0, 1) for v in range(sizes[j])]
    root = Fraction(3, 2)

    def estimates(reports):
        counts = [Fraction(sum(words[y][j] == v for y in reports)) for j, v in cells]
        pairs = [grr.probabilities(root, sizes[j]) for j, _ in cells]
        return [pure.estimate(c, 3, *x) for c, x in zip(counts, pairs, strict=True)]

    people = splitting.channel(root, sizes), [words.index(x) for x in users]
    mean, covariance = channel.exact_moments(*people, estimates)
    shares = [Fraction(sum(x[j] == v for x in users), 3) for j, v in cells]
    in_library = np.hstack(marginal_frequencies(Population.from_records(np.array(users), k=sizes))).tolist()
    claim("corr-rr-v1/def-freq").holds(in_library == [float(share) for share in shares])
    claim("corr-rr-v2/def-freq").holds(list(mean) == shares)
    clipped, _ = channel.exact_moments(*people, lambda y: [min(max(v, 0), 1) for v in estimates(y)])
    assert list(clipped) != shares  # cut off, estimates are biased with no fakes, too
    assert (covariance[:2, 2:] == 0).all()  # estimates of different attributes are independent


def test_a_split_budget_costs_the_square_of_the_number_of_attributes():
    scaled = N * pure.variance(F, N, *grr.probabilities(sp.exp(EPS / D), K))
    leading = sp.limit(sp.simplify(scaled * EPS**2), EPS, 0)
    at_one = [float(scaled.subs({EPS: 1, K: 4, D: d, F: 0})) / d**2 for d in range(1, 9)]
    claim("corr-rr-v1/sent-spl-budget").holds(
        sp.expand(leading - D**2 * (K - 1)) == 0, bool((np.diff(at_one) > 0).all())
    )
    claim("corr-rr-v2/sent-spl-growth").not_checkable(
        "The rate is lost in our text; its words determine neither it nor whether the error is a variance. The exact "
        r"variance is about $d^2(k-1)/(n\epsilon^2)$ for small budgets."
    )
    # Asked about one attribute each, people cost a factor of d: what splitting is compared with.
    alone = N * pure.variance(F, N, P / D, Q / D)
    assert sp.expand(sp.limit(sp.cancel(alone * (E - 1) ** 2), E, 1) - (D * K - 1)) == 0


def test_a_constant_fake_has_2d_minus_1_over_d_squared_of_the_error_of_uniform_ones():
    lam = F * P / D + (1 - F) * Q / D + (1 - 1 / D) * sp.Symbol("prior")
    s, r = fake_data.probabilities(E, K, D, sp.Symbol("prior"))
    by_share = (lam * (1 - lam) * D**2 / (P - Q) ** 2 - F * (1 - F)) / N
    assert sp.cancel(by_share - pure.variance(F, N, s, r)) == 0
    # True priors take the reports' shares farther from 1/k than uniform ones, in proportion to f - 1/k, so they have
    # less total error unless the frequencies are uniform, and then the same.
    away = [lam.subs(sp.Symbol("prior"), prior) - 1 / K for prior in (F, 1 / K)]
    stated = [(P - Q + more) / D * (F - 1 / K) for more in (D - 1, 0)]
    assert [sp.cancel(x - y) for x, y in zip(away, stated, strict=True)] == [0, 0]
    # At a small budget the reports' shares tend to (1/k + (d-1) prior) / d, whatever the truth is.
    at_constant = ((1 / K + D - 1) / D) ** 2 + (K - 1) * (1 / (K * D)) ** 2
    assert sp.cancel((1 - at_constant) / (1 - 1 / K) - (2 * D - 1) / D**2) == 0


def test_the_amplified_budget_in_symbols_and_in_reports():
    h = sp.symbols("h", positive=True)
    big = fake_data.amplified(E, D)
    q = grr.probabilities(big, K)[1]
    a, b = h * q * K, (D - h) * q * K
    assert sp.cancel(1 + (big - 1) * a / (a + b) - (1 + h * (E - 1))) == 0  # h of d attributes differ, uniform fakes
    rng, mechanism = np.random.default_rng(1), RSFD(k=(2, 2), epsilon=math.log(3))
    reports = [mechanism.perturb(np.full((200_000, 2), value), rng=rng) for value in (0, 1)]
    hits = [(y == 0).all(axis=1).astype(float) for y in reports]
    check.close(hits[0], mean=3 / 8, foil=1.1 * 3 / 8)
    check.close(hits[1], mean=1 / 8, foil=1.1 / 8)
    check.close(hits[0] - 2 * hits[1], mean=1 / 8, foil=0)  # at most 0 if the promise e = 2 were kept


def test_in_unary_encoding_a_uniform_fake_breaks_the_amplified_promise_even_for_one_attribute():
    def ratio(k, bits):  # of two attributes the first differs, 0 against 1; a fake is a uniform value, encoded
        fake = bits.sum(axis=0) / k
        laws = [(np.multiply.outer(bits[v], fake) + np.multiply.outer(fake, bits[0])) / 2 for v in (0, 1)]
        return max((laws[0] / laws[1]).flat)

    oue = unary.oue_probabilities(fake_data.amplified(Fraction(2), 2))
    assert [ratio(k, unary.channel(*oue, k)) for k in (2, 3)] == [2, Fraction(13, 6)]
    assert ratio(3, grr.channel(fake_data.amplified(Fraction(2), 2), 3)) == 2


def correlated(tenths):
    """400 users with two binary attributes, even marginals, correlation tenths / 10."""
    near, far = 100 + 10 * tenths, 100 - 10 * tenths
    return Population.from_counts([[near, far], [far, near]])


def changes_in_syn_a(d):
    """Changes of SPL's, RS+FD's and RS+RFD's mean error from rho = .1 to .5 and .9, relative; marginals change too."""
    rows = []
    for rho in (0.1, 0.5, 0.9):
        law = tree_law([0.4, 0.3, 0.2, 0.1], rho, (0,) * (d - 1))
        people = Population.from_counts(np.rint(10**10 * law).astype(int))
        design = {"k": people.k, "epsilon": 0.5}
        three = SPL(**design), RSFD(**design), RSRFD(**design, priors=marginal_frequencies(people))
        rows.append([np.concatenate(m.variance(people)).mean() for m in three])
    return np.divide(rows[1:], rows[0]) - 1


def reads_its_own_value_only(matrix, k):
    """Whether the report on each attribute depends on the user's value of it, and on no other."""
    words, found = list(itertools.product(*map(range, k))), {}
    for x, row in zip(words, matrix, strict=True):
        for j, size in enumerate(k):
            law = tuple(sum(c for c, y in zip(row, words, strict=True) if y[j] == v) for v in range(size))
            found.setdefault(j, {}).setdefault(x[j], set()).add(law)
    return all(len(set.union(*laws.values())) == len(laws) == k[j] for j, laws in found.items())


def test_the_baselines_errors_do_not_depend_on_correlation():
    baselines = [
        SPL(k=(2, 2), epsilon=1.0),
        RSFD(k=(2, 2), epsilon=1.0),
        RSRFD(k=(2, 2), epsilon=1.0, priors=[[0.7, 0.3], [0.2, 0.8]]),
    ]
    stated = [[np.hstack(m.variance(correlated(rho))).tolist() for rho in (1, 5, 9)] for m in baselines]
    flat = all(row[0] == row[1] == row[2] for row in stated)
    simulated = [
        check.variance_z(np.hstack(m.simulate(correlated(9), rng=np.random.default_rng(3), runs=20_000)), row[0])
        for m, row in zip(baselines, stated, strict=True)
    ]
    # No report reads another attribute, for more values and attributes as well; Corr-RR's do.
    three, budget = (3, 2, 3), Fraction(3)
    even = [[Fraction(1, size)] * size for size in three]
    skewed = [[Fraction(v, 6) for v in row] for row in ((3, 2, 1), (4, 2), (1, 1, 4))]
    channels = splitting.channel(budget, three), *(fake_data.channel(budget, three, v) for v in (even, skewed))
    own = all(reads_its_own_value_only(matrix, three) for matrix in channels)
    assert not reads_its_own_value_only(corr_rr.channel(budget, 2, [[1, Fraction(2, 3)]] * 2), (2, 2))
    claim("corr-rr-v1/sent-4.3.4-flat").holds(flat, own, max(simulated) < 5)
    # RS+RFD in two phases, as the revised version has it: the same law of estimates whatever X2 is.
    laws = {
        own: {frozenset(two_phase_law(tuple(zip(own, others, strict=True)), Fraction(2)).items()) for others in BINARY}
        for own in BINARY
    }
    assert laws[0, 0] != laws[0, 1]
    learned = all(len(same) == 1 for same in laws.values())
    changes = [changes_in_syn_a(d) for d in (2, 3, 4)]
    level = np.allclose([x[:, :2] for x in changes], 0, atol=1e-12)
    falls = [round(-100 * x[1, 2], 1) for x in changes] == [0.9, 1.8, 2.5]
    claim("corr-rr-v2/sent-4.3.3-flat").holds(
        flat and own, max(simulated) < 5, learned, level, falls and all(x[1, 2] < x[0, 2] < 0 for x in changes)
    )


def first_phase(y, root):
    """Shares of 0 and 1 of both attributes, estimated from one SPL report."""
    pair = grr.probabilities(root, 2)
    return [[pure.estimate(Fraction(int(v == u)), 1, *pair) for u in (0, 1)] for v in y]


def second_phase(z, priors, ratio):
    """Share of X1 = 0, estimated from one RS+RFD report."""
    return pure.estimate(Fraction(int(z[0] == 0)), 1, *fake_data.probabilities(ratio, 2, 2, priors[0][0]))


def two_phase_law(pair, root):
    """Exact law of the estimated share of X1 = 0 for two users, one in each phase, over all that is random."""
    law = {}
    for mine, other in itertools.permutations(pair):
        for y, chance in zip(BINARY, splitting.channel(root, (2, 2))[BINARY.index(mine)], strict=True):
            first = first_phase(y, root)
            priors = [postprocess.clip_normalize(x) for x in first]
            second = fake_data.channel(root**2, (2, 2), priors)[BINARY.index(other)]
            for z, after in zip(BINARY, second, strict=True):
                estimate = (first[0][0] + second_phase(z, priors, root**2)) / 2
                law[estimate] = law.get(estimate, 0) + Fraction(1, 2) * chance * after
    return law


def test_one_report_of_equal_attributes_beats_the_baselines_at_every_share_and_with_every_prior():
    """The note on sent-indep-limit: the variance of one report, of users with a value and of those without."""
    e, k, d, p, prior = sp.symbols("e k d p pi", positive=True)
    true, other = grr.probabilities(e, k)
    # SPL has a smaller ratio, and either part falls as the ratio grows.
    for part, slope in ((true, -(k - 1) * (e + 1)), (other, -(e + 2 * k - 3))):
        assert sp.cancel(sp.diff(part * (1 - part) / (true - other) ** 2, e) - slope / (e - 1) ** 3) == 0
    # With fakes the gap is divided by d. The excess is concave in the prior and positive at both of its ends.
    pair = fake_data.probabilities(e, k, d, prior)
    assert sp.cancel(d * (pair[0] - pair[1]) - (true - other)) == 0
    for part, faked in zip((true, other), pair, strict=True):
        assert sp.cancel(d * faked - part - (d - 1) * prior) == 0
    sampled = (p + (d - 1) * prior) / d
    excess = sp.expand(d**2 * sampled * (1 - sampled) - p * (1 - p))
    assert sp.expand(sp.diff(excess, prior, 2) + 2 * (d - 1) ** 2) == 0
    assert [sp.factor(excess.subs(prior, end)) for end in (0, 1)] == [p * (d - 1), sp.factor((d - 1) * (1 - p))]


def test_a_copy_wins_if_the_other_attribute_has_the_same_share_or_a_near_one_and_not_if_it_is_far():
    """Chapter audit_baselines, the table of copies: 400 users, two binary attributes, independent or not."""
    text = (Path(__file__).parents[2] / "notebooks/audit_baselines.ipynb").read_text(encoding="utf-8")
    assert "So copying wins for equal shares, and loses where they are far apart" in text
    ways = grr.probabilities(Fraction(2), 2), fake_data.probabilities(Fraction(4), 2, 2, Fraction(1, 2))
    rivals = [pure.variance(Fraction(3, 4), 400, *way) for way in ways]  # SPL, RS+FD
    copied = pure.variance(Fraction(3, 4), 400, *grr.probabilities(Fraction(4), 2))
    apart = {gap: copied + gap**2 for gap in (Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 2))}
    assert [max(rivals) < each for each in apart.values()] == [False, False, True, True]
    assert [each < min(rivals) for each in apart.values()] == [True, True, False, False]


def test_constant_fakes_never_have_less_variance_than_open_answers_in_groups_and_may_have_less_than_without():
    """GRR, attributes asked equally often: the advice of audit_baselines, and the last question of fake_data."""
    root, rng, below = Path(__file__).parents[2], np.random.default_rng(1), 0
    assert "deal people into groups, and let them say which" in (root / "notebooks/audit_baselines.ipynb").read_text(
        "utf-8"
    )
    assert "To deal people into groups, one a question" in (root / "book/teaching.yml").read_text("utf-8")
    for _ in range(500):
        d, k = map(int, rng.integers(2, (9, 12)))
        p, q = grr.probabilities(math.exp(rng.uniform(0.1, 8)), k)
        f = rng.dirichlet(np.full(k, 0.5))
        often = q + (p - q) * f  # how often each answer is reported openly
        faked = (often + (d - 1) * (f == f.max())) / d
        spread = (f * (1 - f)).sum()  # the users' data are held fixed
        constant, groups = (c / (p - q) ** 2 * (1 - (x**2).sum()) - spread for c, x in ((d * d, faked), (d, often)))
        alone = pure.variance(f, 1, p / d, q / d).sum()
        below += constant < alone
        assert groups < constant
    assert 50 < below < 250


def test_learned_and_clipped_priors_do_not_bias_the_estimate():
    pairs = list(itertools.combinations_with_replacement(BINARY, 2))
    means = [sum(x * chance for x, chance in two_phase_law(pair, Fraction(2)).items()) for pair in pairs]
    unbiased = [mean == Fraction(sum(x[0] == 0 for x in pair), 2) for mean, pair in zip(means, pairs, strict=True)]
    # The library's estimate by hand, with two users and three: priors from the first phase, and count weights.
    y = np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0], [1, 1]])
    learned = [np.mean([first_phase(x, Fraction(2))[j] for x in y[0]], axis=0) for j in (0, 1)]
    priors = [postprocess.clip_normalize(x) for x in learned]
    later = np.mean([second_phase(z, priors, Fraction(4)) for z in y[1]])
    found = TwoPhaseRSRFD(k=(2, 2), epsilon=2 * math.log(2), n1=2).estimate(y)[0][0]
    counted = math.isclose(found, (2 * learned[0][0] + 3 * later) / 5, rel_tol=1e-12)
    assert learned[0][1] < 0 == priors[0][1]  # clipped
    claim("corr-rr-v2/def-rsrfd-two-phase").holds(len(unbiased) == 10, all(unbiased), counted)


def error_in_two_phases(mechanism, share):
    """Exact total squared error if a share of the users comes first and both estimates are weighted by their counts."""
    first = int(share * len(USERS))
    parts = [Population.from_records(part, k=PEOPLE.k) for part in (USERS[:first], USERS[first:])]
    weights = [(part.n / PEOPLE.n) ** 2 for part in parts]
    return sum(w * np.concatenate(mechanism.variance(p)).sum() for w, p in zip(weights, parts, strict=True))


def two_phase_error(share, rng):
    """Simulated total squared error of RS+RFD with a first phase, which does depend on its share."""
    mechanism = TwoPhaseRSRFD(k=PEOPLE.k, epsilon=1.0, n1=int(share * PEOPLE.n))
    runs = mechanism.simulate(PEOPLE, rng=rng, runs=4_000)
    truth = [PEOPLE.select(j).frequencies for j in range(PEOPLE.d)]
    return sum(((run - f) ** 2).sum(axis=1) for run, f in zip(runs, truth, strict=True))


def test_splitting_and_sampling_do_not_depend_on_the_share_of_a_first_phase():
    constant = []
    for mechanism in (SPL(k=PEOPLE.k, epsilon=1.0), RSFD(k=PEOPLE.k, epsilon=1.0)):
        whole = np.concatenate(mechanism.variance(PEOPLE)).sum()
        halves = [error_in_two_phases(mechanism, share) for share in SHARES]
        constant.append(np.allclose(halves, whole, rtol=1e-12, atol=0))
    # The contrast: with a first phase that splits its budget, the share matters, by many standard errors.
    rng = np.random.default_rng(2)
    small, large = two_phase_error(0.05, rng), two_phase_error(0.5, rng)
    noise = np.sqrt(small.var(ddof=1) / len(small) + large.var(ddof=1) / len(large))
    claim("corr-rr-v2/sent-4.3.4-constant").holds(all(constant), bool((large.mean() - small.mean()) / noise > 5))
