"""Trace what rests on what: which functions of the library ran while each claim, each check and each test ran.

`python tools/rests_on.py` runs every chapter and the test files, each in a process of its own, and writes
`book/rests_on.json`: of the tests those that `make check` runs, and all that settle a claim. With names of chapters or
test files, these alone. `unused` then names the public functions that neither chapters nor these tests call. As a
pytest plugin, `-p tools.rests_on`, it traces the test file that runs.

When a module of the library is loaded, its public functions and methods are given a first line that says that they
run; nothing is wrapped, so each function is the same object wherever it is named. What a cache saves, it says again. A
claim of a chapter rests on what runs for its evidence and for the earlier statements whose names this evidence uses,
directly or through others. A claim of a test file rests on what its test runs.
"""

import ast
import contextlib
import dis
import functools
import importlib
import importlib.machinery
import inspect
import json
import linecache
import os
import pkgutil
import re
import subprocess
import sys
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = f"{ROOT / 'ldp_lib'}{os.sep}"
CLIENTS = (f"{ROOT / 'tests'}{os.sep}", f"{ROOT / 'notebooks'}{os.sep}")
STORE = ROOT / "book" / "rests_on.json"
# Those of the tests that try the library itself; tests/site and tests/tools try the book and how it is made.
FOLDERS = ("book", "claims", "core", "limit", "papers", "survey", "tables", "use")
# What every claim calls, and what draws: no result rests on it.
SILENT = ("book.claims", "book.figures", "book._chapter")


class Ran:
    """What ran: functions that a chapter or a test calls itself, all functions, and for each claim what followed it."""

    def __init__(self):
        self.direct, self.all, self.claims, self.last = {}, {}, {}, None

    def add(self, other):
        """Add what another one has."""
        for each in (self, self.last) if self.last else (self,):
            each.direct.update(other.direct)
            each.all.update(other.all)
        for claim, ran in other.claims.items():
            self.claims.setdefault(claim, Ran()).add(ran)


NOW = [Ran()]


@contextlib.contextmanager
def recording(keep=True):
    """Give what runs within; it counts for what is recorded around it too, unless it is not to be kept."""
    NOW.append(Ran())
    try:
        yield NOW[-1]
    finally:
        ran = NOW.pop()
        if keep:
            NOW[-1].add(ran)


def says(name, owner=None):
    """Note that a function runs, for an object or a class if it is a method; called by its first line."""
    kind = owner if isinstance(owner, type) else type(owner)
    ran, key = NOW[-1], (name, None if owner is None else kind)
    if name == "book.claims:claim":
        ran.last = ran.claims.setdefault(sys._getframe(1).f_locals["id"], Ran())
    notes = (ran, ran.last) if ran.last else (ran,)
    if key in notes[-1].direct:
        return
    for each in notes:
        each.all[key] = True
    frame = sys._getframe(2)
    while frame is not None and not (path := frame.f_code.co_filename).startswith(LIBRARY):
        if path.startswith(CLIENTS):
            for each in notes:
                each.direct[key] = True
            return
        frame = frame.f_back


def replay(cached):
    """Return a cached function that notes, where it answers from memory, what ran when it first computed the answer."""
    first = {}

    @functools.wraps(cached)
    def call(*args, **options):
        key = args, tuple(options.items())
        with recording() as ran:
            result = cached(*args, **options)
        if ran.all:
            first[key] = ran
        elif key in first:
            NOW[-1].add(first[key])
        return result

    call.cache_clear, call.cache_info = cached.cache_clear, cached.cache_info
    return call


class Replayed(functools.cached_property):
    """The same for a property."""

    def __get__(self, instance, owner=None):
        """Return the value, and note what computed it."""
        if instance is None:
            return self
        memory = self.__dict__.setdefault("memory", {})
        with recording() as ran:
            value = super().__get__(instance, owner)
        if ran.all:
            if id(instance) not in memory:
                weakref.finalize(instance, memory.pop, id(instance), None)
            memory[id(instance)] = ran
        elif id(instance) in memory:
            NOW[-1].add(memory[id(instance)])
        return value

    def __set__(self, instance, value):
        """Be asked before the instance's own dict is."""
        instance.__dict__[self.attrname] = value


