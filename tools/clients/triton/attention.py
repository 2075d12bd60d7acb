"""Attention: forward, backward, and over pages of a cache."""

import math

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from device import BFLOAT16, Array, close, output, random, test


@triton.jit
def attention_kernel(q, k, v, o, logarithms, scale, ROWS, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1) * ROWS * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns, d = tl.arange(0, BN), tl.arange(0, D)
    queries = tl.load(q + head + rows[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else ROWS
    for start in range(0, end, BN):
        keys = tl.load(k + head + (start + columns)[None, :] * D + d[:, None])
        scores = tl.dot(queries, keys) * (scale * 1.44269504)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= start + columns[None, :], scores, -float("inf"))
        new = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        correction = tl.exp2(most - new)
        total = total * correction + tl.sum(weights, 1)
        values = tl.load(v + head + (start + columns)[:, None] * D + d[None, :])
        sums = tl.dot(weights.to(values.dtype), values, sums * correction[:, None])
        most = new
    tl.store(o + head + rows[:, None] * D + d[None, :], (sums / total[:, None]).to(o.dtype.element_ty))
    tl.store(logarithms + tl.program_id(1) * ROWS + rows, most + tl.log2(total))


def reference(q, k, v, causal):
    """The attention of each head in double precision, and the weights."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
    if causal:
        scores[:, ~np.tri(q.shape[1], k.shape[1], dtype=bool)] = -np.inf
    weights = np.exp(scores)
    weights /= weights.sum(2, keepdims=True)
    return weights @ v, weights


def check_attention(dtype, causal, **options):
    heads, rows, d = 2, 128, 64
    generator = random("attention")
    q, k, v = (generator.normal(size=(heads, rows, d)).astype(dtype) for _ in range(3))
    o, logarithms = output(q.shape, dtype), output((heads, rows))
    attention_kernel[(rows // 64, heads)](Array(q), Array(k), Array(v), o, logarithms, 1 / math.sqrt(d), rows, d, 64, 32, causal, **options)
    expected, weights = reference(q, k, v, causal)
    unit = 2.0**-8 if dtype is BFLOAT16 else 2.0**-11
    close(o.read(), expected, 2 * unit * (weights @ np.abs(v.astype(np.float64)) + np.abs(expected)) + 2.0**-12)


@test(dtype=[np.float16, BFLOAT16])
def attention(dtype):
    check_attention(dtype, False)


@test(stages=[1, 3])
def causal_attention(stages):
    check_attention(np.float16, True, num_stages=stages)


@triton.jit
def descriptor_attention_kernel(q, k, v, o, scale, ROWS, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SPECIALIZED: tl.constexpr):
    head = tl.program_id(1) * ROWS
    row = head + tl.program_id(0) * BM
    queries = q.load([row, 0])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, ROWS, BN, warp_specialize=SPECIALIZED):
        scores = tl.dot(queries, k.load([head + start, 0]).T) * (scale * 1.44269504)
        new = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        correction = tl.exp2(most - new)
        total = total * correction + tl.sum(weights, 1)
        sums = tl.dot(weights.to(tl.float16), v.load([head + start, 0]), sums * correction[:, None])
        most = new
    o.store([row, 0], (sums / total[:, None]).to(tl.float16))


@test(specialized=[False, True])
def descriptor_attention(specialized):
    heads, rows, d = 2, 128, 64
    generator = random("descriptor attention")
    q, k, v = (generator.normal(size=(heads * rows, d)).astype(np.float16) for _ in range(3))
    o = output(q.shape, np.float16)
    maps = [TensorDescriptor.from_tensor(Array(x), [tile, d]) for x, tile in ((q, 64), (k, 32), (v, 32))]
    target = TensorDescriptor.from_tensor(o, [64, d])
    descriptor_attention_kernel[(rows // 64, heads)](*maps, target, 1 / math.sqrt(d), rows, d, 64, 32, specialized)
    expected, weights = reference(*(x.reshape(heads, rows, d) for x in (q, k, v)), False)
    bound = 2.0**-10 * (weights @ np.abs(v.reshape(heads, rows, d).astype(np.float64)) + np.abs(expected)) + 2.0**-12
    close(o.read().reshape(heads, rows, d), expected, bound)


@triton.jit
def attention_backward_kernel(q, k, v, do, logarithms, deltas, dq, dk, dv, scale, ROWS: tl.constexpr, D: tl.constexpr, BM: tl.constexpr):
    """The gradients of all keys and values of a head; those of the queries are added by the blocks of keys."""
    head = tl.program_id(1) * ROWS * D
    columns = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    keys = tl.load(k + head + columns[:, None] * D + d[None, :])
    values = tl.load(v + head + columns[:, None] * D + d[None, :])
    dk_sums = tl.zeros((BM, D), tl.float32)
    dv_sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, ROWS, BM):
        rows = start + tl.arange(0, BM)
        queries = tl.load(q + head + rows[:, None] * D + d[None, :])
        gradients = tl.load(do + head + rows[:, None] * D + d[None, :])
        logarithm = tl.load(logarithms + tl.program_id(1) * ROWS + rows)
        delta = tl.load(deltas + tl.program_id(1) * ROWS + rows)
        weights = tl.exp2(tl.dot(queries, tl.trans(keys)) * (scale * 1.44269504) - logarithm[:, None])
        dv_sums = tl.dot(tl.trans(weights).to(tl.float16), gradients, dv_sums)
        dp = tl.dot(gradients, tl.trans(values))
        ds = (weights * (dp - delta[:, None]) * scale).to(tl.float16)
        dk_sums = tl.dot(tl.trans(ds), queries, dk_sums)
        tl.atomic_add(dq + head + rows[:, None] * D + d[None, :], tl.dot(ds, keys), sem="relaxed")
    tl.store(dk + head + columns[:, None] * D + d[None, :], dk_sums)
    tl.store(dv + head + columns[:, None] * D + d[None, :], dv_sums)


@test()
def attention_backward():
    heads, rows, d = 2, 64, 32
    generator = random("attention backward")
    q, k, v, do = (generator.normal(size=(heads, rows, d)).astype(np.float16) for _ in range(4))
    out, weights = reference(q, k, v, False)
    exact = [x.astype(np.float64) for x in (q, k, v, do)]
    scores = exact[0] @ exact[1].transpose(0, 2, 1) / math.sqrt(d)
    logarithms = np.log2(np.exp(scores).sum(2)).astype(np.float32)
    delta = (out * exact[3]).sum(2)
    dq, dk, dv = Array(np.zeros(q.shape, np.float32)), output(q.shape), output(q.shape)
    inputs = [Array(x) for x in (q, k, v, do, logarithms, delta.astype(np.float32))]
    attention_backward_kernel[(rows // 32, heads)](*inputs, dq, dk, dv, 1 / math.sqrt(d), rows, d, 32)
    ds = weights * (exact[3] @ exact[2].transpose(0, 2, 1) - delta[:, :, None]) / math.sqrt(d)
    close(dv.read(), weights.transpose(0, 2, 1) @ exact[3], 0.01)
    close(dk.read(), ds.transpose(0, 2, 1) @ exact[0], 0.01)
    close(dq.read(), ds @ exact[1], 0.01)


@triton.jit
def paged_attention_kernel(q, keys, values, pages, lengths, o, scale, most_pages, D: tl.constexpr, PAGE: tl.constexpr):
    """One query for each sequence, whose keys and values are in pages."""
    sequence = tl.program_id(0)
    d, slots = tl.arange(0, D), tl.arange(0, PAGE)
    length = tl.load(lengths + sequence)
    query = tl.load(q + sequence * D + d).to(tl.float32)
    most = -float("inf")
    total = 0.0
    sums = tl.zeros((D,), tl.float32)
    for index in range(tl.cdiv(length, PAGE)):
        page = tl.load(pages + sequence * most_pages + index).to(tl.int64)
        mask = index * PAGE + slots < length
        offsets = (page * PAGE + slots)[:, None] * D + d[None, :]
        scores = tl.sum(query[None, :] * tl.load(keys + offsets, mask[:, None], other=0.0).to(tl.float32), 1) * scale
        scores = tl.where(mask, scores, -float("inf"))
        new = tl.maximum(most, tl.max(scores, 0))
        weights = tl.exp(scores - new)
        correction = tl.exp(most - new)
        total = total * correction + tl.sum(weights, 0)
        page_values = tl.load(values + offsets, mask[:, None], other=0.0).to(tl.float32)
        sums = sums * correction + tl.sum(weights[:, None] * page_values, 0)
        most = new
    tl.store(o + sequence * D + d, sums / total)


@test()
def paged_attention():
    generator = random("paged")
    d, page, lengths = 64, 16, np.int32([37, 16, 5])
    keys, values = (generator.normal(size=(10, page, d)).astype(np.float16) for _ in range(2))
    pages = generator.permutation(10)[:9].reshape(3, 3).astype(np.int32)
    q = generator.normal(size=(3, d)).astype(np.float16)
    o = output((3, d))
    arrays = [Array(x) for x in (q, keys, values, pages, lengths)]
    # With fused products, both threads that store a sum of two products to shared memory round another one of them: racecheck reports the different values.
    paged_attention_kernel[(3,)](*arrays, o, 1 / math.sqrt(d), 3, d, page, enable_fp_fusion=False)
    for row, length in enumerate(lengths):
        k, v = (x[pages[row]].reshape(-1, d)[None, :length] for x in (keys, values))
        expected, _ = reference(q[row][None, None], k, v, False)
        close(o.read()[row], expected[0, 0], 1e-4)
