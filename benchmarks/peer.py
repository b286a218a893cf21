"""Time other libraries, in an environment of their own: one JSON request a line in, one JSON answer a line out."""

import json
import sys
import time
import warnings

import numpy as np


def make_data(n, k):
    """Return n values from 0 to k-1, half of them 0, a quarter 1, and so on; always the same."""
    values = np.random.default_rng(1).geometric(0.5, n) - 1
    return np.minimum(values, k - 1)


def multi_freq_ldpy_grr(k, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    return lambda v: GRR_Client(v, k, epsilon), lambda y: GRR_Aggregator_MI(y, k, epsilon)


def multi_freq_ldpy_oue(k, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return lambda v: UE_Client(v, k, epsilon, True), lambda y: UE_Aggregator_MI(y, epsilon)


def multi_freq_ldpy_olh(k, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    return lambda v: LH_Client(v, k, epsilon), lambda y: LH_Aggregator_MI(y, k, epsilon)


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
    return {"seconds": seconds, "estimate": list(map(float, estimated)), "bytes": size(reports[0])}


def size(report):
    """Return the bytes of a report: an array's data, or the Python objects."""
    if isinstance(report, np.ndarray):
        return report.nbytes
    return sys.getsizeof(report) + (sum(map(sys.getsizeof, report)) if isinstance(report, tuple) else 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(measure(**json.loads(line))), flush=True)
