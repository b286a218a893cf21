"""A panel in villages: pairs of questions, arms of unequal size in two waves, an archive in another script."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ldp_lib import RRJoint, Survey
from ldp_lib.survey import files

PAIR = {"bribe": ["no", "yes"], "vote": ["no", "yes"]}


def rejected(spread, surveys):
    """Return in which part of surveys of 40 villages, 20 people each, independence is rejected at 5 %."""
    rng, survey, found = np.random.default_rng(32), Survey(PAIR, 4.0, RRJoint(k=(2, 2), epsilon=4.0)), []
    for _ in range(surveys):
        a = 0.125 / spread**2 - 0.5 if spread else 0
        share = rng.beta(a, a, (40, 2)) if spread else np.full((40, 2), 0.5)
        yes = (rng.random((800, 2)) < np.repeat(share, 20, axis=0)).astype(int)
        reports = survey.collect(survey.decode(yes), rng=rng)
        found.append(survey.associations(reports)["p_value"][0] <= 0.05)
    return np.mean(found)


@pytest.mark.parametrize(("spread", "told"), [(0, 0.05), (0.22, 0.12), (0.4, 0.49)])
def test_independence_is_rejected_too_often_where_villages_were_drawn(spread, told):
    assert rejected(spread, 60) == pytest.approx(told, abs=3.5 * (told * (1 - told) / 60) ** 0.5)


def test_a_change_between_arms_needs_the_arms_differences_of_each_wave():
    rng, survey, n = np.random.default_rng(33), Survey({"vote": ["no", "yes"]}, 4.0), 2000
    waves, arms = [], []
    for _ in range(25):
        arm, kept = rng.permutation(np.repeat([0, 1], n // 2)), []
        for _ in range(2):
            people = survey.decode((rng.random((n, 1)) < 0.3).astype(int)).assign(arm=arm)
            reports = survey.collect(people, rng=rng, keep=["arm"])
            kept.append([reports[reports["arm"] == one] for one in (0, 1)])
        for into, parts, sampling in ((waves, zip(*kept, strict=True), False), (arms, kept, True)):
            one, other = (survey.difference(*two, sampling=sampling).loc[1] for two in parts)
            error = np.hypot(one["standard_error"], other["standard_error"])
            into.append(abs(one["estimate"] - other["estimate"]) < 1.96 * error)
    assert np.mean(waves) == pytest.approx(0.40, abs=3.5 * (0.4 * 0.6 / 25) ** 0.5)
    assert np.mean(arms) > 0.95 - 3.5 * (0.95 * 0.05 / 25) ** 0.5


CODE = """if True:
    import sys
    from ldp_lib import Survey
    from ldp_lib.survey import files
    survey, reports = Survey.load(sys.argv[1]), files.read(sys.argv[2])
    a, b = survey.domain
    group = reports[reports["\\u1218\\u1295\\u12f0\\u122d"] == "\\u1200"]
    print(repr([survey.estimate(group)["estimate"].tolist(), survey.table(a, b, sys.argv[2])["estimate"].tolist()]))
"""


def test_an_archive_of_another_script_tells_the_same_where_no_locale_is_set(tmp_path):
    labels = {"ጉቦ": ["አይ", "አዎ", "መልስ የለም"], "رشوة": ["لا", "نعم"]}
    survey, rng = Survey(labels, 3.0, RRJoint(k=(3, 2), epsilon=3.0), missing="መልስ የለም"), np.random.default_rng(1)
    people = survey.decode(rng.integers(2, size=(500, 2))).assign(መንደር=rng.choice(["ሀ", "ለ"], 500))
    reports = survey.collect(people, rng=rng, keep=["መንደር"])
    survey.save(tmp_path / "survey.json")
    files.write(reports, tmp_path / "reports.parquet")
    told = [survey.estimate(reports[reports["መንደር"] == "ሀ"]), survey.table("ጉቦ", "رشوة", reports)]
    odd = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Kolkata"}
    call = [sys.executable, "-c", CODE, tmp_path / "survey.json", tmp_path / "reports.parquet"]
    out = subprocess.run(call, capture_output=True, text=True, check=True, env=os.environ | odd).stdout
    assert out.strip() == repr([one["estimate"].tolist() for one in told])


@pytest.mark.parametrize("k", [(2, 2), (6, 8)])
def test_one_in_a_hundred_who_refuse_leave_the_test_at_its_level(k):
    domain = {f"{size} labels, {i}": range(size) for i, size in enumerate(k)}
    rng, survey, found = np.random.default_rng(4), Survey(domain, 2.0, RRJoint(k=k, epsilon=2.0)), []
    for _ in range(40):
        shares = [np.append(np.full(size - 1, 0.99 / (size - 1)), 0.01) for size in k]
        x = np.column_stack([rng.choice(len(p), 1000, p=p) for p in shares])
        found.append(survey.associations(survey.collect(survey.decode(x), rng=rng))["p_value"][0] <= 0.05)
    assert np.mean(found) < 0.05 + 4 * (0.05 * 0.95 / 40) ** 0.5
