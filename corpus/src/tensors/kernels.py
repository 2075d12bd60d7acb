"""Kernels in Triton, compiled for targets with products of warpgroups or tensor memory: kernels.py FOLDER.

The numbers that a launch needs (shared memory, warps, scratch memory) are in the first line of each file.
"""
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Programs take every PROGRAMS-th tile; the kernel makes its tensor maps."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    tiles_m = tl.cdiv(M, BM)
    for tile in tl.range(tl.program_id(0), tiles_m * tl.cdiv(N, BN), PROGRAMS):
        row, column = tile % tiles_m * BM, tile // tiles_m * BN
        sum = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            sum = tl.dot(a.load([row, k]), b.load([column, k]).T, sum)
        c.store([row, column], sum.to(tl.float16))


@triton.jit
def split(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    """Parts of K are added by reductions of tiles."""
    a = tl.make_tensor_descriptor(a_ptr, [BM, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [BM, N], [N, 1], [BM, BN])
    column, part = tl.program_id(0) * BN, tl.program_id(1)
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(part * BK, K, PARTS * BK):
        sum = tl.dot(a.load([0, k]), b.load([k, column]), sum)
    c.atomic_add([0, column], sum)


@triton.jit
def scaled(a_ptr, a_scales, b_ptr, b_scales, c_ptr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Packed factors of 4 bits (e2m1) and of 8 bits (e4m3), with a scale for each 32 elements."""
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    half, blocks = tl.arange(0, BK // 2), tl.arange(0, BK // 32)
    a = tl.load(a_ptr + m[:, None] * (BK // 2) + half[None, :])
    b = tl.load(b_ptr + n[None, :] * BK + k[:, None])
    x = tl.load(a_scales + m[:, None] * (BK // 32) + blocks[None, :])
    y = tl.load(b_scales + n[:, None] * (BK // 32) + blocks[None, :])
    c = tl.dot_scaled(a, x, "e2m1", b, y, "e4m3")
    tl.store(c_ptr + m[:, None] * BN + n[None, :], c)


@triton.jit
def rows(table_ptr, index_ptr, out_ptr, ROWS, WIDTH: tl.constexpr, COUNT: tl.constexpr):
    """Gathers rows of a table and scatters them in the opposite order."""
    table = tl.make_tensor_descriptor(table_ptr, [ROWS, WIDTH], [WIDTH, 1], [1, WIDTH])
    out = tl.make_tensor_descriptor(out_ptr, [COUNT, WIDTH], [WIDTH, 1], [1, WIDTH])
    x = table.gather(tl.load(index_ptr + tl.arange(0, COUNT)), 0)
    out.scatter(x * 2.0, COUNT - 1 - tl.arange(0, COUNT), 0)


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, scale, KEYS, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention with an online softmax, in powers of two."""
    q_map = tl.make_tensor_descriptor(q_ptr, [tl.num_programs(0) * BM, D], [D, 1], [BM, D])
    k_map = tl.make_tensor_descriptor(k_ptr, [KEYS, D], [D, 1], [BN, D])
    v_map = tl.make_tensor_descriptor(v_ptr, [KEYS, D], [D, 1], [BN, D])
    row = tl.program_id(0) * BM
    q = q_map.load([row, 0])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for start in range(0, KEYS, BN):
        s = tl.dot(q, k_map.load([start, 0]).T) * scale
        best = tl.maximum(top, tl.max(s, 1))
        p, correction = tl.exp2(s - best[:, None]), tl.exp2(top - best)
        total = total * correction + tl.sum(p, 1)
        out = tl.dot(p.to(tl.bfloat16), v_map.load([start, 0]), out * correction[:, None])
        top = best
    m, d = tl.arange(0, BM), tl.arange(0, D)
    tl.store(o_ptr + (row + m[:, None]) * D + d[None, :], out / total[:, None])


JOBS = [
    ("persistent", persistent, dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp16", M="i32", N="i32", K="i32"), dict(PROGRAMS=2, BM=64, BN=64, BK=64),
     dict(num_warps=4, num_stages=2), (90, 100)),
    ("split", split, dict(a_ptr="*fp8e5", b_ptr="*fp8e5", c_ptr="*fp32", N="i32", K="i32"), dict(BM=128, BN=64, BK=64, PARTS=3),
     dict(num_warps=4, num_stages=2), (100,)),
    ("scaled", scaled, dict(a_ptr="*u8", a_scales="*u8", b_ptr="*fp8e4nv", b_scales="*u8", c_ptr="*fp32"), dict(BM=128, BN=64, BK=128), dict(num_warps=4), (100,)),
    ("rows", rows, dict(table_ptr="*fp32", index_ptr="*i32", out_ptr="*fp32", ROWS="i32"), dict(WIDTH=32, COUNT=16), dict(num_warps=4), (100,)),
    ("attend", attend, dict(q_ptr="*bf16", k_ptr="*bf16", v_ptr="*bf16", o_ptr="*fp32", scale="fp32", KEYS="i32"), dict(D=64, BM=64, BN=64),
     dict(num_warps=4, num_stages=1), (90, 100)),
]

for name, fn, signature, constants, options, targets in JOBS:
    for target in targets:
        attributes = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(signature.values()) if t.startswith("*")}
        source = ASTSource(fn=fn, signature=dict(signature, **{k: "constexpr" for k in constants}), constexprs=constants, attrs=attributes)
        k = triton.compile(source, target=GPUTarget("cuda", target, 32), options=dict(options, ptx_version={90: 86, 100: 88}[target]))
        m = k.metadata
        text = f"// triton: shared {m.shared}, warps {m.num_warps}, scratch {m.global_scratch_size}\n" + k.asm["ptx"]
        text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith((".loc", "//", ".file")) or line.startswith("// triton"))
        start = text.find("\t.section")
        with open(f"{sys.argv[1]}/triton_{name}_{target}.ptx", "w") as f:
            f.write((text[:start] if start >= 0 else text).rstrip() + "\n")
        print(f"{len(text):9} {name}_{target} {text.splitlines()[0]}", flush=True)
