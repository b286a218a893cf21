"""Time other libraries, in an environment of their own: one JSON request a line in, one JSON answer a line out."""

import json
import sys
import time
import warnings

import numpy as np


def make_data(n, k):
    """Return n values from 0 to k-1, or n records if k lists domain sizes; always the same.

    Half of all values are 0, a quarter are 1, and so on.
    """
    shape = (n, len(k)) if isinstance(k, list) else n
    values = np.random.default_rng(1).geometric(0.5, shape) - 1
    return np.minimum(values, np.array(k) - 1)


def multi_freq_ldpy_grr(k, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    return lambda v: GRR_Client(v, k, epsilon), lambda y: GRR_Aggregator_MI(y, k, epsilon)


def multi_freq_ldpy_oue(k, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return lambda v: UE_Client(v, k, epsilon, True), lambda y: UE_Aggregator_MI(y, epsilon)


def multi_freq_ldpy_olh(k, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    return lambda v: LH_Client(v, k, epsilon), lambda y: LH_Aggregator_MI(y, k, epsilon)


def multi_freq_ldpy_spl(k, epsilon):
    from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Aggregator_MI, SPL_GRR_Client

    d = len(k)
    return lambda v: SPL_GRR_Client(v, k, d, epsilon), lambda y: SPL_GRR_Aggregator_MI(y, k, d, epsilon)


def multi_freq_ldpy_rsfd(k, epsilon):
    """Return RS+FD at a nominal epsilon; the sampled attribute gets log(d (exp(epsilon) - 1) + 1)."""
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Aggregator_MI, RSpFD_GRR_Client

    d = len(k)
    return lambda v: RSpFD_GRR_Client(v, k, d, epsilon), lambda y: RSpFD_GRR_Aggregator_MI(y, k, d, epsilon)


def pure_ldp(client, server, k):
    """Return the two sides of a pure-ldp oracle, whose values start at 1."""

    def estimate(reports):
        server.reset()
        server.aggregate_all(reports)
        return server.estimate_all(range(1, k + 1), suppress_warnings=True) / len(reports)

    return lambda v: client.privatise(v + 1), estimate


def pure_ldp_grr(k, epsilon):
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer

    return pure_ldp(DEClient(epsilon, k), DEServer(epsilon, k), k)


def pure_ldp_oue(k, epsilon):
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    return pure_ldp(UEClient(epsilon, k, use_oue=True), UEServer(epsilon, k, use_oue=True), k)


def pure_ldp_olh(k, epsilon):
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer

    return pure_ldp(LHClient(epsilon, k, use_olh=True), LHServer(epsilon, k, use_olh=True), k)


ORACLES = {
    ("multi-freq-ldpy", "GRR"): multi_freq_ldpy_grr,
    ("multi-freq-ldpy", "OUE"): multi_freq_ldpy_oue,
    ("multi-freq-ldpy", "OLH"): multi_freq_ldpy_olh,
    ("multi-freq-ldpy", "SPL"): multi_freq_ldpy_spl,
    ("multi-freq-ldpy", "RSFD"): multi_freq_ldpy_rsfd,
    ("pure-ldp", "GRR"): pure_ldp_grr,
    ("pure-ldp", "OUE"): pure_ldp_oue,
    ("pure-ldp", "OLH"): pure_ldp_olh,
}


def measure(library, mechanism, n, k, epsilon):
    """Return the processor seconds of all clients and the server, the estimate, and the first report's bytes."""
    perturb, estimate = ORACLES[library, mechanism](k, epsilon)
    x = make_data(n, k).tolist()  # plain ints are the faster input for both libraries
    perturb(x[0])  # compiles
    start = time.process_time()
    reports = [perturb(v) for v in x]
    estimated = estimate(reports)
    seconds = time.process_time() - start
    estimate = np.hstack(estimated).tolist()
    return {"seconds": seconds, "estimate": estimate, "bytes": size(reports[0])}


def witness(n, epsilon):
    """Return how often multi-freq-ldpy's RS+FD reports 00, from n records 00 and from n records 11."""
    perturb, _ = multi_freq_ldpy_rsfd([2, 2], epsilon)
    np.random.seed(1)  # noqa: NPY002  the library draws from NumPy's global state
    return [sum(list(perturb(record)) == [0, 0] for _ in range(n)) for record in ((0, 0), (1, 1))]


def reports(library, mechanism, x, x2, runs, k, epsilon):
    """Return what an observer who would tell x from x2 reads in each of `runs` reports of x, as integers."""
    import xxhash

    perturb, _ = ORACLES[library, mechanism](k, epsilon)
    perturb(x)  # compiles
    np.random.seed(1)  # noqa: NPY002  the libraries draw from NumPy's global state
    found = [perturb(x) for _ in range(runs)]
    if mechanism == "OLH":  # the bucket, and those of both values under the reported hash function
        g = round(np.exp(epsilon)) + 1
        return [[int(y), *(xxhash.xxh32(str(v), seed=seed).intdigest() % g for v in (x, x2))] for y, seed in found]
    if mechanism == "OUE":
        return [[int(y[x]), int(y[x2])] for y in found]
    return [np.atleast_1d(y).astype(int).tolist() for y in found]


def size(report):
    """Return the bytes of a report: an array's data, or the Python objects."""
    if isinstance(report, np.ndarray):
        return report.nbytes
    return sys.getsizeof(report) + (sum(map(sys.getsizeof, report)) if isinstance(report, tuple | list) else 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        answer = witness if "mechanism" not in request else reports if "runs" in request else measure
        print(json.dumps(answer(**request)), flush=True)
