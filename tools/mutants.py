"""Mutation: change the library's code in one place and see whether a test fails; `make mutants` calls it.

    python tools/mutants.py cover                  note which tests run which lines
    python tools/mutants.py run --sample 500       try mutants, drawn with --seed; without --sample all
    python tools/mutants.py survivors              show those that no test noticed
    python tools/mutants.py page                   write what was found to book/mutants.json, for book/quality.md

Operators and source trees are those of Cosmic Ray, which starts Python for every mutant; mutmut, which forks, leaves
out decorated functions, and here properties are decorated: so what tries the mutants is written here. A mutant is
tried by the tests that run the changed line, quickest first: in a fork of a process that has collected all tests,
where the changed functions get new code; or, where more than functions change, in a fork that imports the library
anew. What is known is kept in _build/mutants, so an interrupted run goes on where it stopped; a changed file is tried
anew. A sample takes the same share of every file's mutants. What kind of change a survivor is, and why, is written by
hand into book/mutants.json, and kept.
"""

import argparse
import contextlib
import difflib
import functools
import gc
import hashlib
import importlib.machinery
import inspect
import json
import math
import os
import random
import resource
import signal
import sys
import tempfile
import time
import types
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORE = ROOT / "_build" / "mutants"
PACKAGES, RESULTS = STORE / "packages", STORE / "results.jsonl"
FOUND = ROOT / "book" / "mutants.json"
SKIPPED = ("book/", "printed.py", "__init__.py", "catalogue.py", "datasets.py", "fixtures")
NOT_OF_THE_LIBRARY = {  # these check the site, the notebooks and the project, and say nothing about a line
    *(
        "assignments",
        "builds",
        "choose",
        "claims",
        "course",
        "datasets",
        "diagrams",
        "digits",
        "faults",
        "figures",
        "glossary",
    ),
    *(
        "best_settings",
        "hardening",
        "head_to_head",
        "installs",
        "intro",
        "lab",
        "learn",
        "live",
        "live_site",
        "mechanism_cards",
        "mutants",
        "notebooks",
        "rests_on",
    ),
    *("pages", "pdf", "project", "results", "site", "supply", "sweeps", "teaching", "wheel", "where", "witness"),
}
OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain", "--tb=no")
ALIVE = ("survived", "untested")
CACHED = type(functools.lru_cache(len))
HARD = resource.getrlimit(resource.RLIMIT_CPU)[1]
FAMILIES = {
    "ReplaceBinaryOperator": (
        "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul RShift_LShift LShift_RShift BitAnd_BitOr "
        "BitOr_BitAnd BitXor_BitAnd"
    ),
    "ReplaceComparisonOperator": (
        "Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is In_NotIn NotIn_In"
    ),
    "ReplaceUnaryOperator": "USub_UAdd Delete_USub Delete_Not Delete_Invert",
}
PLAIN = (
    "AddNot NumberReplacer ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd "
    "ReplaceBreakWithContinue ReplaceContinueWithBreak ZeroIterationForLoop ExceptionReplacer RemoveDecorator"
)


def files():
    """The library's files that are mutated."""
    paths = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "ldp_lib").rglob("*.py"))
    return [path for path in paths if not any(part in path for part in SKIPPED)]


def operators():
    """Cosmic Ray's operators, by name."""
    sys.path.append(str(PACKAGES))
    from cosmic_ray.plugins import get_operator

    names = [f"{family}_{pair}" for family, pairs in FAMILIES.items() for pair in pairs.split()] + PLAIN.split()
    found = {}
    for name in names:
        with contextlib.suppress(KeyError):
            found[name] = get_operator(f"core/{name}")()
    return found


def mutants(path, kinds):
    """Yield each mutant of a file: operator, occurrence and line."""
    from cosmic_ray.ast import Visitor, get_ast

    class List(Visitor):
        def __init__(self):
            self.found = {name: [] for name in kinds}

        def visit(self, node):
            for name, operator in kinds.items():
                self.found[name] += [start[0] for start, _ in operator.mutation_positions(node)]
            return node

    lister = List()
    lister.walk(get_ast((ROOT / path).read_text(encoding="utf-8")))
    for name, lines in lister.found.items():
        for occurrence, line in enumerate(lines):
            yield name, occurrence, line


