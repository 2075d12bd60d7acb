#!/usr/bin/env python3
"""Regenerate compiled/ from src/.

usage: build.py [nvcc] [nvrtc] [triton] [llvm] [programs] [tensors] [--force] [--only=NAME,...]        (default: all; files that exist are kept)

Everything is staged under /src (or $CORPUS_ROOT), so that the paths inside the results are neutral:
  /src/cuda/tk   the CUDA 13.2 compiler:  pip install --target ... nvidia-cuda-nvcc==13.2.78 nvidia-nvvm==13.2.*
                 nvidia-cuda-crt==13.2.* nvidia-cuda-runtime==13.2.* nvidia-cuda-cccl==13.2.*   (folder nvidia/cu13)
  /src/venv      a virtual environment with triton
  /src/nvrtc/*   one older runtime compiler each (nvidia-cuda-nvrtc-cu11==11.8.89, -cu12==12.2.140, -cu12==12.6.85)
programs also needs g++, which compiles and runs what the CPU computes.
llc, llc-19, llc-22 and clang-22 are Debian packages (llvm, llvm-19, llvm-22, clang-22); missing ones are skipped.
"""
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("CORPUS_ROOT", "/src"))
FORCE = "--force" in sys.argv
FAILED = []


def stage(kind):
    """Copy src/<kind> to ROOT/<kind> and return the folder."""
    to = ROOT / kind
    to.mkdir(parents=True, exist_ok=True)
    for f in (HERE / "src" / kind).iterdir():
        shutil.copy(f, to / f.name)
    return to


def make(out, cmd, **kw):
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists() and not FORCE:
        return
    tmp = ROOT / f"out{os.getpid()}.ptx"
    tmp.unlink(missing_ok=True)
    p = subprocess.run([str(c) for c in cmd] + ["-o", str(tmp)], capture_output=True, text=True, **kw)
    if p.returncode or not tmp.exists():
        FAILED.append(out.name)
        print("FAILED", out.name, (p.stderr + p.stdout).strip()[:300])
        return
    data = tmp.read_bytes()
    # What is checked in names no path of the machine.
    own = HERE not in out.resolve().parents
    assert own or not any(str(d).encode() in data for d in (HERE, Path.home(), tempfile.gettempdir())), out
    out.write_bytes(data)
    print(f"{len(data):9} {out.name}", flush=True)


def toolkit():
    tk = ROOT / "cuda" / "tk"
    if not tk.exists():
        packages = ["nvidia-cuda-nvcc==13.2.78"] + [f"nvidia-{n}==13.2.*" for n in
                                                    ("nvvm", "cuda-crt", "cuda-runtime", "cuda-cccl")]
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(ROOT / "wheels"), *packages], check=True)
        tk.parent.mkdir(parents=True, exist_ok=True)
        (ROOT / "wheels" / "nvidia" / "cu13").rename(tk)
    return tk


def nvcc():
    tk, src = toolkit(), stage("cuda")

    def one(name, tag, arch, *opts):
        make(HERE / "compiled" / "nvcc" / f"{name}.{tag}.{arch}.ptx",
             [tk / "bin" / "nvcc", "-ptx", "-std=c++17", "--extended-lambda", "--expt-relaxed-constexpr", "-w",
              f"-arch={arch}", *opts, f"{name}.cu"], cwd=src)

    def many(names, tag, archs, *opts):
        for n in names.split():
            for a in archs.split():
                one(n, tag, a, *opts)

    many("empty", "O3", "sm_75 sm_90a sm_100f sm_121a")
    many("vecadd", "O3", "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121 sm_120f")
    many("reduce", "O3", "sm_75 sm_120")
    many("sort", "O3", "sm_75")
    many("calls globals", "O3", "sm_75 sm_90 sm_120")
    many("atomics math", "O3", "sm_75 sm_100")
    many("texture", "O3", "sm_80 sm_120a")
    many("matrix", "O3", "sm_75 sm_80 sm_90a sm_120a")
    many("lowp", "O3", "sm_80 sm_89 sm_100a")
    many("hopper", "O3", "sm_90 sm_100a")
    many("blackwell", "O3", "sm_100a sm_103a")
    many("nbody", "O3", "sm_86 sm_110a")
    many("vecadd nbody", "G", "sm_75 sm_90a sm_120", "-G")
    many("calls", "G", "sm_89", "-G")
    many("vecadd nbody reduce", "lineinfo", "sm_80 sm_100f", "-lineinfo")
    many("matrix", "lineinfo", "sm_100f", "-lineinfo")
    many("reduce nbody vecadd", "O0", "sm_75", "-Xcicc", "-O0")
    many("math nbody", "fast", "sm_90", "--use_fast_math")
    many("math", "strict", "sm_86", "-fmad=false", "-ftz=true", "-prec-div=false", "-prec-sqrt=false")
    many("rdc", "rdc", "sm_80 sm_120", "-rdc=true")
    many("rdc", "rdcG", "sm_90", "-rdc=true", "-G")
    many("calls globals", "rdc", "sm_103", "-rdc=true")
    many("vecadd reduce", "regs", "sm_80", "-maxrregcount=32", "-default-stream=per-thread")
    many("thrust_algorithms", "O3", "sm_75")
    many("cub_algorithms", "big", "sm_80", "-DBIG")


