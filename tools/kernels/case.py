"""A case: launches of kernels of a file with their buffers, and the values that buffers must have after them."""

import dataclasses
import zlib

import numpy as np


@dataclasses.dataclass
class Input:
    """A buffer with the values of an array."""

    values: np.ndarray


@dataclasses.dataclass
class Output:
    """A zeroed buffer that must contain the expected values in the end.

    `bound` is the largest difference allowed for each element, as an array or a number. `format` is that of elements for which NumPy has no type.
    """

    expected: np.ndarray
    bound: object = 0
    format: type = None

    def wrong_elements(self, values):
        """Returns which elements differ from the expected ones by more than allowed. Zeros of both signs are equal."""
        expected = self.expected
        if self.format:
            values, expected = self.format.decode(values), self.format.decode(expected)
        if np.isscalar(self.bound) and self.bound == 0:
            return values != expected
        difference = np.abs(values.astype(np.float64) - expected.astype(np.float64))
        return ~(difference <= self.bound)


@dataclasses.dataclass
class Scratch:
    """A buffer that the kernel writes before it reads it."""

    bytes: int


@dataclasses.dataclass
class Launch:
    """A launch; `arguments` are numbers and names of buffers. The size of dynamic shared memory is found by running the first case of the kernel."""

    kernel: str
    grid: list
    block: list
    arguments: list


@dataclasses.dataclass
class Case:
    """`name` states the sizes. `buffers` maps names to `Input`, `Output` and `Scratch`. A large case runs in one order only."""

    name: str
    buffers: dict
    launches: list
    is_large: bool = False


def generator(*words):
    """A generator of random numbers whose seed is determined by words."""
    return np.random.default_rng(zlib.crc32(" ".join(map(str, words)).encode()))


def whole_numbers(random, shape, most, dtype=np.float32):
    """Random whole numbers from -most to most."""
    return random.integers(-most, most, shape, endpoint=True).astype(dtype)


class Float16:
    """The format f16. Arrays of values are converted from and to arrays of elements."""

    unit = 2.0**-11

    @staticmethod
    def encode(values):
        return np.asarray(values).astype(np.float16)

    @staticmethod
    def decode(elements):
        return elements.astype(np.float32)


class BrainFloat16:
    """The format bf16, whose elements are unsigned integers in NumPy."""

    unit = 2.0**-8

    @staticmethod
    def encode(values):
        bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
        # Rounds to nearest, ties to even. The values are finite.
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)

    @staticmethod
    def decode(elements):
        return (elements.astype(np.uint32) << 16).view(np.float32)


def format_of(kernel):
    """The format of the factors and the result of a matrix product."""
    return BrainFloat16 if "bf16" in kernel.body else Float16
