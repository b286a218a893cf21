"""Measure this library against others, in one run on one machine, as ratios; `make bench` calls it.

The other libraries run in an environment of their own, made here from requirements.lock. Each repetition times this
library and the others in turn, and gives one ratio; the table shows the median, the least and the greatest of them.
"""

import hashlib
import json
import platform
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

import numpy as np
import scale
from adult import measures
from joint_tables import measures as table_measures
from peer import make_data
from report import FULL

from ldp_lib import jrr
from ldp_lib.book import printed_jrr, printed_values
from ldp_lib.corr_rr import CorrRR, syn_a
from ldp_lib.fake_data import RSFD, amplified
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.grr import GRR
from ldp_lib.hashing import OLH
from ldp_lib.population import Population
from ldp_lib.splitting import SPL
from ldp_lib.unary import OUE

HERE = Path(__file__).parent
EPSILON = 1.0
OURS = {"GRR": GRR, "OUE": OUE, "OLH": OLH}
PEERS = ("multi-freq-ldpy", "pure-ldp")
# mechanism, n, k, times faster than multi-freq-ldpy at least, repetitions
MANY = [10, 10, 10, 10]  # four attributes
# mechanism, times faster than multi-freq-ldpy at least for all users, and for one simulated trial
MANY_TARGETS = (("SPL", 40, 250), ("RSFD", 100, 500))
AGAINST_PEERS = (("GRR", 100_000, 10, 50, 15), ("OUE", 10_000, 100, 15, 9), ("OLH", 10_000, 100, 25, 9))