def nvrtc():
    src = stage("cuda")
    shutil.copy(HERE / "src" / "nvrtc.py", src)
    for package, tag in (("cu11==11.8.89", "nvrtc118"), ("cu12==12.2.140", "nvrtc122"), ("cu12==12.6.85", "nvrtc126")):
        to = ROOT / "nvrtc" / tag
        if not to.exists():
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(to), f"nvidia-cuda-nvrtc-{package}"], check=True)
        folder = to / "nvidia" / "cuda_nvrtc" / "lib"
        lib = next(f for f in folder.glob("libnvrtc.so*"))
        env = dict(os.environ, LD_LIBRARY_PATH=str(folder))
        subprocess.run([sys.executable, "nvrtc.py", str(lib), tag, str(HERE / "compiled" / "nvcc")], cwd=src, env=env, check=True)


def triton():
    if not (ROOT / "venv").exists():
        subprocess.run([sys.executable, "-m", "venv", str(ROOT / "venv")], check=True)
        subprocess.run([str(ROOT / "venv/bin/pip"), "install", "-q", "triton"], check=True)
    src = stage("triton")
    env = dict(os.environ, TRITON_CACHE_DIR=str(ROOT / "triton-cache"))
    subprocess.run([str(ROOT / "venv/bin/python"), "kernels.py", str(HERE / "compiled" / "triton")] + (["--force"] if FORCE else []),
                   cwd=src, env=env, check=True)


def llvm():
    src = stage("llvm")

    def out(name, tool, cpu, ptx, tag):
        return HERE / "compiled" / "llvm" / f"{name}.{tool}{tag}.{cpu}.ptx{ptx}.ptx"

    def llc(ver, name, cpu, ptx, *opts, tag=""):
        tool = "llc" + (f"-{ver}" if ver != "14" else "")
        if shutil.which(tool):
            make(out(name, f"llc{ver}", cpu, ptx, tag), [tool, f"{name}.ll", "-march=nvptx64", f"-mcpu={cpu}", f"-mattr=+ptx{ptx}", *opts], cwd=src)

    def clang(ver, cpu, ptx, *opts, tag=""):
        if shutil.which(f"clang-{ver}"):
            make(out("kernels", f"clang{ver}", cpu, ptx, tag), [f"clang-{ver}", "--target=nvptx64-nvidia-cuda", "-nogpulib", "-ffreestanding", "-w", f"-march={cpu}",
                 "-Xclang", "-target-feature", "-Xclang", f"+ptx{ptx}", *opts, "-S", "-x", "c", "kernels.c"], cwd=src)

    for cpu, ptx in (("sm_20", 32), ("sm_60", 60), ("sm_80", 75)):
        llc("14", "typed", cpu, ptx)
    llc("14", "typed", "sm_53", 50, "-O0", tag=".O0")
    for cpu, ptx in (("sm_50", 64), ("sm_75", 70), ("sm_90a", 83)):
        llc("19", "small", cpu, ptx)
    for cpu, ptx in (("sm_75", 78), ("sm_90", 84), ("sm_100a", 87), ("sm_120f", 88), ("sm_110a", 90)):
        llc("22", "opaque", cpu, ptx)
    llc("22", "opaque", "sm_80", 80, "-O0", tag=".O0")
    llc("22", "opaque", "sm_80", 80, "-nvptx-short-ptr", tag=".short")
    for cpu, ptx, opt in (("sm_52", 63, "-O2"), ("sm_70", 70, "-O0"), ("sm_86", 81, "-O1"), ("sm_121a", 90, "-O3")):
        clang("22", cpu, ptx, opt, tag=opt.replace("-", "."))
    clang("22", "sm_80", 80, "-O1", "-g", tag=".g")
    clang("22", "sm_90", 84, "-O2", "-gline-tables-only", tag=".lines")


# -Xcicc -O0 keeps what the front end made; -G also keeps variables in memory.
VARIANTS = {"O3": (), "O0": ("-Xcicc", "-O0"), "G": ("-G",)}
# The first line of programs whose host part nvcc compiles, to record what libraries launch.
RECORDED = "// recorded: "
# Larger files of -O0 and -G, and of libraries, are only made for a folder of one's own.
LARGEST, LARGEST_RECORDED = 32_000, 200_000
# Names of parameters of kernels of libraries, without the long names of the kernels.
PARAMETER = re.compile(rb"\b[\w$]+_(param_\d+)\b")
CUDA = ("--extended-lambda", "--expt-relaxed-constexpr", "-w")
DEBUG_SECTION = re.compile(rb"\n\t?\.section\s+\.debug_\w+\s*\{.*?\n\t?\}", re.S)


