"""Classical designs of randomized response as exact channels, and several unrelated questions for one person.

A design for one yes-or-no question is a 2 by 2 matrix: row 0 for people whose truth is no, row 1 for yes; column 0 for
the report no, column 1 for yes. All formulas are + - * /, so Fractions and SymPy symbols pass. Chapters `real_survey`,
`real_survey_privacy` and `noncompliance`.
"""

import math
from fractions import Fraction

import numpy as np

from ldp_lib.channel import check_channel


def warner(p):
    """Return the channel of Warner (1965): the question is asked with probability p, else its negation."""
    return _design(p=p)(p, 1 - p)


def unrelated_question(p, alpha):
    """Return the channel of the unrelated question (Horvitz, Shah and Simmons, 1967; Greenberg et al., 1969).

    Parameters
    ----------
    p : number
        Probability that the card asks the sensitive question, from 0 to 1.
    alpha : number
        Known share of people whose answer to the innocuous question is yes, from 0 to 1.

    Returns
    -------
    ndarray, shape (2, 2)
        Row: truth (0 = no, 1 = yes); column: report.

    Raises
    ------
    ValueError
        If a number is outside its range.
    """
    return _design(p=p, alpha=alpha)(p + (1 - p) * alpha, (1 - p) * alpha)


def forced_response(yes, no):
    """Return the channel that forces the report yes or no with these probabilities, and else asks for the truth."""
    return _design(yes=yes, no=no, **{"yes + no": yes + no})(1 - no, yes)


def kuk(holders, others):
    """Return the channel of Kuk (1990), one draw: the shares of red cards in the deck of holders and in the other."""
    return _design(holders=holders, others=others)(holders, others)


def crosswise(alpha):
    """Return the channel of the crosswise model: report 1 if both answers agree, where a share alpha says yes to one.

    Yu, Tian and Tang (2008). The innocuous answer is independent of the sensitive one.
    """
    return _design(alpha=alpha)(alpha, 1 - alpha)


def mangat(p):
    """Return the channel of Mangat (1994): holders say yes, others say no with probability p."""
    return _design(p=p)(1 + 0 * p, 1 - p)


def report_ratios(channel):
    """Return for each report, no and yes, how many times as probable it is from one truth as from the other.

    The larger of the two is exp(epsilon); infinity if one truth rules the report out.
    """
    ends = [(min(column), max(column)) for column in check_channel(channel).T]
    return tuple((most / least if least else math.inf) if most else 1 for least, most in ends)


def report_weights(channel):
    """Return what a report no and a report yes add, times n, to the unbiased estimate of the share of yes."""
    (_, b), (_, a) = channel
    return -b / (a - b), (1 - b) / (a - b)


def variance(channel, share, n, population=None):
    """Return the variance of the unbiased estimate of a share.

    Parameters
    ----------
    channel : array_like, shape (2, 2)
    share : number
        Share of people whose truth is yes.
    n : number
        Number of respondents.
    population : number, optional
        The respondents are a simple random sample without replacement from so many. If not given, each is drawn
        independently.
    """
    (_, b), (_, a) = channel
    noise = (share * a * (1 - a) + (1 - share) * b * (1 - b)) / (a - b) ** 2
    absent, others = (1, 1) if population is None else (population - n, population - 1)
    return (noise + share * (1 - share) * absent / others) / n


def unrelated_probability(e, alpha):
    """Return the largest p with which `unrelated_question(p, alpha)` keeps the ratio e, for 0 < alpha < 1."""
    rare = (e - 1) * min(alpha, 1 - alpha)
    return rare / (1 + rare)


def garbling(channel, e):
    """Return the channel that, after `warner(e / (1 + e))`, gives this channel: rows are Warner's report.

    Its entries are probabilities if and only if the channel's ratio is at most e: so at equal budget no design has less
    variance than Warner's. Known: Kairouz, Oh and Viswanath (2016).
    """
    (_, b), (_, a) = channel
    rows = (e * b - a) / (e - 1), (e * a - b) / (e - 1)
    return np.array([[1 - row, row] for row in rows])


def joint_law(answers):
    """Return the joint distribution of innocuous answers from equally probable cases, in Fractions.

    Parameters
    ----------
    answers : sequence of tuples of 0 and 1
        The d answers in each case, for example of each day of a year.

    Returns
    -------
    ndarray, shape (2,) * d
    """
    law = np.full((2,) * len(answers[0]), Fraction(0))
    for case in answers:
        law[tuple(map(int, case))] += Fraction(1, len(answers))
    return law


def record_channel(p, innocuous):
    """Return the channel of d unrelated questions with a card each: a whole record in, d answers out.

    Parameters
    ----------
    p : number, or sequence of d numbers
        Probability that a card asks the sensitive question, one for all cards or one each; the cards are independent.
    innocuous : array_like, shape (2,) * d
        Joint distribution of the innocuous answers, independent of the record and of the cards.

    Returns
    -------
    ndarray, shape (2 ** d, 2 ** d)
        Records and reports in lexicographic order.
    """
    law = check_channel([np.ravel(innocuous)]).reshape(np.shape(innocuous))
    d, own = law.ndim, np.eye(2, dtype=int)
    for asked in np.broadcast_to(p, d):  # for each question: innocuous answer, truth, report
        _design(p=asked)  # refuses what is no probability
        law = np.tensordot(law, asked * own + (1 - asked) * own[:, None], axes=(0, 0))
    return law.transpose(*range(0, 2 * d, 2), *range(1, 2 * d, 2)).reshape(2**d, 2**d)


def one_card_channel(p, innocuous):
    """Return the channel of d unrelated questions with one card for all; arguments as in `record_channel`, one p."""
    law, _ = check_channel([np.ravel(innocuous)])[0], _design(p=p)  # refuses what is no probability
    return p * np.eye(len(law), dtype=int) + (1 - p) * law


def lie_detector(yes, p):
    """Return the share of holders and the share of them who say so, by the stochastic lie detector.

    Two groups answer by `mangat` with different p; holders who do not follow say no (Moshagen, Musch and Erdfelder,
    2012).

    Parameters
    ----------
    yes, p : pairs of numbers
        Share of yes and the probability p of each group.
    """
    others = (yes[0] - yes[1]) / (p[1] - p[0])
    return 1 - others, (yes[0] - others * (1 - p[0])) / (1 - others)


def _design(**given):
    """Return what makes a channel of Pr[yes | yes] and Pr[yes | no], after a check of the parameters."""
    for name, value in given.items():
        if isinstance(value, int | float | Fraction | np.number) and not 0 <= value <= 1:
            raise ValueError(f"{name} must be a probability, from 0 to 1; got {value!r}")
    return lambda a, b: np.array([[1 - b, b], [1 - a, a]])
