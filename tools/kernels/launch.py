#!/usr/bin/env python3
"""A CUDA program that runs a case with the functions of the driver: `launch.py FOLDER`, with the files that `driver.py` writes."""

import ctypes
import json
import pathlib
import sys

import numpy as np

MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

TYPES = {
    "u8": ctypes.c_uint8,
    "s8": ctypes.c_int8,
    "u16": ctypes.c_uint16,
    "s16": ctypes.c_int16,
    "u32": ctypes.c_uint32,
    "s32": ctypes.c_int32,
    "b32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "s64": ctypes.c_int64,
    "b64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        raise SystemExit(f"{name} returned {status}")


def main():
    folder = pathlib.Path(sys.argv[1])
    case = json.loads((folder / "case.json").read_text())
    call("cuInit", 0)
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoad", ctypes.byref(module), case["module"].encode())
    addresses = {}
    for name, buffer in case["buffers"].items():
        address = ctypes.c_uint64()
        values = np.load(folder / buffer["input"]) if "input" in buffer else None
        size = buffer["bytes"] if values is None else values.nbytes
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        if values is not None:
            call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(size))
        addresses[name] = address.value
    for launch in case["launches"]:
        function = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(function), module, launch["kernel"].encode())
        call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_SIZE_BYTES, launch["shared"])
        arguments = [TYPES[kind](addresses.get(value, value)) for kind, value in zip(launch["types"], launch["arguments"], strict=True)]
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        call("cuLaunchKernel", function, *launch["grid"], *launch["block"], launch["shared"], None, pointers, None)
    call("cuCtxSynchronize")
    for name, buffer in case["buffers"].items():
        if "output" in buffer:
            values = np.load(folder / buffer["input"])
            call("cuMemcpyDtoH_v2", ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(addresses[name]), ctypes.c_size_t(values.nbytes))
            np.save(folder / buffer["output"], values)


if __name__ == "__main__":
    main()
