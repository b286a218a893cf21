"""What a report tells about a person: enumerated in fractions, for the attribute asked and for one never asked."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import ldp_lib as ldp
from ldp_lib import channel, check, corr_rr, grr, leakage, subset

TABLES = [
    [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 4), Fraction(3, 4)]],
    [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]],
    [[Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]],
    [[Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]] * 2,
    [[Fraction(1, 3)] * 3] * 2,
]


def by_vertices(e, table):
    """Try every report that is e times as likely under some set of asked values as under the others."""
    table, worst = np.array(table), Fraction(1)
    for pattern in itertools.product((Fraction(1), e), repeat=table.shape[1]):
        found = table @ np.array(pattern)
        worst = max(worst, max(found) / min(found))
    return worst


@pytest.mark.parametrize("table", TABLES)
def test_the_ratio_about_a_hidden_attribute_is_the_worst_over_all_reports(table):
    for e in (Fraction(3, 2), Fraction(3), Fraction(50)):
        found = leakage.inferred_ratio(e, table)
        assert found == by_vertices(e, table) <= 1 + leakage.dobrushin(table) * (e - 1) <= e
        if len(table) == len(table[0]) == 2:
            b, a = sorted(row[1] for row in table)
            assert found == leakage.binary_ratio(e, a, b)


def test_unsigned_integers_do_not_wrap_around_in_a_distance():
    for kind in (np.uint8, np.int64, np.uint64):
        assert leakage.dobrushin(np.eye(3, dtype=kind)) == 1


def test_randomized_response_attains_the_ratio():
    (keep, other), e = TABLES[0], Fraction(3)
    reports = np.array([keep, other]) @ grr.channel(e, 2)
    assert channel.privacy_ratio(reports) == leakage.inferred_ratio(e, [keep, other]) == Fraction(25, 12)


def test_the_channel_of_an_attribute_is_the_records_averaged_over_the_others():
    joint = np.array([[Fraction(1, 4), Fraction(1, 12)], [Fraction(1, 6), Fraction(1, 2)]])
    records = channel.tensor(grr.channel(Fraction(3), 2), grr.channel(Fraction(2), 2))
    for j in (0, 1):
        found = leakage.attribute_channel(records, joint, j)
        for value, report in itertools.product(range(2), range(4)):
            cells = [(cell, i) for i, cell in enumerate(itertools.product((0, 1), repeat=2)) if cell[j] == value]
            wanted = sum(joint[cell] * records[i, report] for cell, i in cells) / sum(joint[cell] for cell, _ in cells)
            assert found[value, report] == wanted
    assert leakage.posterior(records, joint.ravel()).sum(axis=0).tolist() == [1] * 4


@pytest.mark.parametrize("e", [1.5, 3.0, 5.0])
def test_closed_forms_of_the_best_guess_are_enumerated(e):
    k, epsilon = 6, math.log(e)
    even = np.full(k, 1 / k)
    for mechanism in (ldp.OUE(k=k, epsilon=epsilon), ldp.SUE(k=k, epsilon=epsilon)):
        found = leakage.unary_success(*mechanism.probabilities, k)
        assert channel.success_rate(mechanism.channel(), even) == pytest.approx(found, rel=1e-9)
    hashed = ldp.OLH(k=k, epsilon=epsilon)
    assert channel.success_rate(hashed.channel(), even) == pytest.approx(leakage.hashing_success(e, k, hashed.g_))
    sets = ldp.SubsetSelection(k=k, epsilon=epsilon)
    assert channel.success_rate(sets.channel(), even) == pytest.approx(e / (e * sets.size_ + k - sets.size_))


def test_two_of_the_closed_forms_are_the_known_ones():
    """Gursoy et al. and Arcolezi et al. sum over the number i of ones; of sets they have the best size, k/(e+1)."""
    for e, k in ((Fraction(2), 6), (Fraction(3), 8)):
        p, q = Fraction(1, 2), 1 / (e + 1)
        ones = sum(math.comb(k - 1, i - 1) * q ** (i - 1) * (1 - q) ** (k - i) * p / i for i in range(1, k + 1))
        assert leakage.unary_success(p, q, k) == (1 - p) * (1 - q) ** (k - 1) / k + ones
        sets = subset.channel(e, k, int(k / (e + 1)))
        assert channel.success_rate(sets, [Fraction(1, k)] * k) == (e + 1) / (2 * k)


# Mechanism for attributes of 2 and 6 values, and the best guess of each in closed form: independent uniform answers.
SIZES, E = (2, 6), math.e


def one_question(m):
    sets = [subset.optimal_size(E, k) for k in SIZES]
    told = [E / (s * E + k - s) for k, s in zip(SIZES, sets, strict=True)]
    return [w * t + (1 - w) / k for w, t, k in zip(m.weights_, told, SIZES, strict=True)]


def split_grr(m):
    return [grr.probabilities(math.exp(b), k)[0] for b, k in zip(m.budgets, SIZES, strict=True)]


def split_bits(m):
    halves = [math.exp(b / 2) for b in m.budgets]
    return [leakage.unary_success(r / (r + 1), 1 / (r + 1), k) for r, k in zip(halves, SIZES, strict=True)]


def among_fakes(m):
    return [(grr.probabilities(E, k)[0] + 1 / k) / 2 for k in SIZES]


def whole_record(m):
    t = (E - 1) / (E + math.prod(SIZES) - 1)
    return [t + (1 - t) / k for k in SIZES]


SEVERAL = {
    ldp.OneQuestion: one_question, ldp.AskSome: one_question, ldp.SPL: split_grr, ldp.MRR: split_grr,
    ldp.OMRR: split_grr, ldp.BRR: split_bits, ldp.OBRR: split_bits, ldp.RSFD: among_fakes, ldp.RRJoint: whole_record,
}  # fmt: skip


@pytest.mark.parametrize("kind", SEVERAL, ids=lambda kind: kind.__name__)
def test_the_best_guess_of_one_attribute_of_several_has_a_closed_form_an_enumeration_and_a_simulation(kind):
    m, rng = kind(k=SIZES, epsilon=1.0), np.random.default_rng(1)
    joint = np.full(SIZES, 1 / math.prod(SIZES))
    x = np.stack([rng.integers(k, size=20_000) for k in SIZES], axis=1)
    number = {np.asarray(report).tobytes(): i for i, report in enumerate(m.reports())}
    seen = np.array([number[report.tobytes()] for report in m.perturb(x, rng=rng)])
    for j, (closed, k) in enumerate(zip(SEVERAL[kind](m), SIZES, strict=True)):
        table = leakage.attribute_channel(m.channel(), joint, j)
        assert channel.success_rate(table, np.full(k, 1 / k)) == pytest.approx(closed, rel=1e-6)
        right = table.argmax(axis=0)[seen] == x[:, j]
        assert check.mean_z(right.astype(float), closed) < 5 < check.mean_z(right.astype(float), 1.15 * closed)


def test_copies_with_one_copying_probability_protect_an_attribute_unless_three_never_repeat_the_pivot():
    """Chapters attacker and audit_corr_rr_evaluation: of two equal reports among three neither is the pivot's."""

    def worst(k, d, repeats):
        table = [[Fraction(1) if j == m else repeats for m in range(d)] for j in range(d)]
        joint = np.full((k,) * d, Fraction(1, k**d))
        return channel.privacy_ratio(leakage.attribute_channel(corr_rr.channel(Fraction(3), k, table), joint, 0))

    assert worst(2, 2, Fraction(4, 5)) < 2
    assert worst(2, 3, Fraction(0)) == worst(3, 3, Fraction(0)) == 3
    tried = itertools.product((2, 3), (2, 3), (Fraction(1, 50), Fraction(1, 2), Fraction(1)))
    assert max(worst(*case) for case in (*tried, (2, 2, Fraction(0)))) < 3
    for name in ("attacker", "audit_corr_rr_evaluation"):
        chapter = Path(__file__).parents[2] / "notebooks" / f"{name}.ipynb"
        assert "copies with equal copying probabilities above 0" in chapter.read_text(encoding="utf-8")