class Instrument(ast.NodeTransformer):
    """Give public functions of a module their first line."""

    def __init__(self, module):
        self.module, self.within = module.removeprefix("ldp_lib").lstrip("."), []

    def visit_ClassDef(self, node):
        """Go on to the methods of a class."""
        self.within.append(node.name)
        self.generic_visit(node)
        self.within.pop()
        return node

    def visit_FunctionDef(self, node):
        """Add the line, and leave functions within functions alone."""
        written = [ast.unparse(each).removeprefix("functools.") for each in node.decorator_list]
        decorators = {each.partition("(")[0] for each in written}
        if decorators & {"cache", "lru_cache"}:
            node.decorator_list.insert(0, ast.Name("__replay__", ast.Load()))
        if "cached_property" in decorators:
            node.decorator_list = [ast.Name("__replayed__", ast.Load())]
        special = node.name.startswith("__") and node.name.endswith("__")
        if special or not node.name.startswith("_"):
            arguments = [ast.Constant(f"{self.module}:{'.'.join([*self.within, node.name])}")]
            taken = [*node.args.posonlyargs, *node.args.args]
            if self.within and taken and "staticmethod" not in decorators:
                arguments.append(ast.Name(taken[0].arg, ast.Load()))
            line = ast.Expr(ast.Call(ast.Name("__says__", ast.Load()), arguments, []))
            node.body.insert(int(ast.get_docstring(node, clean=False) is not None), line)
        return node


class Loader(importlib.machinery.SourceFileLoader):
    """Load a module of the library with these lines; what runs while it is loaded is of no statement."""

    def get_code(self, fullname):
        """Compile anew; no stored bytecode is read or written."""
        tree = Instrument(fullname).visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        """Run the module with the names that the lines use."""
        vars(module).update(__says__=says, __replay__=replay, __replayed__=Replayed)
        with recording(keep=False):
            super().exec_module(module)


class Finder:
    """Find the modules of this folder's library."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return a module's spec with the loader above."""
        if name.partition(".")[0] != "ldp_lib":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path or [str(ROOT)], target)
        if spec is not None and spec.origin:
            spec.loader = Loader(name, spec.origin)
        return spec


def start():
    """Trace the library from now on; it must not have been imported."""
    assert "ldp_lib" not in sys.modules, "the library was imported before the trace began"
    sys.meta_path.insert(0, Finder)


def replay_all(names):
    """Have a module's own caches say again what they save."""
    for name, value in list(names.items()):
        if isinstance(value, functools._lru_cache_wrapper):
            names[name] = replay(value)


@functools.cache
def public():
    """Return the public functions and classes, by their shortest names without the library's.

    A name from a private module is public if a package takes it over, or the library itself.
    """
    import ldp_lib

    found = {}
    with recording(keep=False):
        for each in pkgutil.walk_packages(ldp_lib.__path__, "ldp_lib."):
            short = each.name.removeprefix("ldp_lib.")
            if any(part.startswith("_") for part in short.split(".")):
                continue
            for name, thing in vars(importlib.import_module(each.name)).items():
                home = (getattr(thing, "__module__", None) or "").removeprefix("ldp_lib.")
                own = home == short or (each.ispkg and home.startswith(f"{short}."))
                if own and not home.startswith(SILENT) and not name.startswith("_") and _is_function_or_class(thing):
                    found.setdefault(thing, []).append(f"{short}.{name}")
        for name, home in ldp_lib._HOME.items():
            thing = getattr(ldp_lib, name)
            if _is_function_or_class(thing):
                found.setdefault(thing, []).append(f"{home}.{name}")
    return {thing: min(names, key=lambda name: (name.count("."), name)) for thing, names in found.items()}


def _is_function_or_class(thing):
    return inspect.isclass(thing) or inspect.isfunction(inspect.unwrap(thing))  # also a function with a cache


def names(keys, methods=False):
    """Return the public names of what ran, sorted; a method counts for its object's class, or stands for itself."""
    known, found = public(), set()
    places = {f"{thing.__module__.removeprefix('ldp_lib.')}:{thing.__qualname__}": thing for thing in known}
    for place, kind in keys:
        outer, _, part = place.rpartition(".") if "." in place.partition(":")[2] else (place, "", "")
        of = places.get(outer) if kind is None else next((each for each in kind.__mro__ if each in known), None)
        if of is not None:
            found.add(f"{known[of]}.{part}" if methods and part and not part.startswith("__") else known[of])
    return sorted(found)


def entry(ran):
    """Return what a claim, a check or a test rests on: what it calls itself, and what that calls in turn."""
    functions = names(ran.direct)
    return {"functions": functions, "through": sorted(set(names(ran.all)) - set(functions))}


