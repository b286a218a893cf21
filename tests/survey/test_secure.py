"""The secure generator is ChaCha20, its keys are fresh, and it serves where NumPy's own does."""

import builtins
import struct
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import secure_sums
from branches import Walk
from randomgen import ChaCha

from ldp_lib import GRR, JRR, OLH, OUE, AskSome, Population, RRJoint, SubsetSelection, check
from ldp_lib.survey import secure

CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")
QUARTERS = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
DIAGONALS = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]


def chacha20(key, first, second):
    """Return one block of ChaCha20 (Bernstein, 2008), from a key of 32 bytes and words 12 and 13, and 14 and 15."""
    start = [*CONSTANTS, *struct.unpack("<8I", key), *struct.unpack("<4I", struct.pack("<2Q", first, second))]
    words = list(start)
    for _ in range(10):
        for a, b, c, d in QUARTERS + DIAGONALS:
            for target, other, mixed, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                words[target] = (words[target] + words[other]) % 2**32
                both = words[mixed] ^ words[target]
                words[mixed] = (both << shift | both >> (32 - shift)) % 2**32
    return struct.pack("<16I", *((word + old) % 2**32 for word, old in zip(words, start, strict=True)))


def test_the_reference_gives_the_published_block():
    # RFC 8439, section 2.3.2: counter 1, nonce 00:00:00:09:00:00:00:4a:00:00:00:00.
    counter, nonce = 1 | 0x09000000 << 32, 0x4A000000
    wanted = "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
    assert chacha20(bytes(range(32)), counter, nonce)[:32].hex() == wanted


def test_the_generator_is_chacha20():
    key = bytes(range(7, 39))
    raw = ChaCha(key=int.from_bytes(key, "little"), rounds=20).random_raw(8 * 5).astype("<u8").tobytes()
    assert raw == b"".join(chacha20(key, block, 0) for block in range(5))
    state = secure.generator().bit_generator.state["state"]
    assert state["rounds"] == 20


def test_every_generator_has_a_key_of_its_own():
    keys = {secure.generator().bit_generator.state["state"]["keysetup"].tobytes() for _ in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {32}
    bits = np.unpackbits(np.frombuffer(b"".join(keys), np.uint8))
    assert {0 < ones < 100 for ones in bits.reshape(100, 256).sum(axis=0)} == {True}
    assert check.mean_z(bits, 0.5) < 5


def test_every_bit_that_the_operating_system_gives_reaches_the_stream(monkeypatch):
    """A generator seeded with fewer, 32 say, would repeat itself where only the other bits differ."""
    asked, key = [], int.from_bytes(bytes(range(7, 39)), "little")
    streams = set()
    for changed in (None, 0, 31, 32, 127, 128, 255):
        told = key if changed is None else key ^ (1 << changed)
        monkeypatch.setattr(secure.secrets, "randbits", lambda bits, told=told: asked.append(bits) or told)
        raw = secure.generator().bit_generator.random_raw(8).astype("<u8").tobytes()
        assert raw == chacha20(told.to_bytes(32, "little"), 0, 0)
        streams.add(raw)
    assert len(streams) == 7
    assert set(asked) == {256}


def test_what_spawn_derives_has_the_bits_that_page_and_docstring_say():
    """Children start from the seed sequence, which is fresh in each generator and knows nothing of its key."""
    made = [secure.generator() for _ in range(64)]
    entropy = [each.bit_generator.seed_seq.entropy for each in made]
    assert len(set(entropy)) == 64
    assert 2**120 < max(entropy) < 2**128
    keys = {child.bit_generator.state["state"]["keysetup"].tobytes() for each in made[:4] for child in each.spawn(3)}
    assert len(keys) == 12
    assert "derives has at most 128 bits" in " ".join(secure.generator.__doc__.split())
    page = Path(__file__).resolve().parents[2] / "book" / "security.md"
    assert "from at most 128 random bits, not 256" in " ".join(page.read_text(encoding="utf-8").split())


MECHANISMS = [GRR(k=5, epsilon=1.0), OUE(k=4, epsilon=1.0), OLH(k=6, epsilon=1.0), JRR(epsilon=1.0)]
MORE = [SubsetSelection(k=5, epsilon=0.5), AskSome(k=(2, 3), epsilon=1.0)]


@pytest.mark.parametrize("mechanism", MECHANISMS + MORE, ids=repr)
def test_estimates_from_secure_coins_have_the_stated_mean_and_variance(mechanism):
    sizes, rng = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,), secure.generator()
    population = Population.from_counts(np.resize([9, 0, 3, 20], sizes))
    x = population.users()
    runs = np.array([np.hstack(mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(1_000)])
    assert check.mean_z(runs, np.hstack(mechanism.mean(population))) < 6
    variance = np.hstack(mechanism.variance(population))
    assert check.variance_z(runs, variance) < 6 < check.variance_z(runs, 2 * variance)


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "randomgen":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install \"ldp-lib\[secure\]\""):
        secure.generator()


def test_broadcasts_are_uniform_by_enumeration():
    for bits in ([0, 0], [1, 0], [1, 1]):
        total, law, path = sum(bits), Counter(), []
        while path is not None:  # every draw of the parties in turn
            rng = Walk(path, 9)
            count, broadcasts = secure_sums.secure_sum(bits, rng=rng)
            assert count == total
            law[tuple(broadcasts.tolist())] += rng.weight
            taken = [fork for fork, _ in rng.forks]
            while taken and taken[-1] + 1 == rng.forks[len(taken) - 1][1]:
                taken.pop()
            path = [*taken[:-1], taken[-1] + 1] if taken else None
        assert law == {(a, (total - a) % 3): Fraction(1, 3) for a in range(3)}


def test_sums_and_tables_of_one_or_two_parties():
    rng = np.random.default_rng(1)
    for bit in (0, 1):
        count, broadcasts = secure_sums.secure_sum([bit], rng=rng)
        assert (count, broadcasts.tolist()) == (bit, [bit])
    assert secure_sums.secure_sum(np.array([1, 1, 1, 1], np.uint8), rng=rng)[0] == 4
    assert secure_sums.secure_table([[1, 2], [1, 0]], (2, 3), rng=rng).tolist() == [[0, 0, 0], [1, 0, 1]]
    x, mechanism = np.repeat([[0, 1], [1, 2]], [30, 20], axis=0), RRJoint(k=(2, 3), epsilon=1.5)
    y = mechanism.perturb(x, rng=np.random.default_rng(2))
    masked = secure_sums.masked_table(x, (2, 3), 1.5, rng=np.random.default_rng(2))
    assert masked == pytest.approx(mechanism.estimate_table(y))