def test_a_flip_contracts_a_ratio_as_artanh_says():
    for ratio, change in itertools.product((1.2, 3.0, 40.0), (0, 0.1, 0.4, 0.5)):
        wanted = math.exp(2 * math.atanh((1 - 2 * change) * math.tanh(math.log(ratio) / 2)))
        assert leakage.contracted(ratio, change) == pytest.approx(wanted)


@pytest.mark.parametrize("rate", [1e-7, 2e-7, 0.25, 0.3, 0.4995064, 0.5, 0.9999999, 1.0])
def test_a_double_stored_as_a_float_is_below_a_rate_up_to_one_place(rate):
    chance = leakage.below_as_float32(rate)
    first = int(chance * 2**53)
    assert first == chance * 2**53
    assert float(np.float32((first - 1) / 2**53)) < rate
    assert first == 2**53 or float(np.float32(first / 2**53)) >= rate
    assert leakage.below_as_float32(0.0) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: leakage.attribute_channel(np.eye(4), np.full((2, 3), 1 / 6), 0), "joint must have one entry"),
        (lambda: leakage.attribute_channel(np.eye(2), [[1.0, 0.0]], 2), "attribute must be from 0 to 1; got 2"),
        (lambda: leakage.transition([[1.0, 0.0], [0.0, 0.0]], 0), "positive probability"),
        (lambda: leakage.transition([[0.9, -0.4], [0.2, 0.3]], 0), "joint must be at least 0"),  # told 1.8 and -0.8
        (lambda: leakage.attribute_channel(np.eye(4), [[0.5, -0.05], [0.2, 0.35]], 0), "joint must be at least 0"),
        (lambda: leakage.binary_ratio(3, 0.1, 0.2), "a >= b; got a = 0.1"),
        (lambda: leakage.below_as_float32(1.1), "rate must be from 0 to 1; got 1.1"),
        (lambda: leakage.inferred_ratio(math.inf, [[0.7, 0.3], [0.3, 0.7]]), "e must be .* at least 1; got inf"),
        (lambda: leakage.inferred_ratio(math.nan, [[0.7, 0.3], [0.3, 0.7]]), "e must be .* at least 1; got nan"),
        (lambda: leakage.posterior([[0.7, 0.3], [0.3, 0.7]], [1.0]), "prior must have one entry for each of 2 inputs"),
        (lambda: leakage.posterior([[0.7, 0.3], [0.3, 0.7]], [[0.5, 0.5]]), "prior must have one entry for each of 2"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
