"""Section 2 of the paper on multi-dimensional randomized response: the matrix estimator, its privacy and errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from scipy.stats import chi2, poisson

from ldp_lib import channel, check, grr, pure
from ldp_lib.book.claims import claim
from ldp_lib.tables.product import ProductRR

P = np.array([[Fraction(5, 8), Fraction(2, 8), Fraction(1, 8)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]])


def worst_over_data_sets(matrix, users, outcomes):
    """The largest Pr[outcome in S | D1] / Pr[outcome in S | D2] over neighbours D1, D2 and the given sets S."""
    law = channel.tensor(*[matrix] * users)
    data_sets = list(itertools.product(range(len(matrix)), repeat=users))
    neighbours = [
        (i, j)
        for i, j in itertools.permutations(range(len(data_sets)), 2)
        if sum(a != b for a, b in zip(data_sets[i], data_sets[j], strict=True)) == 1
    ]
    return max(law[i, s].sum() / law[j, s].sum() for s in outcomes(law.shape[1]) for i, j in neighbours)


def single(size):
    return [[y] for y in range(size)]


def every_set(size):
    return [[y for y in range(size) if s >> y & 1] for s in range(1, 2**size)]


def test_differential_privacy_of_the_data_set_is_that_of_one_report():
    one = channel.privacy_ratio(P)
    tall = np.array([[Fraction(v, 12) for v in row] for row in ((9, 3), (5, 7), (6, 6))])
    assert worst_over_data_sets(tall, 2, every_set) == channel.privacy_ratio(tall) == Fraction(7, 3)
    claim("rr-multidim/eq-3").holds(
        worst_over_data_sets(P, 2, single) == one,
        worst_over_data_sets(P, 2, every_set) == one,
        worst_over_data_sets(P, 3, single) == one,
    )


def multinomial(n, law):
    """All count vectors of n draws from `law` and their exact probabilities."""
    for counts in itertools.product(range(n + 1), repeat=len(law)):
        if sum(counts) == n:
            ways = math.factorial(n) // math.prod(map(math.factorial, counts))
            yield counts, ways * math.prod(share**count for share, count in zip(law, counts, strict=True))


def absolute_coverage(n, law, error):
    return sum(
        chance
        for counts, chance in multinomial(n, law)
        if all(abs(Fraction(c, n) - share) <= error for c, share in zip(counts, law, strict=True))
    )


def relative_coverage(n, law, error):
    return sum(
        chance
        for counts, chance in multinomial(n, law)
        if all((1 - error) * c <= share * n <= (1 + error) * c for c, share in zip(counts, law, strict=True))
    )


def test_a_smallest_absolute_error_exists():
    law, found = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], []
    for n, confidence in itertools.product((1, 3, 6), (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))):
        errors = sorted({abs(Fraction(c, n) - share) for share in law for c in range(n + 1)})
        covered = [absolute_coverage(n, law, error) for error in errors]  # between two of them nothing changes
        first = next(i for i, share in enumerate(covered) if share >= confidence)
        nearly = errors[first] - Fraction(1, 10**9)  # so the error at `first` is the smallest, not just a bound
        found.append(covered[-1] == 1 and absolute_coverage(n, law, nearly) < confidence)
    claim("rr-multidim/def-1").holds(len(found) == 9, all(found))


def test_a_finite_relative_error_need_not_exist():
    rare = [Fraction(1, 100), Fraction(99, 100)]
    with_nobody = rare[1] ** 10
    at_best = max(relative_coverage(10, rare, Fraction(error)) for error in (1, 10, 1_000, 10**6))
    claim("rr-multidim/def-2").holds(
        relative_coverage(20, [Fraction(1, 2)] * 2, Fraction(4)) >= Fraction(95, 100),  # usually there is one
        at_best <= 1 - with_nobody < Fraction(1, 10),  # here there is none
    )


def equal_cells_coverage(cells, people):
    """Of the relative intervals of Eq. (6) for 95 %, all at once, if the cells are many: their counts are Poisson."""
    error = math.sqrt(chi2.isf(0.05 / cells, 1) * (cells - 1) / (cells * people))
    low, high = math.ceil(people / (1 + error)) - 1, math.floor(people / (1 - error))
    return (1 - poisson.cdf(low, people) - poisson.sf(high, people)) ** cells


def test_many_cells_need_many_people_each():
    assert round(32_561 / 1_814_400, 2) == 0.02  # Adult
    assert round(equal_cells_coverage(1_814_400, 1_000), 1) == 0.3
    assert equal_cells_coverage(1_814_400, 100) < 1e-50
    assert equal_cells_coverage(1_814_400, 10**6) > 0.95
    rng, error = np.random.default_rng(1), math.sqrt(chi2.isf(0.05 / 1_000, 1) * 999 / 200_000)
    seen = rng.multinomial(200_000, np.full(1_000, 1 / 1_000), size=400)  # the Poisson law against the reports' own
    covered = ((seen * (1 - error) <= 200) & (seen * (1 + error) >= 200)).all(axis=1)
    assert check.mean_z(covered, equal_cells_coverage(1_000, 200)) < 4
    assert check.mean_z(covered, 0.95) > 4


def bayesian_update(matrix, shares, observed):
    """One step: each true value's expected share given the reports (Agrawal and Aggarwal, 2001)."""
    return shares * (matrix @ (observed / (shares @ matrix)))


