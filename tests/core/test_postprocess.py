"""Clip-and-rescale and the Euclidean projection onto the probability simplex."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from ldp_lib.postprocess import clip_normalize, project_simplex

vectors = st.lists(st.fractions(-2, 2, max_denominator=50), min_size=1, max_size=7).map(
    lambda v: np.array([*v, 1 - sum(v)], dtype=object)
)


@given(vectors)
def test_both_give_probability_vectors_exactly(v):
    for w in (clip_normalize(v), project_simplex(v)):
        assert sum(w) == 1
        assert min(w) >= 0


@given(vectors)
def test_the_projection_satisfies_the_optimality_conditions_exactly(v):
    w = project_simplex(v)
    shift = {a - b for a, b in zip(v, w, strict=True) if b > 0}
    assert len(shift) == 1  # one shift on the support ...
    assert all(
        a <= min(shift) for a, b in zip(v, w, strict=True) if b == 0
    )  # ... and nothing off it would stay positive


@given(vectors)
def test_no_other_probability_vector_is_nearer(v):
    w = project_simplex(v)
    distance = sum((v - w) ** 2)
    assert sum((v - clip_normalize(v)) ** 2) >= distance
    for corner in np.eye(len(v), dtype=int):
        assert sum((v - corner) ** 2) >= distance
        assert sum((v - (w + corner) / Fraction(2)) ** 2) >= distance


@given(arrays(float, (3, 5), elements=st.floats(-3, 3)))
def test_a_stack_is_projected_row_by_row(v):
    assert np.array_equal(project_simplex(v), [project_simplex(row) for row in v])
    assert np.allclose(project_simplex(v).sum(axis=-1), 1)


def test_an_independent_optimizer_agrees():
    v = np.array([0.7, -0.3, 0.5, 0.1])
    found = minimize(
        lambda w: ((w - v) ** 2).sum(),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-14,
    )
    assert np.allclose(found.x, project_simplex(v), atol=1e-6)
    assert not np.allclose(found.x, clip_normalize(v), atol=1e-6)


def test_huge_entries_are_projected_without_rounding():
    assert project_simplex([1e17, 0.0]).tolist() == [1.0, 0.0]
    assert project_simplex([1e17, 1e17]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64, np.int64, np.float16, np.float32, object])
def test_narrow_and_unsigned_numbers_are_projected_as_their_values(dtype):
    for values, wanted in (([0, 1], [0, 1]), ([100, 3], [1, 0]), ([7, 7, 7], [1 / 3] * 3)):
        assert np.allclose(project_simplex(np.array(values, dtype)).astype(float), wanted, rtol=1e-12, atol=0)
    assert project_simplex(np.array([100, -100], np.int8)).tolist() == [1, 0]
    assert clip_normalize(np.array([200, 200, 0], np.uint8)).tolist() == [0.5, 0.5, 0]


def test_a_probability_vector_is_left_alone():
    v = np.array([Fraction(1, 3), Fraction(2, 3), Fraction(0)])
    assert (project_simplex(v) == v).all()
    assert (clip_normalize(v) == v).all()


@pytest.mark.parametrize("function", [clip_normalize, project_simplex])
@pytest.mark.parametrize(
    ("v", "error", "message"),
    [
        ([0.5, float("nan")], ValueError, "v must be finite; got nan"),
        ([0.5, float("inf")], ValueError, "v must be finite; got inf"),
        (np.array([Fraction(1, 2), float("nan")], dtype=object), ValueError, "v must be finite; got nan"),
        ([], ValueError, r"got shape \(0,\)"),
        (1.0, ValueError, r"got shape \(\)"),
        (["a"], TypeError, "v must hold numbers"),
    ],
)
def test_bad_input_is_refused(function, v, error, message):
    with pytest.raises(error, match=message):
        function(v)


def test_clipping_needs_a_positive_entry():
    with pytest.raises(ValueError, match="v must have a positive entry"):
        clip_normalize([[0.5, 0.5], [-1.0, 0.0]])


def test_stacks_of_any_shape_are_repaired_along_their_last_axis():
    v = np.array([[0.5, 0.5, 0.3], [0.9, -0.2, 0.3]])
    assert project_simplex(v) == pytest.approx(np.array([[0.4, 0.4, 0.2], [0.8, 0, 0.2]]))
    assert clip_normalize(v) == pytest.approx(np.array([[5, 5, 3], [9.75, 0, 3.25]]) / 13)
    square = np.array([[0.5, 0.7], [1.5, 0.1]])
    assert project_simplex(square) == pytest.approx(np.array([[0.4, 0.6], [1, 0]]))
    assert clip_normalize(square) == pytest.approx(np.array([[5 / 12, 7 / 12], [15 / 16, 1 / 16]]))
    assert project_simplex(np.stack([v, v[::-1]]))[1] == pytest.approx(project_simplex(v)[::-1])
    for function in (project_simplex, clip_normalize):
        assert function(np.zeros((0, 3))).shape == (0, 3)
        assert function([[7.0], [0.5]]).tolist() == [[1], [1]]
        with pytest.raises(ValueError, match=r"v must have at least one entry along its last axis; got shape \(2, 0\)"):
            function(np.zeros((2, 0)))
