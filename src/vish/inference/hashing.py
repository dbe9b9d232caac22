"""SplitMix64: 64 bits in, 64 bits out that look random; the same on every machine.

Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio, odd: what the generator's state grows by
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def mixed(z: np.ndarray) -> np.ndarray:
    """The generator's output at a state; a bijection.  [n] of uint64 -> [n]"""
    with np.errstate(over="ignore"):
        for shift, factor in _ROUNDS:
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))