class Noted:
    """A pytest plugin that notes which test runs, and for how long."""

    def __init__(self, measure):
        self.measure, self.seconds = measure, {}

    def pytest_runtest_logstart(self, nodeid):
        """Say so to the measurement."""
        self.measure.switch_context(nodeid)
        self.start = time.process_time()

    def pytest_runtest_logfinish(self, nodeid):
        """Note the time."""
        self.seconds[nodeid] = round(time.process_time() - self.start, 4)
        self.measure.switch_context("")


def paths_of_tests():
    """The test files of the library, those of claims about it last."""
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in paths if path.stem[5:] not in NOT_OF_THE_LIBRARY]


def cover(arguments):
    """Run the tests once and note, for each line, which of them ran it."""
    import coverage
    import pytest

    STORE.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(ROOT))
    measure = coverage.Coverage(source=["ldp_lib"], data_file=str(STORE / "coverage"), config_file=False)
    measure.start()
    noted = Noted(measure)
    only = [next((ROOT / "tests").rglob(f"test_{name}.py")) for name in arguments.only]
    chosen = only or paths_of_tests()
    code = pytest.main(["-q", "-p", "no:cacheprovider", *chosen], plugins=[noted])
    measure.stop()
    data, lines = measure.get_data(), {}
    for path in data.measured_files():
        contexts = data.contexts_by_lineno(path)
        lines[str(Path(path).relative_to(ROOT))] = {n: [c for c in names if c] for n, names in contexts.items()}
    goes_on = arguments.only and (STORE / "lines.json").exists()
    known = json.loads((STORE / "lines.json").read_text(encoding="utf-8")) if goes_on else {"seconds": {}, "lines": {}}
    known["seconds"].update(noted.seconds)
    for path, entries in lines.items():
        old = known["lines"].setdefault(path, {})
        for n, names in entries.items():
            old[str(n)] = sorted({*old.get(str(n), []), *names})
    (STORE / "lines.json").write_text(json.dumps(known))
    return int(code)


class Mutated(importlib.machinery.SourceFileLoader):
    """Load one module from changed source."""

    def __init__(self, name, path, source):
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname):
        """Compile what is given."""
        return compile(self.source, self.path, "exec", dont_inherit=True)


class Finder:
    """Find the one module that is changed."""

    def __init__(self, path, source):
        self.name, self.path, self.source = path[:-3].replace("/", "."), str(ROOT / path), source

    def find_spec(self, name, path=None, target=None):
        """Give the changed module, and no other."""
        if name == self.name:
            loader = Mutated(name, self.path, self.source)
            return importlib.util.spec_from_loader(name, loader, origin=self.path)
        return None


