"""Random numbers that nobody can predict, for real reports."""

import secrets

import numpy as np


def generator() -> np.random.Generator:
    """Return a cryptographically secure generator: ChaCha20 with a key of 256 bits from the operating system.

    It takes the place of ``numpy.random.default_rng()``. Its numbers cost two to seven times as much, a `perturb` up to
    about three times. It is neither reproducible nor to be shared with a copy of the process, or sent to another one:
    these would draw the same numbers. What its `spawn` derives has at most 128 bits.

    Raises
    ------
    ImportError
        Without the package randomgen, which the extra `secure` installs.

    Notes
    -----
    Page `security`.
    """
    try:
        from randomgen import ChaCha
    except ImportError:
        raise ImportError('a secure generator needs the package randomgen: pip install "ldp-lib[secure]"') from None
    return np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))
