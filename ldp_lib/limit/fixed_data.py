"""The least error where the users' data are held fixed, and each user's mechanism may be another."""

import numpy as np

from ldp_lib.inputs import check_domain, check_population
from ldp_lib.limit.bound import least_error
from ldp_lib.population import Population


def fixed_data_error(k, epsilon, population):
    """Return the least total variance, times n, at data held fixed: the limit at a population of equal records.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, from 1e-6 to 20.
    population : Population
        The data. The bound is the same for all: renaming values turns any record into any other.

    Returns
    -------
    Limit
        No protocol whose estimates are unbiased for every data set has, at these data, a total variance below `error`
        divided by the number of users. It is attained if each user's mechanism is chosen with the own record known to
        the designer. No mechanism that does not know the data does as well everywhere: at some data set its variance is
        at least ``least_error(k, epsilon).error`` less the sum of 1 - 1/k_j, divided by n.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or the population has another domain.

    Notes
    -----
    Chapter `limit_attained`.
    """
    k = check_domain(k)
    check_population(population, k)
    alike = np.zeros((1, len(k)), dtype=int)
    return least_error(k, epsilon, Population.from_records(alike, k=k))