def allow(seconds):
    """Let this process use the processor for so many seconds from now."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(spent.ru_utime + spent.ru_stime + seconds), HARD))


def forked(work, timeout):
    """Do some work in a fork, for so many seconds of the processor: "survived" if it returns 0, "timeout", "killed"."""
    pid = os.fork()
    if pid == 0:
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        code = 99
        try:
            allow(timeout)
            resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, 12 * 2**30))
            code = int(work())
        finally:
            os._exit(code)
    end = time.monotonic() + 30 * timeout  # of the clock: the machine may be busy
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return {0: "survived", -signal.SIGXCPU: "timeout", -signal.SIGKILL: "timeout"}.get(code, "killed")
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "timeout"


def attempt(path, source, tests, timeout):
    """Run tests in a fork that imports a mutant."""

    def work():
        import pytest

        sys.meta_path.insert(0, Finder(path, source))
        return pytest.main([*OPTIONS, "-x", *tests])

    return forked(work, timeout)


def codes(source, path):
    """All code objects of a source: (qualified name, line) -> a list of them."""
    found, left = {}, [compile(source, path, "exec", dont_inherit=True)]
    while left:
        code = left.pop()
        found.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
        left += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return found


def plain(code):
    """What a code object does, but for the ones inside it."""
    return code.co_code, code.co_names, [c for c in code.co_consts if not isinstance(c, types.CodeType)], code.co_flags


class Quick:
    """A pytest plugin that runs no tests, but tries mutants by them."""

    def __init__(self, todo, keep, seconds=None):
        self.todo, self.keep, self.seconds = todo, keep, seconds or {}
        self.sound, self.caches = {}, []

    def pytest_runtestloop(self, session):
        """Try all that can be tried by exchanging functions."""
        self.items = {item.nodeid: item for item in session.items}
        functions = {}
        gc.unfreeze()  # what is frozen is in no list of objects
        for each in gc.get_objects():
            if isinstance(each, types.FunctionType):
                functions.setdefault(each.__code__.co_filename, []).append(each)
            elif isinstance(each, CACHED):
                self.caches.append(each)
        for label, (path, source, changed, tests, timeout) in self.todo.items():
            swaps = self.swaps(functions.get(str(ROOT / path), []), path, source, changed)
            if swaps:
                self.keep(label, self.outcome(swaps, tests, timeout))
        return True

    def swaps(self, functions, path, source, changed):
        """The functions of a file with their new code, or None if more than functions change."""
        old, new = (codes(text, str(ROOT / path)) for text in (source, changed))
        if old.keys() != new.keys():
            return None
        for key, found in old.items():
            for one, other in zip(found, new[key], strict=True):
                if plain(one) != plain(other) and (len(found) > 1 or not one.co_flags & inspect.CO_OPTIMIZED):
                    return None
        swaps = [(f, new.get((f.__code__.co_qualname, f.__code__.co_firstlineno))) for f in functions]
        return [(f, found[0]) for f, found in swaps if found and len(found) == 1]

    def outcome(self, swaps, tests, timeout):
        """Run tests until one fails that passes without the change."""
        chosen = [name for name in tests if name in self.items and self.sound.get(name, True)]
        with tempfile.TemporaryFile() as told:

            def work():
                for function, code in swaps:
                    function.__code__ = code
                for cache in self.caches:  # what the old code has returned
                    cache.cache_clear()
                for name in chosen:
                    os.pwrite(told.fileno(), name.encode().ljust(1000), 0)
                    allow(5 + 3 * self.seconds.get(name, 1.0))  # a change may make it endless
                    if not self.passes(name):
                        return 1
                return 0

            outcome = forked(work, timeout)
            name = os.pread(told.fileno(), 1000, 0).decode().strip()
        if outcome == "survived" or not name:
            return "survived"
        if name not in self.sound:
            self.sound[name] = forked(lambda: not self.passes(name), timeout) == "survived"
        return outcome if self.sound[name] else self.outcome(swaps, tests, timeout)

    def passes(self, name):
        """Whether a test passes."""
        from _pytest.runner import runtestprotocol

        item = self.items[name]
        return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def quick(todo, keep, seconds):
    """Try mutants in forks of one process that has collected all tests."""
    import pytest

    files = sorted({test.partition("::")[0] for _, _, _, tests, _ in todo.values() for test in tests})
    return pytest.main([*OPTIONS, "-s", *files], plugins=[Quick(todo, keep, seconds)])


def tests_of(known, path, line, most):
    """The tests that run a line, quickest first, together of at most so many seconds."""
    names, seconds = known["lines"].get(path, {}).get(str(line), []), known["seconds"]
    if not names:  # run on import only: what looks at definitions, and all that run some line of the file
        names = {name for tests in known["lines"].get(path, {}).values() for name in tests}
        names |= {name for name in seconds if "test_signatures" in name}
    chosen, total = [], 0.0
    for name in sorted(names, key=lambda name: (seconds.get(name, 1.0), name)):
        if total > most:
            break
        total += seconds.get(name, 1.0)
        chosen.append(name)
    return chosen, total


def prepared(known, kinds, path, name, occurrence, line, most):
    """A mutant's outcome, if that is known already, its difference, and what is needed to try it."""
    from cosmic_ray.mutating import mutate_code

    source = (ROOT / path).read_text(encoding="utf-8")
    changed = mutate_code(source, kinds[name], occurrence)
    lines = [text.splitlines() for text in (source, changed)]
    difference = [
        text for text in difflib.unified_diff(*lines, lineterm="", n=0) if not text.startswith(("---", "+++"))
    ]
    tests, total = tests_of(known, path, line, most)
    try:
        compile(changed, path, "exec")
        same = changed.replace("strict=False", "strict=True") == source.replace("strict=False", "strict=True")
    except SyntaxError:
        same = True
    if same:  # no program, or zip without its guard
        return "invalid", difference, None
    return None if tests else "untested", difference, (path, source, changed, tests, round(10 + 2 * total))


