"""Adds two vectors with the functions of the CUDA driver. It needs no package, and no GPU if `ptxkit exec` runs it."""

import ctypes
from pathlib import Path

COUNT = 1000
driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise SystemExit(f"{name} returned {result}")


def test_vecadd():
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    text = (Path(__file__).parents[1] / "corpus/compiled/nvcc/vecadd.O3.sm_80.ptx").read_bytes()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), text)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"vecadd")

    a = (ctypes.c_float * COUNT)(*range(COUNT))
    b = (ctypes.c_float * COUNT)(*[0.5] * COUNT)
    c = (ctypes.c_float * COUNT)()
    buffers = [ctypes.c_void_p() for _ in range(3)]
    for buffer, values in zip(buffers, [a, b, c]):
        call("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(4 * COUNT))
        call("cuMemcpyHtoD_v2", buffer, values, ctypes.c_size_t(4 * COUNT))

    values = [*buffers, ctypes.c_int(COUNT)]
    addresses = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in values])
    grid, block = (4, 1, 1), (256, 1, 1)
    call("cuLaunchKernel", kernel, *grid, *block, 0, None, addresses, None)
    call("cuMemcpyDtoH_v2", c, buffers[2], ctypes.c_size_t(4 * COUNT))
    assert list(c) == [x + 0.5 for x in a]


if __name__ == "__main__":
    test_vecadd()
    print("correct")
