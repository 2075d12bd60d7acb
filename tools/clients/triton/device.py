"""Arrays in the memory of the device, with the functions of the CUDA driver, and the list of tests."""

import ctypes
import dataclasses

import ml_dtypes
import numpy as np

cuda = ctypes.CDLL("libcuda.so.1")

# The names of Triton's types, by NumPy's.
TYPES = {
    "bool": "i1",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
}

BFLOAT16 = ml_dtypes.bfloat16
FLOAT8_E4M3 = ml_dtypes.float8_e4m3fn
FLOAT8_E5M2 = ml_dtypes.float8_e5m2


def call(name, *arguments):
    """Calls a function of the driver, which must succeed."""
    status = getattr(cuda, name)(*arguments)
    if status:
        raise RuntimeError(f"{name} returned {status}")


class ElementType(str):
    """The name of a type in Triton, with its size in bytes, which descriptors of the host ask for."""

    itemsize = 0


class Array:
    """A copy of a NumPy array on the device. Triton asks for `data_ptr` and `dtype`; a descriptor also for `shape` and `stride`."""

    def __init__(self, values):
        values = np.ascontiguousarray(values)
        self.shape = values.shape
        self.numpy_type = values.dtype
        self.dtype = ElementType(TYPES[values.dtype.name])
        self.dtype.itemsize = values.dtype.itemsize
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(values.nbytes, 1)))
        self.address = address.value
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes))

    def __del__(self):
        cuda.cuMemFree_v2(ctypes.c_uint64(self.address))

    def data_ptr(self):
        return self.address

    def stride(self, axis=None):
        strides = [stride // self.numpy_type.itemsize for stride in np.empty(self.shape, self.numpy_type).strides]
        return strides[axis] if axis is not None else strides

    def read(self):
        """The values, after all launches ended."""
        values = np.empty(self.shape, self.numpy_type)
        call("cuMemcpyDtoH_v2", ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(self.address), ctypes.c_size_t(values.nbytes))
        return values


class Scratch:
    """Memory that a kernel writes before it reads it."""

    def __init__(self, size, alignment, stream):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.address = address.value

    def data_ptr(self):
        return self.address


def full(shape, value, dtype=np.float32):
    return Array(np.full(shape, value, dtype))


def zeros(shape, dtype=np.float32):
    return full(shape, 0, dtype)


def output(shape, dtype=np.float32):
    """An array that the kernel writes. Elements that it does not write are wrong: their bytes are all ones."""
    return Array(np.full(np.prod(shape) * np.dtype(dtype).itemsize, 255, np.uint8).view(dtype).reshape(shape))


def random(*words):
    """A generator of random numbers whose seed words determine."""
    return np.random.default_rng(list(" ".join(map(str, words)).encode()))


def whole_numbers(generator, shape, most, dtype=np.float32):
    """Random whole numbers from -most to most: sums of their products are exact."""
    return generator.integers(-most, most, shape, endpoint=True).astype(dtype)


def equal(values, expected):
    """Requires that elements are equal to the expected ones."""
    close(values, expected, 0)


def close(values, expected, bound):
    """Requires that elements differ from the expected ones by at most a bound, which is a number or an array."""
    assert values.shape == np.shape(expected), f"the shape is {values.shape} instead of {np.shape(expected)}"
    values, expected = values.astype(np.float64), np.asarray(expected).astype(np.float64)
    wrong = ~(np.abs(values - expected) <= bound) & ~(np.isnan(values) & np.isnan(expected)) & (values != expected)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(f"{int(wrong.sum())} of {wrong.size} elements are wrong; {list(index)} is {values[index]} instead of {expected[index]}")


@dataclasses.dataclass
class Test:
    """A test, and the compute capabilities that it needs as 10 * major + minor."""

    name: str
    function: object
    least: int
    only: tuple

    def runs_on(self, capability):
        return capability in self.only if self.only else capability >= self.least


TESTS = []


def test(least=0, only=(), **parameters):
    """Adds a function to the tests. With parameters, which are lists, adds one test for each value of the first one."""

    def add(function):
        name = function.__name__
        if not parameters:
            TESTS.append(Test(name, function, least, only))
        for key, values in parameters.items():
            for value in values:
                label = getattr(value, "__name__", value)
                TESTS.append(Test(f"{name}[{label}]", lambda key=key, value=value: function(**{key: value}), least, only))
        return function

    return add