def warm():
    """Import what the forks share: everything but the library."""
    import hypothesis.strategies
    import nbformat
    import pandas as pd
    import pytest
    import scipy.optimize
    import sympy as sp
    import yaml

    assert not any(name.startswith("ldp_lib") for name in sys.modules)
    return hypothesis, nbformat, pd, pytest, scipy, sp, yaml


def shared_out(everything, seed):
    """Put mutants in a random order any beginning of which holds the same share of every file."""
    rng, places = random.Random(seed), []
    for path in sorted({mutant[0] for mutant in everything}):
        own = [mutant for mutant in everything if mutant[0] == path]
        rng.shuffle(own)
        places += [((i + rng.random()) / len(own), mutant) for i, mutant in enumerate(own)]
    return [mutant for _, mutant in sorted(places)]


def at_least(killed, tried, confidence=0.95):
    """The share of mutants killed that this sample shows: Clopper and Pearson's one-sided bound."""
    from scipy.stats import beta

    return float(beta.ppf(1 - confidence, killed, tried - killed + 1)) if killed else 0.0


def digest_of(path):
    """What tells one version of a file from another."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:12]


def stored():
    """What became of the mutants tried so far: label -> its outcome, line and difference."""
    if not RESULTS.exists():
        return {}
    entries = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {entry["label"]: entry for entry in entries}


def keep(label, outcome, line, difference):
    """Note what became of a mutant, at one stroke: several processes do so."""
    entry = {"label": label, "outcome": outcome, "line": line, "difference": difference}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def tried(todo, about, seconds):
    """Try some mutants in a process of its own."""
    done = set()

    def note(label, outcome):
        done.add(label)
        keep(label, outcome, *about[label])

    if os.fork() == 0:
        os._exit(int(quick(todo, note, seconds)))
    os.wait()
    done, sound = set(stored()), {}
    for label, (path, source, changed, tests, timeout) in todo.items():
        if label not in done:
            outcome = attempt(path, changed, tests, timeout)
            if outcome != "survived" and (path, *tests) not in sound:  # do they pass without the change?
                sound[path, *tests] = attempt(path, source, tests, timeout) == "survived"
            note(label, outcome if sound.get((path, *tests), True) else "untested")


def run(arguments):
    """Try mutants and keep what became of them."""
    from tqdm import tqdm

    kinds, known = operators(), json.loads((STORE / "lines.json").read_text(encoding="utf-8"))
    os.chdir(ROOT)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.path.insert(0, str(ROOT))
    everything = [(path, *mutant) for path in files() for mutant in mutants(path, kinds)]
    scope = [m for m in everything if not arguments.only or any(part in m[0] for part in arguments.only)]
    print(f"{len(everything)} mutants in {len(files())} files, {len(scope)} in scope", flush=True)
    drawn = {
        f"{m[0]} {digest_of(m[0])} {m[1]} {m[2]}": m for m in shared_out(scope, arguments.seed)[: arguments.sample]
    }
    warm()
    old, todo, about = stored(), {}, {}
    if arguments.again:
        old = {label: entry for label, entry in old.items() if entry["outcome"] not in ALIVE}
        RESULTS.write_text("".join(json.dumps(entry) + "\n" for entry in old.values()), encoding="utf-8")
    for label, mutant in drawn.items():
        if label not in old:
            outcome, difference, trial = prepared(known, kinds, *mutant, arguments.most)
            about[label] = (mutant[3], difference)
            if trial:
                todo[label] = trial
            else:
                keep(label, outcome, *about[label])
    labels, workers = list(todo), []
    for i in range(arguments.jobs):
        workers.append(os.fork())
        if workers[-1] == 0:
            tried({label: todo[label] for label in labels[i :: arguments.jobs]}, about, known["seconds"])
            os._exit(0)
    with tqdm(total=len(todo), desc="mutants") as bar:
        while workers:
            workers = [pid for pid in workers if os.waitpid(pid, os.WNOHANG)[0] == 0]
            bar.update(len(stored().keys() & todo.keys()) - bar.n)
            time.sleep(1)
    results = stored()
    found = {label: results[label] for label in drawn if results[label]["outcome"] != "invalid"}
    alive = [label for label, result in found.items() if result["outcome"] in ALIVE]
    counts = {"files": len({m[0] for m in scope}), "mutants": len(scope), "tried": len(found), "seed": arguments.seed}
    summary = counts | {"killed": len(found) - len(alive), "survivors": alive}
    print(counts, summary["killed"], f"at least {at_least(summary['killed'], summary['tried']):.2%}")
    (STORE / "summary.json").write_text(json.dumps(summary))
    return 0


def survivors(arguments):
    """Print the mutants of the present files that no test noticed."""
    for label, result in stored().items():
        path, digest, name, _ = label.split()
        if digest_of(path) == digest and result["outcome"] in ALIVE:
            print(f"{path}:{result['line']} {name} ({result['outcome']})", *result["difference"], sep="\n    ")
    return 0


def page(arguments):
    """Write the last run's counts and survivors, with what is known of them."""
    summary = json.loads((STORE / "summary.json").read_text(encoding="utf-8"))
    results = stored()
    known = json.loads(FOUND.read_text(encoding="utf-8"))["survivors"] if FOUND.exists() else []
    known = {(each["file"], each["old"], each["new"]): (each["kind"], each["reason"]) for each in known}
    listed = []
    for label in summary["survivors"]:
        result = results[label]
        old, new = (" ".join(t[1:].strip() for t in result["difference"] if t[0] == sign) for sign in "-+")
        place = (label.split()[0], old, new)
        names = ("file", "old", "new", "kind", "reason")
        listed.append(dict(zip(names, (*place, *known.get(place, ("gap", ""))), strict=True)))
    listed.sort(key=lambda each: tuple(each.values()))
    FOUND.write_text(json.dumps(summary | {"survivors": listed}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


HEAD = """\
The library, now of {now} files, had {mutants:,} places in {files} where one small change can be made. Of these,
{tried:,} were drawn at random, the same share of each file (seed {seed}), and tried. A test failed, or did not end,
for {killed:,} of them.
Of the other {alive}, {same} change nothing that a caller can see, and {effort} change only how a search goes whose
result is certified, or how much memory is used at a time. That leaves {gap} gaps: tests notice {share:.1f} % of the
changes that matter, and at least {bound} % of all such changes in that library, with a confidence of 95 % (Clopper and
Pearson). A change that makes no difference counts on neither side, as is usual {{cite:p}}`jia2011`; if those of
searches counted as gaps, the share would be {least:.1f} %. Left out are formulas as papers print them, data sets, and
what draws the book.

{{download}}`All {alive} survivors <mutants.json>`, with the reason for each; of the gaps {closed} are closed since.
"""
KINDS = ("gap", "effort", "same")


def kinds_of(found):
    """How many survivors are of each kind."""
    return {kind: sum(each["kind"] == kind for each in found["survivors"]) for kind in KINDS}


def written(found):
    """What the page says of a run."""
    counts = kinds_of(found)
    matter = found["killed"] + counts["gap"]
    share, bound = found["killed"] / matter, math.floor(1000 * at_least(found["killed"], matter)) / 10
    least = 100 * found["killed"] / (matter + counts["effort"])
    closed = sum("closed since" in each["reason"] for each in found["survivors"])
    counts |= {"alive": len(found["survivors"]), "closed": closed, "now": len(files())}
    return HEAD.format(**found, **counts, share=100 * share, bound=bound, least=least)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("cover", "run", "survivors", "page"))
    parser.add_argument("--sample", type=int, help="so many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=60.0, help="seconds of tests a mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="so many at once")
    parser.add_argument("--only", nargs="*", default=[], help="parts of files' names; for cover, of tests")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    given = parser.parse_args()
    sys.exit({"cover": cover, "run": run, "survivors": survivors, "page": page}[given.what](given))
