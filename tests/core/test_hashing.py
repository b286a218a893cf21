"""The hash functions of OLH: independent where they must be, in pairs, triples and over a whole domain."""

import itertools

import numpy as np
import pytest

from ldp_lib import OLH, Population, channel, check, hashing, unary


@pytest.fixture(scope="module")
def seeds():
    return hashing._draw_seeds(400_000, np.random.default_rng(1))


@pytest.mark.parametrize("g", [2, 4, 7, 21])
def test_pairs_and_triples_of_values_collide_as_often_as_independent_ones(seeds, g):
    buckets = np.stack([hashing.hash_values(seeds, v, g) for v in (0, 1, 2, 3, 50, 1000)])
    for three in itertools.combinations(buckets, 3):
        for members in (three[:2], three):
            same = (np.array(members) == members[0]).all(axis=0)
            assert check.mean_z(same, g ** -(len(members) - 1)) < 5
    assert check.mean_z(np.concatenate(buckets), (g - 1) / 2) < 5


@pytest.mark.parametrize(("k", "epsilon"), [(16, 3.0), (64, 3.0), (128, 4.0)])
def test_the_number_of_supported_values_has_the_variance_of_independent_ones(k, epsilon):
    mechanism, n = OLH(k=k, epsilon=epsilon), 2_000_000 // k
    x = np.arange(n) % (k // min(k, 32)) * 32  # all values are held by one in 32 people, or by nobody
    y = mechanism.perturb(x, rng=np.random.default_rng(2))
    number = sum((hashing.hash_values(y["seed"], v, mechanism.g_) == y["y"]).astype(int) for v in range(k))
    p, q = mechanism.probabilities
    variance = p * (1 - p) + (k - 1) * q * (1 - q)
    assert check.variance_z(number, variance) < 5 < check.variance_z(number, 1.1 * variance)
    # The upper half of the bits of a x + b is independent in pairs alone: too many values are supported together.
    a, b = np.random.default_rng(3).integers(2**64, size=(2, n), dtype=np.uint64)
    buckets = np.stack([(((a * v + b) >> 32) * mechanism.g_) >> 32 for v in range(k)])
    assert check.variance_z((buckets == buckets[x, np.arange(n)]).sum(axis=0), (k - 1) * q * (1 - q)) > 5


@pytest.mark.parametrize(("k", "g", "epsilon"), [(3, 2, 1.0), (4, 3, 2.0), (6, 4, 1.0), (8, 2, 3.0)])
def test_the_supported_sets_have_the_law_of_independent_bits(k, g, epsilon):
    mechanism = OLH(k=k, epsilon=epsilon, g=g)
    p, q = mechanism.probabilities
    matrix, rng = unary.channel(p, q, k), np.random.default_rng(4)
    for x in (0, k - 1):
        y = mechanism.perturb(np.full(100_000, x), rng=rng)
        code = sum((hashing.hash_values(y["seed"], v, g) == y["y"]).astype(int) << v for v in range(k))
        assert check.law_z(code, {(s,): chance for s, chance in enumerate(matrix[x])}) < 5
        wrong = unary.channel(p, 1.05 * q, k)[x]
        assert check.law_z(code, {(s,): chance for s, chance in enumerate(wrong)}) > 5


@pytest.mark.parametrize(("k", "g"), [(5, 4), (3, 2), (40, 21), (9, 2**20)])
def test_counted_support_is_that_of_the_hash_values(k, g):
    mechanism, rng = OLH(k=k, epsilon=2.0, g=g), np.random.default_rng(5)
    y = mechanism.perturb(rng.integers(k, size=9_000), rng=rng)
    wanted = [np.count_nonzero(hashing.hash_values(y["seed"], v, g) == y["y"]) for v in range(k)]
    assert hashing._count_support(y["seed"], y["y"], k, g).tolist() == wanted


def test_the_report_s_whole_channel_spends_epsilon():
    mechanism = OLH(k=3, epsilon=1.0)
    matrix = mechanism.channel()
    assert matrix.shape == (3, 4**3 * 4)
    assert channel.privacy_ratio(matrix) == pytest.approx(np.e, rel=1e-12)
    with pytest.raises(ValueError, match="k must be small for a channel"):
        OLH(k=40, epsilon=1.0).channel()


def test_seeds_are_below_the_prime_and_reports_with_others_are_refused():
    mechanism = OLH(k=3, epsilon=1.0)
    y = mechanism.perturb([0, 1, 2], rng=np.random.default_rng(6))
    assert y["seed"].max() < hashing.PRIME
    y["seed"][1, 2] = hashing.PRIME
    with pytest.raises(ValueError, match=r"y\['seed'\] must be below 2147483647; got 2147483647"):
        mechanism.estimate(y)
    with pytest.raises(ValueError, match="k must be at most 2147483647 for hashing"):
        OLH(k=2**31, epsilon=1.0)


def test_users_and_simulate_agree_at_many_values_at_once():
    mechanism, population = OLH(k=32, epsilon=3.0), Population.from_counts([40] * 32)
    rng, x = np.random.default_rng(7), population.users()
    totals = [mechanism.estimate(mechanism.perturb(x, rng=rng))[:16].sum() for _ in range(1_500)]
    variance = mechanism.variance(population)[:16].sum()
    assert check.variance_z(totals, variance) < 5 < check.variance_z(totals, 1.3 * variance)


def test_hashes_are_polynomials_modulo_the_prime():
    p, rng = hashing.PRIME, np.random.default_rng(8)
    seeds = [[0, 0, 0, p - 1], [p - 1] * 4, [5, 0, 0, 0], *rng.integers(p, size=(20, 4)).tolist()]
    for x in (0, 1, 2, 70_000, p - 2, p - 1):
        t = pow(x + 1, 5, p)
        assert hashing._points(x) == t
        for g in (2, 21, 2**20):
            wanted = [(c0 + c1 * t + c2 * t**2 + c3 * t**3) % p * g // p for c0, c1, c2, c3 in seeds]
            assert hashing.hash_values(seeds, x, g).tolist() == wanted
    many, x = np.array(seeds[:20]).reshape(5, 2, 2, 4), np.arange(20).reshape(5, 2, 2)
    alone = [hashing.hash_values(seeds[v], v, 7) for v in range(20)]
    assert hashing.hash_values(many, x, 7).ravel().tolist() == alone


class Script(np.random.Generator):
    """A generator that gives words first, and then the largest numbers that are asked for, and smaller ones."""

    def __init__(self, words):
        super().__init__(np.random.PCG64(0))
        self.words, self.less = np.array(words, np.uint64), 0

    def integers(self, high, size=None, dtype=np.int64):
        if high == 2**64:
            assert np.prod(size) == self.words.size
            return self.words.reshape(size)
        self.less += 1
        return np.full(size, high - self.less, dtype)


def test_a_seed_of_the_prime_is_drawn_again():
    most = 2**32 - 1  # half of that is the prime
    script = Script([most + (7 << 32), 2**33 + 3, (most << 32) + 5, 12 + (13 << 32)])
    found = hashing._draw_seeds(2, script)
    assert found.tolist() == [[hashing.PRIME - 1, 3, 1, 1], [2, hashing.PRIME - 1, 6, 6]]


@pytest.mark.parametrize(("e", "g"), [(1.0000001, 2), (1.41, 2), (1.42, 3), (2.4, 3), (2.5, 4), (3.4, 4), (3.5, 5)])
def test_the_best_number_of_buckets_changes_at_the_roots_of_products(e, g):
    assert hashing.optimal_g(e) == g  # the roots of 1 * 2, 2 * 3 and 3 * 4 are 1.414, 2.449 and 3.464


def test_a_large_budget_has_a_million_buckets():
    assert OLH(k=3, epsilon=13.8).g_ == hashing.optimal_g(np.exp(13.8)) < 2**20
    assert OLH(k=3, epsilon=13.9).g_ == OLH(k=3, epsilon=700.0).g_ == 2**20
    assert OLH(k=3, epsilon=13.8).g is None


def test_the_domain_is_below_the_prime():
    assert OLH.serves(2**31 - 1)
    assert OLH(k=2**31 - 1, epsilon=1.0).k == 2**31 - 1
    for k in (2**31, 1, (3,)):
        assert not OLH.serves(k)
    with pytest.raises(ValueError, match="it would have 12 rows and 67108864 columns"):
        OLH(k=12, epsilon=1.0, g=4).channel()


def test_the_channel_s_columns_go_by_function_then_bucket():
    mechanism = OLH(k=2, epsilon=1.0, g=3)
    p, q = (float(share) for share in mechanism._buckets.realised_probabilities)
    columns = [
        [(p if f[x] == b else q) / 9 for x in range(2)] for f in itertools.product(range(3), repeat=2) for b in range(3)
    ]
    assert np.allclose(mechanism.channel().T, columns, rtol=1e-12, atol=0)
    assert mechanism.probabilities == pytest.approx((p, 1 / 3))


def test_reports_of_another_type_are_refused():
    mechanism = OLH(k=3, epsilon=1.0, g=4)
    y = mechanism.perturb([0, 1, 2], rng=np.random.default_rng(6))
    assert mechanism.count(y)[0] == 3
    for wrong in (y["y"], y[["y", "seed"]], OLH(k=3, epsilon=1.0, g=300).perturb([0], rng=np.random.default_rng(1))):
        with pytest.raises(TypeError, match="y must be reports of type"):
            mechanism.count(wrong)
    y["y"][1] = 4
    with pytest.raises(ValueError, match=r"y\['y'\] must be .* from 0 to 3; got 4 at position 1"):
        mechanism.count(y)
    y["y"][1], y["seed"][2, 3] = 3, hashing.PRIME - 1
    assert mechanism.count(y)[0] == 3