def test_the_iterative_bayesian_update_stays_and_ends_among_proper_distributions():
    # Exact part: every iterate is a proper distribution. The estimate by inversion has a negative entry here.
    matrix = grr.channel(Fraction(2), 3)
    observed = np.array([Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)])
    assert min(observed @ grr.inverse(Fraction(2), 3)) < 0
    shares, proper = np.array([Fraction(1, 3)] * 3), []
    for _ in range(6):
        shares = bayesian_update(matrix, shares, observed)
        proper.append(sum(shares) == 1 and min(shares) >= 0)

    # Limit: the Karush-Kuhn-Tucker conditions of the likelihood's maximum. The gradient of the mean log-likelihood is
    # 1 on the support and at most 1 off it. Off the support the gap is geometric, so a few thousand steps suffice.
    matrix, observed = matrix.astype(float), observed.astype(float)
    start, far = np.full(3, 1 / 3), np.array([0.01, 0.01, 0.98])
    limits = []
    for shares in (start, far):
        for _ in range(5_000):
            shares = bayesian_update(matrix, shares, observed)
        limits.append(shares)
    gradient = matrix @ (observed / (limits[0] @ matrix))
    rounding = 100 * np.finfo(float).eps
    support = limits[0] > rounding
    claim("rr-multidim/s2.1-ibu").holds(
        all(proper),
        np.abs(gradient[support] - 1).max() < rounding,
        gradient[~support].max() < 1 and not support.all(),
        np.abs(limits[0] - limits[1]).max() < rounding,
    )


def test_the_update_cannot_leave_a_start_with_a_zero():
    # The condition of the ledger's note: from a start without value 2, the update never finds it.
    matrix, observed = grr.channel(3.0, 3), np.array([0.2, 0.2, 0.6])
    shares = np.array([0.5, 0.5, 0.0])
    for _ in range(100):
        shares = bayesian_update(matrix, shares, observed)
    assert shares[2] == 0
    assert (observed @ grr.inverse(3.0, 3))[2] > 0.5


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_multinomial_law_sums_to_one(n):
    assert sum(chance for _, chance in multinomial(n, [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])) == 1