def changed(statement):
    """Return the names that a statement of a chapter binds or changes in place."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            while isinstance(node, ast.Subscript | ast.Attribute):
                node = node.value
            found |= {node.id} if isinstance(node, ast.Name) else set()
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # such as rows.append(row)
            part = node.value.func
            found |= {part.value.id} if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) else set()
    return found


def rests(statements):
    """Return for each statement the numbers of those whose names it uses, directly or through others, and its own.

    And for each claim that is named in a statement the same without its own number, by the names in its own evidence.
    """
    bound, needs, of_claims = {}, [], {}
    for number, statement in enumerate(statements):
        needs.append({number} | used(statement, bound, needs))
        for node in ast.walk(statement):
            made = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            named = isinstance(made, ast.Call) and ast.unparse(made.func) == "claim"
            if named and isinstance(made.args[0], ast.Constant):
                of_claims[number, made.args[0].value] = used(node, bound, needs)
        bound.update(dict.fromkeys(changed(statement), number))
    return needs, of_claims


def used(node, bound, needs):
    """Return the numbers of the statements whose names a piece of code uses, and of those which these need."""
    tree = ast.Expression(node) if isinstance(node, ast.expr) else ast.Module([node], [])
    found, codes = set(), [compile(tree, "<used>", "eval" if isinstance(node, ast.expr) else "exec")]
    while codes:  # the names of a function's own variables are not among them
        code = codes.pop()
        found |= {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_NAME", "LOAD_GLOBAL")}
        codes += [each for each in code.co_consts if inspect.iscode(each)]
    return set().union(*(needs[bound[name]] for name in found if name in bound))


def trace_chapter(path):
    """Run a chapter's statements one by one; return what its claims and its other checks rest on."""
    import matplotlib as mpl
    from IPython.display import display

    mpl.use("agg")
    warnings.simplefilter("ignore")
    os.chdir(path.parent)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    space, statements, traces = {"__name__": "__main__", "display": display}, [], []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        source, name = "".join(cell["source"]), str(path.with_suffix(f".{number}"))
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        for statement in ast.parse(source).body:
            with recording() as ran:
                exec(compile(ast.Module([statement], []), name, "exec"), space)
            replay_all(space)
            statements.append(statement)
            traces.append(ran)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    claims, others = {}, Ran()
    needs, of_claims = rests(statements)
    for number, trace in enumerate(traces):
        for claim, own in trace.claims.items():
            whole = claims.setdefault(claim, Ran())
            named = (number, claim) in of_claims
            whole.add(own if named else trace)
            for need in of_claims[number, claim] if named else needs[number]:
                whole.add(traces[need])
        if not trace.claims and any(place.startswith("check") for place, _ in trace.direct):
            for need in needs[number]:
                others.add(traces[need])
    return {"claims": {id: entry(ran) for id, ran in sorted(claims.items())}, "checks": entry(others)}


# As a plugin of pytest.

TESTS, FIXTURES = {}, {}
ENDED = 0, 5  # all passed, or all are for later


def pytest_configure(config):
    """Begin before any test file is read, if a trace is asked for."""
    if "RESTS_ON" in os.environ:
        start()


def pytest_collection_finish(session):
    """Have the caches of the test files say again what they save."""
    for module in {item.module for item in session.items if hasattr(item, "module")}:
        replay_all(vars(module))


@contextlib.contextmanager
def _fixture(fixturedef):
    with recording() as ran:
        yield
    FIXTURES.setdefault(fixturedef, Ran()).add(ran)


def _hook(function):
    """Return a function as a wrapper among pytest's hooks."""
    try:
        import pytest
    except ImportError:
        return function
    return pytest.hookimpl(wrapper=True)(function)


@_hook
def pytest_fixture_setup(fixturedef, request):
    """Note what runs while a fixture is made: every test that uses it rests on it."""
    with _fixture(fixturedef):
        return (yield)


@_hook
def pytest_runtest_protocol(item, nextitem):
    """Note what a test runs."""
    with recording() as ran:
        result = yield
    for definitions in item._fixtureinfo.name2fixturedefs.values() if hasattr(item, "_fixtureinfo") else ():
        for each in definitions:
            ran.add(FIXTURES.get(each, Ran()))
    TESTS[item.nodeid] = ran
    return result