def host_of(tk, src, f, options):
    """The command that compiles what the CPU executes of a program."""
    if not f.read_text().startswith(RECORDED):
        return ["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-w", "-x", "c++", f]
    # Takes the place of the runtime of CUDA.
    recorder = ROOT / "recorder.o"
    subprocess.run(["g++", "-std=c++17", "-O1", "-w", f"-I{tk}/include", "-c", src / "recorder.cpp", "-o", recorder], check=True)
    virtual = [o.replace("sm_", "compute_") for o in options]
    return [tk / "bin" / "nvcc", "-std=c++17", *CUDA, "-DRECORDED", *virtual, "-cudart", "none", "-Xcompiler", "-O1", f, recorder]


def case_of(tk, src, f, options, case, kernels):
    """Writes what to launch and to expect."""
    program = ROOT / "program"
    if subprocess.run([str(c) for c in host_of(tk, src, f, options)] + ["-o", program]).returncode:
        FAILED.append(case.name)
        return
    env = dict(os.environ, KERNELS_PTX=str(kernels))
    case.write_bytes(subprocess.run([program], check=True, capture_output=True, env=env).stdout)
    print(f"{case.stat().st_size:9} {case.name}", flush=True)


def programs():
    """Programs with results computed on the CPU: NAME.case has what to launch and to expect, NAME.VARIANT.ptx the kernels.

    The first lines of a source may say `// nvcc: OPTIONS` and `// variants: O3 G`. A source without kernels names files of compiled/. Debug
    sections are left out: they are not executed, and most of the bytes. --to=FOLDER makes all variants, whatever their size; of a program that begins
    with `// recorded` those that it names. --seconds=N,SEED begins none after that time, and changes their order.
    """
    tk, src, to = toolkit(), stage("programs"), HERE / "compiled" / "programs"
    folder = [Path(a[5:]) for a in sys.argv if a.startswith("--to=")]
    to = folder[0] if folder else to
    to.mkdir(parents=True, exist_ok=True)
    only = [a[7:].split(",") for a in sys.argv if a.startswith("--only=")]
    files = sorted(f for f in src.glob("*.cu") if not only or f.stem in only[0])
    for limit in [a[10:].split(",") for a in sys.argv if a.startswith("--seconds=")]:
        random.Random(limit[1]).shuffle(files)
        end = time.monotonic() + float(limit[0])
        files = itertools.takewhile(lambda _: time.monotonic() < end, files)
    for f in files:
        one_program(tk, src, f, to, bool(folder))


def tensors():
    """Programs of tensor cores, tensor maps and clusters: the results are computed by ptx-vm/tests/tensor_programs."""
    tk, src, to = toolkit(), stage("tensors"), HERE / "compiled" / "tensors"
    only = [a[7:].split(",") for a in sys.argv if a.startswith("--only=")]
    for f in sorted(src.glob("*.cu")):
        if not only or f.stem in only[0]:
            options = re.search(r"^// nvcc: (.*)$", f.read_text(), re.M)[1].split()
            make(to / f"{f.stem}.ptx", [tk / "bin" / "nvcc", "-ptx", "-std=c++17", *CUDA, *options, f.name], cwd=src)
    if FORCE and not only:
        env = dict(os.environ, TRITON_CACHE_DIR=str(ROOT / "triton-cache"))
        subprocess.run([str(ROOT / "venv/bin/python"), "kernels.py", str(to)], cwd=src, env=env, check=True)


def one_program(tk, src, f, to, all_variants):
    name, text = f.stem, f.read_text()
    recorded = text.startswith(RECORDED)
    options = re.search(r"^// nvcc: (.*)$", text, re.M)
    options = options[1].split() if options else ["-arch=sm_75"]
    variants = re.search(r"^// variants: (.*)$", text, re.M)
    variants = variants[1].split() if variants and (recorded or not all_variants) else VARIANTS
    for variant in variants if recorded or "#ifdef KERNELS" in text else ():
        out = to / f"{name}.{variant}.ptx"
        if out.exists() and not FORCE:
            continue
        make(out, [tk / "bin" / "nvcc", "-ptx", "-std=c++17", *CUDA, *(["-DRECORDED"] if recorded else []), *options, *VARIANTS[variant],
                   f.name], cwd=src)
        if out.exists():
            text = DEBUG_SECTION.sub(b"", out.read_bytes()).replace(b", debug\n", b"\n", 1)
            out.write_bytes(PARAMETER.sub(rb"\1", text) if recorded else text)
            if not all_variants and len(text) > (LARGEST_RECORDED if recorded else LARGEST if variant != "O3" else len(text)):
                out.unlink()
    case = to / f"{name}.case"
    if recorded and not (to / f"{name}.O3.ptx").exists():
        return
    if FORCE or not case.exists():
        case_of(tk, src, f, options, case, to / f"{name}.O3.ptx")


wanted = [a for a in sys.argv[1:] if not a.startswith("-")] or ["nvcc", "nvrtc", "triton", "llvm", "programs", "tensors"]
for w in wanted:
    {"nvcc": nvcc, "nvrtc": nvrtc, "triton": triton, "llvm": llvm, "programs": programs, "tensors": tensors}[w]()
if FAILED:
    print(len(FAILED), "failed:", *FAILED)