def test_more_mass_off_the_diagonal_means_more_dispersion_in_the_symmetric_family_only():
    # Let t = p - q be the share of users who tell the truth on purpose, q = (1 - t) / k. The slope of the variance in t
    # is minus a bracket over n k^2 t^3. The bracket is linear in t and positive at t = 0 and at t = 1, so in between.
    t, n, k, f = sp.symbols("t n k f", positive=True)
    q = (1 - t) / k
    # The privacy ratio p / q = 1 + k t / (1 - t) rises with t.
    bracket = sp.expand(-sp.diff(pure.variance(f, n, q + t, q), t) * n * k**2 * t**3)
    linear = sp.degree(bracket, t) == 1
    ends = [sp.expand(bracket.subs(t, 0) - 2 * (k - 1)), sp.expand(bracket.subs(t, 1) - k - f * k * (k - 2))]

    # Everybody reports the other of two values: all mass off the diagonal, no noise and no protection.
    swap = [[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]]
    _, noise = channel.exact_moments(swap, [0, 0, 1], lambda y: channel.counts(y, 2))

    # Nor among matrices with a heavy diagonal: a little more mass in the other row, and less dispersion.
    def dispersion(matrix, shares):
        law = sp.Matrix(matrix).T * sp.Matrix(shares)
        undo = sp.Matrix(matrix).inv()
        return (undo.T * (sp.diag(*law) - law * law.T) * undo).trace()

    # Of users drawn at random the dispersion of their own values stays.
    own = [sp.Rational(2, 3), sp.Rational(1, 3)]
    assert dispersion([[0, 1], [1, 0]], own) == dispersion([[1, 0], [0, 1]], own) == sp.Rational(4, 9)
    first, second = (
        [[sp.Rational(7, 10), sp.Rational(3, 10)], [0, 1]],
        [[1, 0], [sp.Rational(31, 100), sp.Rational(69, 100)]],
    )
    # Nor among symmetric ones: two rows that are nearly equal, with less mass off the diagonal than p = 6/10 leaves and
    # more than p = 8/10.
    close = sp.Matrix([[51, 49, 0], [49, 51, 0], [0, 0, 100]]) / 100
    three, light = (sp.Matrix([[p, q, q], [q, p, q], [q, q, p]]) / 10 for p, q in ((6, 2), (8, 1)))
    assert [sum(m) - m.trace() for m in (three, close, light)] == [sp.Rational(v, 100) for v in (120, 98, 60)]
    claim("rr-multidim/s2.1-offdiag").conditional(
        linear and ends == [0, 0] and sp.cancel(sp.diff((q + t) / q, t) - k / (1 - t) ** 2) == 0,
        not noise.any()
        and channel.privacy_ratio(swap) == math.inf
        and bool(dispersion(second, [1, 0]) < dispersion(first, [1, 0]))
        and bool(dispersion(three, [sp.Rational(1, 3)] * 3) < dispersion(close, [sp.Rational(1, 3)] * 3))
        and channel.privacy_ratio(fractions(light)) == 8 < channel.privacy_ratio(fractions(close)),
    )


EIGHTHS = np.array([[5, 2, 1], [2, 4, 2], [1, 1, 6]])
MATRIX = np.vectorize(lambda a: Fraction(int(a), 8), otypes=[object])(EIGHTHS)
PEOPLE, TRUTH = [0, 0, 2], np.array([Fraction(2, 3), Fraction(0), Fraction(1, 3)])


def shares_of(reports):
    return [Fraction(c, len(reports)) for c in channel.counts(reports, 3)]


def fractions(matrix):
    return np.array([[Fraction(int(x.p), int(x.q)) for x in row] for row in np.array(matrix)], dtype=object)


def test_the_matrix_and_its_estimator():
    # The law of 5,000 reports of each value is its row of the matrix, and no other.
    sent = ProductRR(k=(3,), channels=(EIGHTHS / 8,))
    far = []
    for u in range(3):
        reports = sent.perturb(np.full((5_000, 1), u), rng=np.random.default_rng(u))
        far.append([check.law_z(reports, {(v,): row[v] for v in range(3)}) for row in EIGHTHS / 8])
    claim("rr-multidim/eq-1").holds(*(far[u][u] < 5 < min(np.delete(far[u], u)) for u in range(3)))

    # Three people, all 27 outcomes, for a matrix that is not symmetric.
    observed, _ = channel.exact_moments(MATRIX, PEOPLE, shares_of)
    others = itertools.product(random_matrices(20, 3, 3), ([0, 1, 2], [1, 1, 2]))  # and any matrix, any people
    claim("rr-multidim/s2.1-lambda").holds(
        (observed == MATRIX.T @ TRUTH).all() and (observed != MATRIX @ TRUTH).any(),
        all((channel.exact_moments(m, x, shares_of)[0] == m.T @ shares_of(x)).all() for m, x in others),
    )
    undo = fractions(sp.Matrix(MATRIX).T.inv())
    mean, _ = channel.exact_moments(MATRIX, PEOPLE, lambda y: undo @ shares_of(y))
    free = sp.Matrix(3, 2, sp.symbols("p11 p12 p21 p22 p31 p32"))
    any_matrix = free.row_join(sp.ones(3, 1) - free * sp.ones(2, 1))
    f = sp.Matrix([*sp.symbols("f1 f2"), 1 - sum(sp.symbols("f1 f2"))])
    back = any_matrix.T.adjugate() * (any_matrix.T * f) / any_matrix.det()
    claim("rr-multidim/eq-2").holds(all(sp.cancel(back[v] - f[v]) == 0 for v in range(3)), (mean == TRUTH).all())


