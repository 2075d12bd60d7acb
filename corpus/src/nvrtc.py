#!/usr/bin/env python3
"""Compile some of src/cuda with an older runtime compiler.  usage: nvrtc.py LIBRARY TAG OUTPUT-FOLDER  (run inside src/cuda)"""
import ctypes
import sys
from pathlib import Path

lib = ctypes.CDLL(sys.argv[1])
tag, out = sys.argv[2], Path(sys.argv[3])
STUBS = {b"cstdint": b"typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t; typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;",
         b"cmath": b"#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n"}
JOBS = [("vecadd", "sm_52", []), ("reduce", "sm_61", []), ("nbody", "sm_70", ["-lineinfo"]), ("nbody", "sm_80", ["-G"]), ("vecadd", "sm_90" if "12" in tag else "sm_86", [])]
if tag == "nvrtc118":
    JOBS.append(("math", "sm_60", ["-use_fast_math", "--device-int128"]))


def check(code, what):
    if code:
        raise RuntimeError(f"{what}: {code}")


for name, arch, opts in JOBS:
    path = out / f"{name}.{tag}{''.join(o for o in opts if 'int128' not in o)}.{arch}.ptx"
    if path.exists():
        continue
    src = Path(name + ".cu").read_bytes()
    prog = ctypes.c_void_p()
    names = (ctypes.c_char_p * len(STUBS))(*STUBS)
    texts = (ctypes.c_char_p * len(STUBS))(*STUBS.values())
    check(lib.nvrtcCreateProgram(ctypes.byref(prog), src, (name + ".cu").encode(), len(STUBS), texts, names), "create")
    options = [f"-arch={arch.replace('sm', 'compute')}", "-std=c++17", "-default-device", *opts]
    code = lib.nvrtcCompileProgram(prog, len(options), (ctypes.c_char_p * len(options))(*(o.encode() for o in options)))
    if code:
        n = ctypes.c_size_t()
        lib.nvrtcGetProgramLogSize(prog, ctypes.byref(n))
        log = ctypes.create_string_buffer(n.value)
        lib.nvrtcGetProgramLog(prog, log)
        print("FAILED", path.name, log.value.decode()[:300])
        continue
    n = ctypes.c_size_t()
    check(lib.nvrtcGetPTXSize(prog, ctypes.byref(n)), "size")
    text = ctypes.create_string_buffer(n.value)
    check(lib.nvrtcGetPTX(prog, text), "get")
    path.write_bytes(text.value)
    print(f"{len(text.value):9} {path.name}")
