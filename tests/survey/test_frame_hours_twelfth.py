"""What a last hour of trying found in statistics: what the pages now say of it."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from ldp_lib import RRJoint, Survey, aggregate, signed_delta, signed_parameters
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables._independence import p_value


def test_two_waves_of_the_same_people_are_no_sample_of_twice_as_many():
    """Right for the people themselves; as a sample intervals hold, and tests reject, as the page survey says."""
    rng, n, runs, shares = np.random.default_rng(7), 1_000, 900, [0.6, 0.4]
    survey = Survey({"a": [0, 1], "b": [0, 1, 2]}, 6.0, RRJoint(k=(2, 3), epsilon=6.0))
    apart, truths, rejected = np.zeros(runs), np.zeros(runs), 0
    for i in range(runs):
        x = np.column_stack([rng.choice(2, n, p=shares), rng.choice(3, n, p=[0.5, 0.3, 0.2])])
        y = rng.permutation(survey.mechanism.perturb(np.tile(x, (2, 1)), rng=rng))
        raw, truths[i] = raw_table(survey.mechanism, y, 0, 1), x[:, 0].mean()
        apart[i] = raw[1].sum() - truths[i]
        rejected += p_value(survey.mechanism, raw, (0, 1), 2 * n) < 0.05
    reports = survey.mark(aggregate(y, survey.mechanism))
    fixed, drawn = (survey.estimate(reports, sampling=one)["standard_error"][1] for one in (False, True))
    assert apart.std() == pytest.approx(fixed, rel=5 / (2 * runs) ** 0.5)
    true = (fixed**2 + np.prod(shares) / n) ** 0.5
    assert (apart + truths).std() == pytest.approx(true, rel=5 / (2 * runs) ** 0.5)
    assert abs(2 * ndtr(1.96 * drawn / true) - 1 - 0.83) < 0.01
    assert abs(rejected / runs - 0.22) < 4 * (0.22 * 0.78 / runs) ** 0.5 < 0.28 - 0.22


def test_signs_that_move_reports_all_the_way_may_have_less_variance():
    """What is calibrated for people who are alike takes no more than .999 of the least rho."""
    epsilon, delta = 0.01, 3e-4
    p, rho = signed_parameters(epsilon=epsilon, delta=delta, n=20, alike=True)
    q = brentq(lambda q: signed_delta(epsilon, q, 1 - 1 / q, 20) - delta, 0.5 + 1e-4, p)
    told, all_the_way = (a * (1 - a) / (2 * a - 1) ** 2 * (1 + b) for a, b in ((p, rho), (q, 1 - 1 / q)))
    assert round(1 - all_the_way / told, 2) == 0.42