def random_matrices(number, size, seed):
    draws = np.random.default_rng(seed).integers(1, 9, size=(number, size, size))
    return [np.array([[Fraction(int(a), int(sum(row))) for a in row] for row in rows]) for rows in draws]


def test_the_budget_is_the_worst_ratio_within_a_column():
    def worst(matrix):  # over all sets of reports, as the definition asks
        pairs = list(itertools.permutations(range(3), 2))
        return max(matrix[u, s].sum() / matrix[v, s].sum() for s in every_set(3) for u, v in pairs)

    claim("rr-multidim/eq-4").holds(
        worst(MATRIX) == channel.privacy_ratio(MATRIX) == 6,
        all(worst(m) == max(max(c) / min(c) for c in m.T) for m in random_matrices(200, 3, 1)),
    )


def test_the_covariance_can_be_estimated_from_the_reports():
    def spread_of(law):
        return np.diag(law) - np.outer(law, law)

    def right(P, people):
        """Whether both estimators are unbiased, each for its people, and the paper's is not for given ones."""
        n, truth, undo = len(people), np.array(shares_of(people)), fractions(sp.Matrix(P).T.inv())

        def covariance(f):  # of given people's estimate; linear in f, so that the estimate may take its place
            return undo @ (np.diag(P.T @ f) - P.T @ np.diag(f) @ P) @ undo.T / Fraction(n)

        def for_drawn(reports):  # the paper's, for people drawn at random
            return (undo @ spread_of(np.array(shares_of(reports))) @ undo.T / Fraction(n - 1)).ravel()

        def for_given(reports):
            return covariance(undo @ shares_of(reports)).ravel()

        own, fixed, at_random = spread_of(truth).ravel(), covariance(truth).ravel(), ([truth @ P], [0] * n)
        drawn_mean, _ = channel.exact_moments(*at_random, for_drawn)
        given_mean, _ = channel.exact_moments(P, people, for_given)
        swapped, _ = channel.exact_moments(P, people, for_drawn)
        _, enumerated = channel.exact_moments(P, people, lambda y: undo @ shares_of(y))
        _, drawn = channel.exact_moments(*at_random, lambda y: undo @ shares_of(y))
        assert (enumerated.ravel() == fixed).all()
        assert own.any()
        assert (swapped - fixed == own / (n - 1)).all()  # too large for given people
        same = (drawn_mean, drawn.ravel()), (drawn.ravel(), fixed + own / n), (given_mean, fixed)
        return all((a == b).all() for a, b in same)

    groups = PEOPLE, [0, 1], [0, 1, 2, 2]
    claim("rr-multidim/s2.1-dispersion").holds(
        *(right(P, people) for P, people in zip([MATRIX, *random_matrices(2, 3, 4)], groups, strict=True))
    )


def test_some_shares_force_a_negative_estimate():
    steep = sp.Matrix([[sp.Rational(3, 5), sp.Rational(2, 5)], [sp.Rational(4, 5), sp.Rational(1, 5)]])
    solved = {c: steep.T.inv() * sp.Matrix([c, 10 - c]) / 10 for c in range(11)}
    # In general: a mean of entries above 1/2 is above 1/2, so no proper distribution has an observed share below it.
    others = [np.array([[Fraction(1, 2), 0, 0]]) + m / 2 for m in random_matrices(20, 3, 2)]
    seen = [[a, b, 8 - a - b] for a in range(5) for b in range(9 - a)]  # eighths: at most half report the first
    inverses = [fractions(sp.Matrix(m).T.inv()) for m in others]
    low = [undo @ np.array(shares) * Fraction(1, 8) for undo in inverses for shares in seen]
    claim("rr-multidim/s2.1-improper").holds(
        all(min(solved[c]) < 0 for c in range(6)), min(solved[7]) > 0, all(min(f) < 0 for f in low)
    )


def test_the_curve_of_the_confidence_factor_is_not_in_our_text():
    factors = np.sqrt(chi2.isf(0.05 / np.arange(2, 5_001), 1))  # judged by the words: it grows, and little
    claim("rr-multidim/fig-1").reproduced(
        bool((np.diff(factors) > 0).all()), [round(v, 2) for v in factors[[0, -1]].tolist()] == [2.24, 4.42]
    )
