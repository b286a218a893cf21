"""Formulas: TeX as MathML that browsers set well, as text for the search, and in pieces that fit on a phone."""

import sys
from pathlib import Path

import math_core
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_ext"))
import mathml
import search

BEST = r"|\hat f - f|^2 = \lVert\hat f - P\hat f\rVert^2 + 2(\hat f - P\hat f)\cdot(f - P\hat f) \ge \lVert f\rVert^2"


def test_a_formula_holds_its_tex():
    made = mathml.convert(r"a < \frac{1}{2} & b".replace("&", ""))
    assert made.startswith("<math>")
    assert r'<annotation encoding="application/x-tex">a &lt; \frac{1}{2}  b</annotation>' in made


def test_a_formula_that_is_not_understood_is_an_error():
    with pytest.raises(math_core.LatexError, match="nosuch"):
        mathml.convert(r"\nosuch{x}")


@pytest.mark.parametrize(
    ("tex", "wanted"),
    [
        (r"a=b\\c=d", r"\begin{aligned}a=b\\c=d\end{aligned}"),
        (r"\left[\begin{matrix}a\\b\end{matrix}\right]", None),
        (r"\begin{aligned}a&=\begin{cases}1\\2\end{cases}\\&=c\end{aligned}", None),
    ],
)
def test_lines_are_aligned_unless_an_environment_holds_them(tex, wanted):
    assert mathml.lines(tex) == (wanted or tex)


@pytest.mark.parametrize(
    ("tex", "wanted"),
    [
        (r"\left(e - 1\right)^{2} \left[a \left(b + 1\right)\right]", r"(e - 1)^{2} [a (b + 1)]"),
        (r"\left(\frac{a}{b}\right)", None),
        (r"\left[\sum_i \left(a\right)\right)", r"\left[\sum_i (a)\right)"),
        (r"\Big(\sum_j r_j\Big)^2 + \big(a\big)", r"{\Big(\sum_j r_j\Big)}^2 + \big(a\big)"),
    ],
)
def test_brackets_stretch_around_what_is_tall(tex, wanted):
    assert mathml.brackets(tex) == (wanted or tex)


@pytest.mark.parametrize(
    ("tex", "count"),
    [
        ("p = 1 - q", 1),
        (BEST, 4),
        (rf"\frac{{{BEST}}}{{2}}", 1),
        (r"p = 1 - q - r - s,\quad q = \frac{1}{e + k - 1},\ k > 2 + 2", 3),
    ],
)
def test_a_long_formula_breaks_outside_of_brackets(tex, count):
    parts = mathml.pieces(tex)
    assert "".join(parts) == tex
    assert len(parts) == count
    for part in parts:
        mathml.convert(part, before="{}")


def test_a_formula_of_its_own_breaks_at_wide_gaps_only():
    first = r"p = \frac{a + b + c}{d},\ r = s + t + u,"
    second = r"\qquad q = 1 - v - w - x"
    assert mathml.pieces(first + second, [mathml.WIDE]) == [first, second]
    assert mathml.GAPS.sub("", r"\qquad q") == " q"


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\displaystyle \frac{n \left(p^{2} - p\right)}{\left(2 p - 1\right)^{2}}", "(n(p² − p))/((2p − 1)²)"),
        (r"\hat n_1 = (I_1 - .4)/.6", "n\u0302_1 = (I_1 − .4)/.6"),
        (r"\frac1d\sum_{j=1}^d \max_v \lambda_{jv} \le n' \tag{3}", "1/d ∑_(j=1)^d max_v λ_jv ≤ n′"),
        (r"\Pr[y \mid x] = \binom{k}{2}\log x", "Pr[y ∣ x] = (k over 2)log x"),
        (r"\left[\begin{matrix}1 & -x\\0 & \sqrt{2}\end{matrix}\right]", "[1, − x; 0, √2]"),
        (r"\underbrace{a}_{\text{left out}} \in \{0, 1\}", "a_(left out) ∈ {0, 1}"),
    ],
)
def test_a_formula_reads_as_text(tex, text):
    assert search.readable(tex) == text


def test_a_root_of_one_letter_stands_on_the_line():
    """The sign hangs from its bar, so what is under it has the height of a capital."""
    assert "<msqrt><mpadded height=" in mathml.convert(r"1/\sqrt n")
    assert "<mpadded" not in mathml.convert(r"\sqrt{1+x}")
