"""Compile Triton kernels to PTX without a GPU.  usage: kernels.py OUTPUT-FOLDER [--force]"""
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

OUT = sys.argv[1]
FORCE = "--force" in sys.argv


@triton.jit
def gelu_bias(x_ptr, b_ptr, o_ptr, n, width, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(b_ptr + offs % width, mask=mask, other=0.0).to(tl.float32)
    y = 0.5 * x * (1.0 + tl.erf(x * 0.70710678))
    tl.store(o_ptr + offs, y.to(o_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rms_norm(x_ptr, w_ptr, o_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + row * n + offs, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    w = tl.load(w_ptr + offs, mask=mask, other=0.0)
    tl.store(o_ptr + row * n + offs, (x * scale * w).to(o_ptr.dtype.element_ty), mask=mask)


@triton.jit
def row_softmax(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + offs, mask=offs < n, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(o_ptr + row * n + offs, x / tl.sum(x, axis=0), mask=offs < n)


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    width = GROUP * nn
    first = pid // width * GROUP
    size = min(nm - first, GROUP)
    pm = first + pid % width % size
    pn = pid % width // size
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * lda + rk[None, :]
    b = b_ptr + rk[:, None] * ldb + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        acc = tl.dot(tl.load(a, mask=rk[None, :] < left, other=0.0), tl.load(b, mask=rk[:, None] < left, other=0.0), acc)
        a += BK
        b += BK * ldb
    cm = pm * BM + tl.arange(0, BM)
    cn = pn * BN + tl.arange(0, BN)
    tl.store(c_ptr + cm[:, None] * ldc + cn[None, :], acc.to(c_ptr.dtype.element_ty), mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def gemm_descriptors(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, scale, seq, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0)
    base = tl.program_id(1) * seq * D
    rm = start * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = (start + 1) * BM if CAUSAL else seq
    for n in range(0, end, BN):
        k = tl.load(k_ptr + base + (n + rn)[None, :] * D + rd[:, None])
        s = tl.dot(q, k) * scale
        if CAUSAL:
            s = tl.where(rm[:, None] >= (n + rn)[None, :], s, -1.0e9)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        fade = tl.exp2(top - new)
        norm = norm * fade + tl.sum(p, 1)
        v = tl.load(v_ptr + base + (n + rn)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None])
        top = new
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], (acc / norm[:, None]).to(o_ptr.dtype.element_ty))


@triton.jit
def mixture(a, b):
    return a * 0.9 + b


@triton.jit
def scans(x_ptr, o_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(o_ptr + offs, tl.cumsum(x, 0))
    tl.store(o_ptr + BLOCK + offs, tl.associative_scan(x, 0, mixture))
    tl.store(o_ptr + 2 * BLOCK + offs, tl.sort(x))
    tl.store(o_ptr + 3 * BLOCK, tl.argmin(x, 0))


@triton.jit
def counters(x_ptr, c_ptr, f_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0)
    tl.atomic_add(c_ptr + x % 32, 1, mask=mask)
    tl.atomic_max(c_ptr + 33, tl.max(x, 0), sem="relaxed")
    tl.atomic_cas(c_ptr + 34, 0, 1, sem="acquire", scope="sys")
    tl.atomic_xchg(c_ptr + 35, 7)
    tl.atomic_add(f_ptr + x % 4, x.to(tl.float32) * 0.5, mask=mask)


@triton.jit
def random_walk(o_ptr, seed, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(o_ptr + offs, tl.randn(seed, offs) + tl.sin(tl.rand(seed, offs)) + tl.log(tl.rand(seed + 1, offs)))
    tl.device_print("seed", offs)


@triton.jit
def narrow(x_ptr, a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(a_ptr + offs, x.to(tl.float8e5))
    tl.store(b_ptr + offs, x.to(tl.bfloat16))
    tl.store(c_ptr + offs, x.to(tl.int8))
    tl.store(x_ptr + BLOCK + offs, tl.load(a_ptr + offs).to(tl.float32) + tl.load(b_ptr + offs).to(tl.float32))


def const(**kw):
    return kw


JOBS = [
    ("gelu_bias", gelu_bias, dict(x_ptr="*fp16", b_ptr="*fp16", o_ptr="*fp16", n="i32", width="i32"), const(BLOCK=512), {}, (75, 90, 120)),
    ("rms_norm", rms_norm, dict(x_ptr="*bf16", w_ptr="*fp32", o_ptr="*bf16", n="i32", eps="fp32"), const(BLOCK=1024), {}, (80, 100)),
    ("row_softmax", row_softmax, dict(x_ptr="*fp32", o_ptr="*fp32", n="i32"), const(BLOCK=2048), {"num_warps": 8}, (75, 90)),
    ("gemm_fp16", gemm, dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp16", M="i32", N="i32", K="i32", lda="i32", ldb="i32", ldc="i32"),
     const(BM=64, BN=64, BK=32, GROUP=4), {"num_warps": 4, "num_stages": 3}, (75, 80, 90, 100, 120)),
    ("gemm_tf32", gemm, dict(a_ptr="*fp32", b_ptr="*fp32", c_ptr="*fp32", M="i32", N="i32", K="i32", lda="i32", ldb="i32", ldc="i32"),
     const(BM=64, BN=32, BK=32, GROUP=8), {"num_warps": 4, "num_stages": 2}, (80, 90)),
    ("gemm_fp8", gemm, dict(a_ptr="*fp8e5", b_ptr="*fp8e5", c_ptr="*fp16", M="i32", N="i32", K="i32", lda="i32", ldb="i32", ldc="i32"),
     const(BM=64, BN=64, BK=64, GROUP=8), {"num_warps": 4, "num_stages": 2}, (90, 100, 120)),
    ("gemm_descriptors", gemm_descriptors, dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp16", M="i32", N="i32", K="i32"),
     const(BM=128, BN=64, BK=64), {"num_warps": 4, "num_stages": 3}, (90, 100)),
    ("attention_causal", attention, dict(q_ptr="*fp16", k_ptr="*fp16", v_ptr="*fp16", o_ptr="*fp16", scale="fp32", seq="i32"),
     const(D=64, BM=64, BN=32, CAUSAL=True), {"num_warps": 4, "num_stages": 2}, (80, 90, 100)),
    ("attention_full", attention, dict(q_ptr="*bf16", k_ptr="*bf16", v_ptr="*bf16", o_ptr="*bf16", scale="fp32", seq="i32"),
     const(D=32, BM=64, BN=64, CAUSAL=False), {"num_warps": 4, "num_stages": 2}, (86, 120)),
    ("scans", scans, dict(x_ptr="*fp32", o_ptr="*fp32"), const(BLOCK=256), {}, (75,)),
    ("counters", counters, dict(x_ptr="*i32", c_ptr="*i32", f_ptr="*fp32", n="i32"), const(BLOCK=256), {}, (70, 89, 100)),
    ("random_walk", random_walk, dict(o_ptr="*fp32", seed="i32"), const(BLOCK=128), {}, (80,)),
    ("narrow", narrow, dict(x_ptr="*fp32", a_ptr="*fp8e5", b_ptr="*bf16", c_ptr="*i8"), const(BLOCK=128), {}, (80, 90, 121)),
]

os.makedirs(OUT, exist_ok=True)
for name, fn, sig, consts, options, archs in JOBS:
    full = dict(sig, **{k: "constexpr" for k in consts})
    attrs = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(sig.values()) if t.startswith("*")}
    for arch in archs:
        version = {90: 86, 100: 88, 120: 90, 121: 92}.get(arch)  # else Triton's own choice, which may be newer than ptxas
        path = f"{OUT}/{name}.sm_{arch}.ptx"
        if os.path.exists(path) and not FORCE:
            continue
        try:
            k = triton.compile(ASTSource(fn=fn, signature=full, constexprs=consts, attrs=attrs), target=GPUTarget("cuda", arch, 32), options=dict(options, **({"ptx_version": version} if version else {})))
        except Exception as e:  # some kernels do not exist for some targets
            print("FAILED", name, arch, str(e).strip().splitlines()[-1][:150] if str(e).strip() else type(e))
            continue
        with open(path, "w") as f:
            f.write(k.asm["ptx"])
        print(f"{len(k.asm['ptx']):9} {name}.sm_{arch}", flush=True)
