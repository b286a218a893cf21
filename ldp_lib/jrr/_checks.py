"""Checks of the arguments of `jrr`."""

import numbers

import numpy as np

from ldp_lib import _inputs
from ldp_lib.jrr._formulas import rho_range


def check_p(p, k=2):
    """Check p of `table`; the error says which range is allowed."""
    check_number("p", p)
    if not 1 / k < p <= 1:
        raise ValueError(f"p must be above 1/k = {1 / k:g} and at most 1; got {p!r}")


def check_parameters(p, rho, k=2):
    """Check p and rho of `table`; the error says which range is allowed."""
    check_p(p, k)
    check_number("rho", rho)
    low, high = rho_range(p, k)
    if not low * (1 + 1e-12) - 1e-15 <= rho <= high:
        raise ValueError(f"rho must be from {float(low):.12g} to {high} for p = {float(p):g} and k = {k}; got {rho!r}")


def check_pairs(p, rho, n=1, colluders=0, signed=""):
    """Check p, rho and both numbers of users, returned as Python's integers, which do not wrap around.

    `signed` says what it is for if rho must be at most 0.
    """
    check_parameters(p, rho)
    check_colluders(n, colluders)
    if signed and rho > 0:
        raise ValueError(f"rho must be at most 0 for {signed}; got {rho!r}")
    return int(n), int(colluders)


def check_negative(mechanism):
    """Raise ValueError if a mechanism by opposite signs has a positive rho."""
    if mechanism.rho_ > 0:
        low, name = rho_range(mechanism.p_)[0], type(mechanism).__name__
        raise ValueError(f"rho must be from {low:.12g} to 0 for {name}; got {mechanism.rho_!r}")


def check_number(name, value):
    """Raise TypeError unless the value is a real number; a bool is none."""
    _inputs.require_one(name, value, numbers.Real, lambda v: True, "a number")


def check_users(population):
    """Return the number of users, or raise ValueError if they are too many for a hypergeometric distribution."""
    if population.n >= 10**9:
        raise ValueError(f"population must have less than 10**9 users to be simulated; got n = {population.n}")
    return population.n


def check_design(epsilon, n, colluders):
    """Check a budget, a number of users and one of colluders; the error says what is allowed."""
    _inputs.require(epsilon=epsilon)
    check_colluders(n, colluders)


def check_colluders(n, colluders=0):
    """Check a number of users, at least 1, and of colluders, 0 to n-1."""
    for name, value in (("n", n), ("colluders", colluders)):
        if not _inputs.is_integer(value):
            raise TypeError(f"{name} must be an integer; got {value!r}")
    if n < 1:
        raise ValueError(f"n must be an integer of at least 1; got {n!r}")
    if not 0 <= colluders < n:
        raise ValueError(f"colluders must be from 0 to n - 1 = {n - 1}; got {colluders!r}")


def check_epsilons(epsilon):
    """Return exp(epsilon) with a last axis of length 1, after checking that every epsilon is a number of at least 0."""
    value = np.asarray(epsilon)
    if value.dtype.kind not in "iuf" or not ((value >= 0) & (value <= 700)).all():
        raise ValueError(f"epsilon must be a number from 0 to 700, or an array of such; got {epsilon!r}")
    return np.exp(value.astype(float))[..., None]
