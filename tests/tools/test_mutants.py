"""A fast sample of what `make mutants` does: changes of one place that tests of the suite notice, and how it draws."""

import gc
import sys
import types
from collections import Counter
from pathlib import Path

import pytest
import test_check
import test_edges

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import mutants  # noqa: E402

CHANGES = [  # a sampler, formulas, a validator, an estimator, what decides between right and wrong
    (
        "_sampling.py",
        "1 / (k - 1)))",
        "1 / (k - 0)))",
        test_edges.test_lies_are_spread_evenly_over_all_other_values,
    ),
    ("limit/_covering.py", "(part == 1)", "(part == 2)", test_edges.test_what_draws_lack_is_made_up_for),
    (
        "shrinkage/_stein.py",
        "1 + a / s**2",
        "1 + a / s**1",
        lambda: test_edges.test_the_estimated_risk_of_pooling_is_stein_s(4, 3),
    ),
    (
        "tables/_checks.py",
        "isinstance(n, bool) or",
        "isinstance(n, bool) and",
        lambda: test_edges.test_a_number_of_users_is_a_number_from_one_on(True),
    ),
    (
        "survey/aggregate.py",
        "if y.size else 0",
        "if y.size else 1",
        test_edges.test_a_part_of_a_frame_may_be_empty,
    ),
    (
        "check/distances.py",
        "if not wrong > 5",
        "if not wrong > 4",
        lambda: test_edges.test_five_standard_errors_divide_right_from_wrong(4.5, None),
    ),
    ("check/distances.py", "def variance_z", "def variance_z", test_check.test_a_wrong_theory_is_far_away),
]


class Swapped:
    """A context in which the functions of a file have the code of a changed source."""

    def __init__(self, path, old, new):
        source = (ROOT / "ldp_lib" / path).read_text(encoding="utf-8")
        assert source.count(old) == 1
        path = str(ROOT / "ldp_lib" / path)
        gc.unfreeze()  # what is frozen is in no list of objects
        functions = [each for each in gc.get_objects() if isinstance(each, types.FunctionType)]
        own = [each for each in functions if each.__code__.co_filename == path]
        self.swaps = mutants.Quick({}, None).swaps(own, path, source, source.replace(old, new))

    def __enter__(self):
        self.before = [(function, function.__code__) for function, _ in self.swaps]
        for function, code in self.swaps:
            function.__code__ = code

    def __exit__(self, *_):
        for function, code in self.before:
            function.__code__ = code


@pytest.mark.parametrize(
    ("path", "old", "new", "test"), CHANGES, ids=lambda value: str(value)[:30] if isinstance(value, str) else ""
)
def test_a_change_of_one_place_is_noticed(path, old, new, test):
    test()
    with Swapped(path, old, new):
        if old == new:
            test()
        else:
            with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
                test()
    test()


def test_a_sample_takes_the_same_share_of_every_file():
    everything = [(path, "kind", i, i) for path, count in (("a", 100), ("b", 300), ("c", 10)) for i in range(count)]
    drawn = mutants.shared_out(everything, 1)
    assert sorted(drawn) == sorted(everything)
    assert drawn != mutants.shared_out(everything, 2)
    counts = Counter(mutant[0] for mutant in drawn[:41])
    assert all(abs(counts[path] - share) <= 1 for path, share in (("a", 10), ("b", 30), ("c", 1)))


@pytest.mark.parametrize(
    ("old", "new", "swaps"),
    [
        ("x + 1", "x - 1", 2),
        ("=3", "=4", None),
        ("LIMIT = 5", "LIMIT = 6", None),
        ("@property", "", None),
        ("y * 2", "y / 2", 2),
    ],
)
def test_what_is_no_function_s_code_is_tried_by_a_new_import(old, new, swaps):
    source = (
        "LIMIT = 5\ndef f(x, z=3):\n    return x + 1\nclass C:\n    @property\n    def g(self):\n"
        "        return [y * 2 for y in (1, 2)]\n"
    )
    space = {}
    exec(compile(source, "file.py", "exec"), space)
    found = mutants.Quick({}, None).swaps([space["f"], space["C"].g.fget], "file.py", source, source.replace(old, new))
    assert found is None if swaps is None else len(found) == swaps