def peer_python():
    """Return the interpreter of the others' environment, made anew when the lock has changed."""
    folder, lock = HERE / ".venv", HERE / "requirements.lock"
    stamp, wanted = folder / "lock.sha256", hashlib.sha256(lock.read_bytes()).hexdigest()
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print("Setting up benchmarks/.venv for the other libraries.", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", lock], check=True)
        stamp.write_text(wanted)
    return python


def seconds(call, least=5):
    """Return the median processor time of a call, over 20 ms of calls and at least five, after one unmeasured."""
    if least > 1:
        call()
    times, end = [], time.process_time() + 0.02
    while len(times) < least or time.process_time() < end:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def require_near_truth(library, mechanism, estimate, population):
    """Stop unless the estimate is less than twice as far from the truth as theory expects of an unclipped estimate.

    multi-freq-ldpy clips and rescales, which moves its estimates by about half of that.
    """
    error = np.linalg.norm(np.hstack(estimate) - np.hstack(mechanism.mean(population)))
    allowed = 2 * np.sqrt(np.hstack(mechanism.variance(population)).sum())
    if not error < allowed:
        sys.exit(f"{library}'s estimate for {mechanism} is {error:.3f} from the truth, not below {allowed:.3f}.")


def ratios_to_peers(ask):
    """Yield, for each mechanism and other library, how many times this library is faster, and the report sizes."""
    for mechanism, n, k, target, repetitions in AGAINST_PEERS:
        ours = OURS[mechanism](k=k, epsilon=EPSILON)
        rng = np.random.default_rng(1)
        x = make_data(n, k)
        population = Population.from_records(x, k=k)
        reports = ours.perturb(x, rng=rng)
        require_near_truth("this library", ours, ours.estimate(reports), population)
        request = {"mechanism": mechanism, "n": n, "k": k, "epsilon": EPSILON}
        ratios, sizes = {library: [] for library in PEERS}, {"ldp_lib": reports.itemsize * reports[0].size}
        for _ in range(repetitions):
            for library in PEERS:
                mine = seconds(lambda: ours.estimate(ours.perturb(x, rng=rng)))  # noqa: B023
                theirs = ask({"library": library, **request})
                require_near_truth(library, ours, theirs["estimate"], population)
                ratios[library].append(theirs["seconds"] / mine)
                sizes[library] = theirs["bytes"]
        yield mechanism, n, k, target, ratios, sizes, reports.dtype


def many_attributes(ask, n=10_000, repetitions=15):
    """Yield a table row for each mechanism on four attributes: all users, and one simulated trial of 100.

    multi-freq-ldpy's RS+FD amplifies its epsilon, so this library's runs with the amplified one.
    """
    x = make_data(n, MANY)
    population = Population.from_records(x, k=MANY)
    whole = {"SPL": EPSILON, "RSFD": float(np.log(amplified(np.exp(EPSILON), len(MANY))))}
    for mechanism, at_user_level, simulated in MANY_TARGETS:
        ours = {"SPL": SPL, "RSFD": RSFD}[mechanism](k=MANY, epsilon=whole[mechanism])
        rng = np.random.default_rng(1)
        require_near_truth("this library", ours, ours.estimate(ours.perturb(x, rng=rng)), population)
        users, trials = [], []
        for _ in range(repetitions):
            mine = seconds(lambda: ours.estimate(ours.perturb(x, rng=rng)))  # noqa: B023
            trial = seconds(lambda: ours.simulate(population, rng=rng, runs=100)) / 100  # noqa: B023
            theirs = ask({"library": "multi-freq-ldpy", "mechanism": mechanism, "n": n, "k": MANY, "epsilon": EPSILON})
            require_near_truth("multi-freq-ldpy", ours, theirs["estimate"], population)
            users.append(theirs["seconds"] / mine)
            trials.append(theirs["seconds"] / trial)
        name = f"{mechanism}, n = {n:,}, d = 4, k = 10"
        yield row(f"{name}: times faster than multi-freq-ldpy", users, at_user_level)
        yield row(f"{name}: times faster by `simulate`, for each of 100 trials", trials, simulated)


def witness(ask, n=1_000_000):
    """Return what multi-freq-ldpy's RS+FD client shows on the two-coin witness of the chapter `audit_baselines`.

    At a nominal exp(epsilon) = 2 the report 00 should be at most twice as likely from record 00 as from record 11.
    """
    first, second = ask({"n": n, "epsilon": float(np.log(2))})
    excess = (first - 2 * second) / np.sqrt(first * (1 - first / n) + 4 * second * (1 - second / n))
    errors = [abs(c / n - p) / np.sqrt(p * (1 - p) / n) for c, p in ((first, 3 / 8), (second, 1 / 8))]
    if not (max(errors) < 5 < excess):
        sys.exit(f"The witness gives {first} and {second} of {n}, not 3/8 and 1/8.")
    return (
        f"multi-freq-ldpy's RS+FD client at epsilon = ln 2, two binary attributes, {n:,} reports each: 00 is reported "
        f"by {first / n:.4f} of the records 00 and by {second / n:.4f} of the records 11, a ratio of "
        f"{first / second:.3f} where exp(epsilon) = 2. Expected: 3/8, 1/8 and 3 (`audit_baselines`). The excess "
        f"over a ratio of 2 is {excess:.0f} standard errors."
    )


def simulation(k, runs=1000, sizes=(10**3, 10**9), repetitions=21):
    """Return the seconds of one simulated GRR trial at each n, and the ratio of the greatest n to the least."""
    rng, grr = np.random.default_rng(1), GRR(k=k, epsilon=EPSILON)
    shares = np.bincount(make_data(1000, k), minlength=k)
    populations = [Population.from_counts(shares * (n // 1000)) for n in sizes]
    trials = [
        [seconds(lambda: grr.simulate(population, rng=rng, runs=runs)) / runs for population in populations]  # noqa: B023
        for _ in range(repetitions)
    ]
    return np.array(trials).T, [large / small for small, large in trials]


def joint(sizes=(20, 200, 2_000, 20_000, 200_000, 2_000_000), repetitions=15):
    """Yield the table rows of joint randomized response, then the seconds behind them.

    The panel is that of the JRR paper's Figure 4(a): 1,000 runs of JRR for each number of users and three shares of
    ones, and of randomized response. Its yardstick is one round of JRR for all users of the greatest n.
    """
    rng, n = np.random.default_rng(1), sizes[-1]
    design = {"epsilon": 0.01, "colluders": 5}
    x = (make_data(n, 10) == 0).astype(np.uint8)
    pairs = {size: printed_jrr.algorithm_1(**design, n=size) for size in sizes}
    people = {size: [Population.from_counts([size - c, c]) for c in (size // 100, size // 10, size)] for size in sizes}
    mechanism = jrr.JRR(p=pairs[n][0], rho=pairs[n][1])

    def panel(chosen=sizes):
        for size in chosen:
            p, rho = printed_jrr.algorithm_1(**design, n=size)
            for mechanism in (jrr.JRR(p=p, rho=rho), jrr.JRR(p=1 / (1 + np.exp(-0.01)), rho=0.0)):
                for population in people[size]:
                    mechanism.simulate(population, rng=rng, runs=1000)

    calls = {
        "panel": panel,
        "least": lambda: panel(sizes[:1]),
        "greatest": lambda: panel(sizes[-1:]),
        "perturb": lambda: mechanism.perturb(x, rng=rng),
        "random": lambda: rng.random(n),
        "optimum": lambda: jrr.optimal_parameters(**design, n=10_000),
        "search": lambda: printed_jrr.algorithm_1(**design, n=10_000),
    }
    times = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            times[name].append(seconds(call))

    def over(above, below, scale=1):
        return [scale * a / b for a, b in zip(times[above], times[below], strict=True)]

    name = f"JRR perturb, n = {n:,}: share of the rate of `rng.random(n)`"
    yield row(name, over("random", "perturb", 100), 5, unit=" %")
    name = f"JRR, Figure 4(a), {len(sizes)} sizes, 1,000 runs a point: time over one perturb of {n:,} users"
    yield row(name, over("panel", "perturb"), 10, at_least=False)
    yield row(
        f"JRR, one size of that panel: time at n = {n:,} over time at n = 20",
        over("greatest", "least"),
        2,
        at_least=False,
    )
    yield row("JRR, `optimal_parameters`: time over Algorithm 1", over("optimum", "search"), 0.1, at_least=False)
    middle = {name: statistics.median(values) for name, values in times.items()}
    yield (
        f"Processor seconds for JRR on the machine of this run: Figure 4(a) {middle['panel']:.3f}, perturb of {n:,} "
        f"users {middle['perturb']:.3f}, `optimal_parameters` {middle['optimum']:.1e}."
    )


def corr_rr(repetitions=7):
    """Yield a table row for each of the Corr-RR paper's experiments that are timed, and one for a million users."""
    rng = np.random.default_rng(1)

    def figure_3(run):
        for epsilon in (0.1, 0.2, 0.3, 0.4, 0.5):
            population = syn_a(20_000, d=4, rho=0.5, frequencies=(0.4, 0.3, 0.2, 0.1), rng=rng)
            one = {"k": population.k, "epsilon": epsilon}
            for mechanism in (SPL(**one), RSFD(**one), TwoPhaseRSRFD(**one, n1=4000), CorrRR(**one, n1=4000)):
                run(mechanism, population)

    def simulated(mechanism, population, runs=100):
        mechanism.simulate(population, rng=rng, runs=runs)

    def by_user(mechanism, population):
        mechanism.estimate(mechanism.perturb(population.users(), rng=rng))

    def tables():
        methods = {"RS+RFD": TwoPhaseRSRFD, "Corr-RR": CorrRR}
        for _, n, name, epsilon, n1, _ in printed_values.load("corr_rr_tables").itertuples(index=False):
            population = syn_a(n, d=2, rho=0.1, frequencies=(0.25,) * 4, rng=rng)
            simulated(methods[name](k=(4, 4), epsilon=epsilon, n1=n1), population, runs=1000)

    def once(call, *arguments):
        start = time.process_time()
        call(*arguments)
        return time.process_time() - start

    subplot, ratios = [], []
    for _ in range(repetitions):
        subplot.append(once(figure_3, simulated))
        ratios.append(100 * once(figure_3, by_user) / subplot[-1])
    name = "Corr-RR's Figure 3, one part (5 budgets, 4 mechanisms, 100 runs, n = 20,000, d = 4, k = 4)"
    yield row(f"{name}: seconds", subplot, 2, at_least=False, unit=" s")
    yield row(f"{name}: times faster than 100 runs of all users", ratios, 5)
    name = "Corr-RR's Tables 4 to 9, 360 cells of 1,000 runs: seconds"
    yield row(name, [once(tables) for _ in range(3)], 30, at_least=False, unit=" s")
    users = syn_a(1_000_000, d=4, rho=0.5, frequencies=(0.4, 0.3, 0.2, 0.1), rng=rng).users()
    whole = CorrRR(k=(4,) * 4, epsilon=EPSILON, n1=100_000)
    times = [once(lambda: whole.estimate(whole.perturb(users, rng=rng))) for _ in range(repetitions)]
    yield row("Corr-RR, n = 1,000,000, d = 4, k = 4, all users: seconds", times, 1, at_least=False, unit=" s")


def row(name, values, target, *, at_least=True, unit=""):
    middle = statistics.median(values)
    numbers = " | ".join(f"{float(f'{value:.3g}'):,g}{unit}" for value in (middle, min(values), max(values)))
    if target is None:
        return f"| {name} | {numbers} | | |"
    met = middle >= target if at_least else middle < target
    sign = "at least" if at_least else "below"
    return f"| {name} | {numbers} | {sign} {target}{unit} | {'met' if met else 'missed'} |"


def times_table(measures):
    """Return a table of times and memory on this machine."""
    header = ["| what | median | least | greatest | target | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    rows = [row(name, values, target, at_least=False, unit=unit) for name, values, target, unit in measures(seconds)]
    return header + rows


def scale_table():
    """Return a table of `benchmarks/scale.py`: shares of rates, times and memory."""
    header = ["| what | median | least | greatest | target | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    shares = [*scale.coin_rows(seconds), *scale.thread_rows()]
    rows = [row(name, values, target, unit=" %") for name, values, target in shares]
    for name, values, target, unit in [*scale.size_rows(seconds), *scale.decision_rows(seconds)]:
        rows.append(row(name, values, target, at_least=False, unit=unit))
    rows += [
        row(name, values, target, at_least=up, unit=unit) for name, values, target, unit, up in scale.file_rows(seconds)
    ]
    return header + rows


def main():
    with subprocess.Popen(
        [peer_python(), HERE / "peer.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:

        def ask(request):
            worker.stdin.write(json.dumps(request) + "\n")
            worker.stdin.flush()
            answer = worker.stdout.readline()
            if not answer:
                sys.exit(f"The other libraries' process stopped at {request}.")
            return json.loads(answer)

        speed, memory = [], []
        for mechanism, n, k, target, ratios, sizes, dtype in ratios_to_peers(ask):
            for library in PEERS:
                name = f"{mechanism}, n = {n:,}, k = {k}: times faster than {library}"
                speed.append(row(name, ratios[library], target))
            theirs = " | ".join(str(sizes[library]) for library in PEERS)
            memory.append(f"| {mechanism}, k = {k} | {dtype} | {sizes['ldp_lib']} | {theirs} |")
        speed += many_attributes(ask)
        seen = witness(ask)
        worker.stdin.close()
    speed += corr_rr()
    per_trial = []
    for k in (2, 10):
        trials, ratios = simulation(k)
        speed.append(row(f"GRR simulate, k = {k}: time at n = 1e9 over time at n = 1e3", ratios, 1.5, at_least=False))
        per_trial.append([f"{1e6 * statistics.median(times):.2f}" for times in trials])
    *paired, paired_seconds = joint()
    speed += paired
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. The table holds ratios, each of two times from one run on one machine: they carry",
        "over to other machines far better than seconds do; a row that gives seconds says so. Times against other",
        "libraries are of client and server together, for all users, at epsilon = 1. Each row gives the median of",
        "repetitions, paired and interleaved for ratios, and their least and greatest. Times are processor time, so",
        "that other work on the machine counts on neither side.",
        "A time counts only if the estimate is near the truth.",
        "",
        f"Python {platform.python_version()}, NumPy {np.__version__}, multi-freq-ldpy 0.2.5, pure-ldp 1.2.0.",
        "",
        "| what | median | least | greatest | target | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        *speed,
        "",
        "Microseconds a simulated GRR trial, 1,000 in a batch, on the machine of this run: "
        + "; ".join(f"k = {k}: {a} at n = 1e3, {b} at n = 1e9" for k, (a, b) in zip((2, 10), per_trial, strict=True))
        + ".",
        "",
        paired_seconds,
        "",
        seen,
        "",
        "Coins, and counting: `perturb` against one float64 of NumPy's generator for each answer that it reads.",
        "Of one attribute with 10 values, or with 2, or of all of Adult's eight attributes, or of eight with 4 values.",
        "Threads are timed by the wall clock: two cores were free for them only if the generator itself has twice the",
        "rate on two. Times and memory are those of the machine of this run:",
        "",
        *scale_table(),
        "",
        "Multi-dimensional randomized response on all of Adult, each attribute kept with probability 0.5. These are",
        "times of the machine of this run, a ratio and a size of memory:",
        "",
        *times_table(measures),
        "",
        "Joint tables; times of the machine of this run, and sizes of memory:",
        "",
        *times_table(table_measures),
        "",
        "Bytes a report (this library: one entry of the array; the others: the array's data or the Python objects):",
        "",
        "| mechanism | type | ldp_lib | multi-freq-ldpy | pure-ldp |",
        "| --- | --- | ---: | ---: | ---: |",
        *memory,
    ]
    missed = [line.split(" | ")[0].removeprefix("| ") for line in lines if line.endswith("| missed |")]
    lines += ["", f"Below target: {'; '.join(missed) or 'nothing'}."]
    FULL.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