def pytest_sessionfinish(session, exitstatus):
    """Write what the test file rests on."""
    if "RESTS_ON" in os.environ and exitstatus in ENDED:
        whole, claims = NOW[0], {}  # all that ran, while the file was read too
        for ran in TESTS.values():
            for claim in ran.claims:
                claims.setdefault(claim, Ran()).add(ran)
        found = {"claims": {id: entry(ran) for id, ran in sorted(claims.items())}, **entry(whole)}
        write(Path(os.environ["RESTS_ON"]), found, whole)


# All of them.


def write(path, found, whole):
    """Write a trace, with the methods that ran, which the page does not show."""
    path.write_text(json.dumps({"found": found, "methods": names(whole.all, methods=True)}), encoding="utf-8")


def places():
    """Return what there is to trace: slugs of chapters and names of test files."""
    chapters = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    tests = [path for folder in FOLDERS for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
    return chapters + [path.relative_to(ROOT).as_posix() for path in tests]


def trace(place, folder):
    """Trace one chapter or test file in a process of its own; return what it rests on, and the methods that ran."""
    out = Path(folder).resolve() / f"{place.replace('/', '-')}.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__)), "chapter", place]
    if "/" in place:
        quiet = ["-q", "-p", "no:cacheprovider", "-p", "tools.rests_on"]
        which = [] if place.startswith("tests/claims/") else ["-m", "not slow and not thorough"]
        command = [sys.executable, "-m", "pytest", *quiet, *which, place]
    settings = {"RESTS_ON": str(out), "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True)
    if done.returncode not in ENDED or not out.is_file():
        raise RuntimeError(f"{place} failed while it was traced:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    done = json.loads(out.read_text(encoding="utf-8"))
    if "/" in place and not place.startswith("tests/claims/"):
        done["found"]["claims"] = {}  # made to try the ledger, and settled elsewhere
    return done["found"], done["methods"]


def main(wanted):
    """Trace what is wanted, or all, and store it."""
    folder = ROOT / "_build" / "rests_on"
    folder.mkdir(parents=True, exist_ok=True)
    every = places()
    if unknown := set(wanted) - set(every):
        sys.exit(f"no chapter or test file: {', '.join(sorted(unknown))}")
    stored = json.loads(STORE.read_text(encoding="utf-8")) if wanted and STORE.exists() else {}
    stored = {place: found for place, found in stored.items() if place in every}
    failed = []
    with ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 2))) as pool:
        for place, work in [(place, pool.submit(trace, place, folder)) for place in wanted or every]:
            try:
                stored[place] = work.result()[0]
                print(place, flush=True)
            except RuntimeError as error:
                failed.append(str(error))
    text = json.dumps({place: stored[place] for place in every if place in stored}, indent=1)
    # A list of names on one line: one changed claim is one changed line.
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text)
    STORE.write_text(text + "\n", encoding="utf-8")
    if failed:
        sys.exit("\n".join(failed))


def kin(thing):
    """Return how the names of the methods of a class and of the public classes made from it begin."""
    return tuple(f"{name}." for each, name in public().items() if thing in getattr(each, "__mro__", ()))


def unused():
    """Print the public functions, classes and methods that no traced chapter or test runs."""
    ran = set()
    for path in (ROOT / "_build" / "rests_on").glob("*.json"):
        ran |= set(json.loads(path.read_text(encoding="utf-8"))["methods"])
    for thing, name in sorted(public().items(), key=lambda item: item[1]):
        missing = [] if name in ran else [name]
        if inspect.isclass(thing):  # what a class is given, or leaves to its kin, is theirs
            parts = {part: getattr(each, "fget", getattr(each, "func", each)) for part, each in vars(thing).items()}
            own = f"{thing.__qualname__}."
            parts = [
                p for p, each in parts.items() if getattr(each, "__qualname__", "").startswith(own) and p[0] != "_"
            ]
            called = {place.rpartition(".")[2] for place in ran if place.startswith(kin(thing))}
            missing = [f"{name}.{part}" for part in parts if part not in called]
        print("".join(f"{each}\n" for each in missing), end="")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    if sys.argv[1:2] == ["chapter"]:
        start()
        with contextlib.redirect_stdout(open(os.devnull, "w", encoding="utf-8")), recording() as everything:
            result = trace_chapter(ROOT / "notebooks" / f"{sys.argv[2]}.ipynb")
        write(Path(os.environ["RESTS_ON"]), result, everything)
    elif sys.argv[1:2] == ["unused"]:
        unused()
    else:
        main(sys.argv[1:])
