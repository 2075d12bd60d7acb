"""Reductions, scans, sorts, histograms and atomic operations."""

import numpy as np
import triton
import triton.language as tl

from device import Array, close, equal, output, random, test, whole_numbers, zeros


@triton.jit
def softmax_kernel(y, x, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        values = tl.load(x + row * columns + offsets, offsets < columns, other=-float("inf"))
        values = tl.exp(values - tl.max(values, 0))
        tl.store(y + row * columns + offsets, values / tl.sum(values, 0), offsets < columns)


@test()
def softmax():
    x = random("softmax").normal(size=(7, 300)).astype(np.float32)
    y = output(x.shape)
    softmax_kernel[(3,)](y, Array(x), 7, 300, BLOCK=512, STAGES=3)
    exponentials = np.exp(x.astype(np.float64))
    close(y.read(), exponentials / exponentials.sum(1, keepdims=True), 1e-6)


@triton.jit
def layer_norm_kernel(x, y, w, b, means, deviations, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + offsets, offsets < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + offsets, offsets < columns, other=0.0).to(tl.float32)
        values = tl.where(offsets < columns, values - mean, 0.0)
        squares += values * values
    deviation = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(deviations + row, deviation)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        values = tl.load(x + row * columns + offsets, mask, other=0.0).to(tl.float32)
        tl.store(y + row * columns + offsets, (values - mean) * deviation * tl.load(w + offsets, mask) + tl.load(b + offsets, mask), mask)


@triton.jit
def layer_norm_backward_kernel(dx, dy, dw, db, x, w, means, deviations, locks, columns, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    values = tl.load(x + row * columns + offsets, mask, other=0.0)
    gradients = tl.load(dy + row * columns + offsets, mask, other=0.0)
    deviation = tl.load(deviations + row)
    normalized = tl.where(mask, (values - tl.load(means + row)) * deviation, 0.0)
    weighted = tl.load(w + offsets, mask, other=0.0) * gradients
    first = tl.sum(normalized * weighted, 0) / columns
    second = tl.sum(weighted, 0) / columns
    tl.store(dx + row * columns + offsets, (weighted - (normalized * first + second)) * deviation, mask)
    # The rows of a group add to the same sums, one after the other.
    group = row % GROUPS
    lock = locks + group
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    place = dw + group * columns + offsets
    tl.store(place, tl.load(place, mask) + gradients * normalized, mask)
    place = db + group * columns + offsets
    tl.store(place, tl.load(place, mask) + gradients, mask)
    # All threads have stored before one thread releases the lock.
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@test()
def layer_norm():
    generator = random("layer norm")
    x, dy = (generator.normal(size=(8, 200)).astype(np.float32) for _ in range(2))
    w, b = (generator.normal(size=200).astype(np.float32) for _ in range(2))
    y, means, deviations = output(x.shape), output(8), output(8)
    layer_norm_kernel[(8,)](Array(x), y, Array(w), Array(b), means, deviations, 200, 1e-5, BLOCK=128)
    centered = x.astype(np.float64) - x.mean(1, keepdims=True, dtype=np.float64)
    scale = 1 / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-5)
    normalized = centered * scale
    close(y.read(), normalized * w + b, 1e-5)
    close(deviations.read(), scale[:, 0], 1e-5)
    dx, dw, db = output(x.shape), zeros((2, 200)), zeros((2, 200))
    locks = zeros(2, np.int32)
    layer_norm_backward_kernel[(8,)](dx, Array(dy), dw, db, Array(x), Array(w), means, deviations, locks, 200, GROUPS=2, BLOCK=256)
    weighted = w * dy.astype(np.float64)
    expected = (weighted - normalized * (normalized * weighted).mean(1, keepdims=True) - weighted.mean(1, keepdims=True)) * scale
    close(dx.read(), expected, 1e-5)
    close(dw.read().sum(0), (dy * normalized).sum(0), 1e-5)
    close(db.read().sum(0), dy.sum(0), 1e-5)
    equal(locks.read(), np.zeros(2))


@triton.jit
def welford(mean_a, squares_a, count_a, mean_b, squares_b, count_b):
    count = count_a + count_b
    difference = mean_b - mean_a
    part = tl.where(count == 0.0, 0.0, count_b / count)
    return mean_a + difference * part, squares_a + squares_b + difference * difference * count_a * part, count


@triton.jit
def variance_kernel(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    values = tl.load(x + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    mean, squares, count = tl.reduce((values, tl.zeros_like(values), tl.full(values.shape, 1.0, tl.float32)), 1, welford)
    tl.store(y + rows, mean)
    tl.store(y + ROWS + rows, squares / count)


@test()
def variance():
    x = random("variance").normal(3, 2, size=(16, 256)).astype(np.float32)
    y = output((2, 16))
    variance_kernel[(1,)](Array(x), y, 16, 256)
    close(y.read(), np.stack([x.mean(1, dtype=np.float64), x.var(1, dtype=np.float64)]), 1e-5)


@triton.jit
def extrema_kernel(x, values, indices, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    v = tl.load(x + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    most, most_index = tl.max(v, 1, return_indices=True)
    least, least_index = tl.min(v, 1, return_indices=True)
    tl.store(values + rows, most)
    tl.store(values + ROWS + rows, least)
    tl.store(indices + rows, most_index)
    tl.store(indices + ROWS + rows, least_index)
    tl.store(indices + 2 * ROWS + rows, tl.argmax(v, 1))
    tl.store(indices + 3 * ROWS + rows, tl.xor_sum(v.to(tl.int32), 1))


@test(dtype=[np.float32, np.int32])
def extrema(dtype):
    # Equal elements: the index is that of the first one.
    x = whole_numbers(random("extrema"), (16, 128), 40, dtype)
    values, indices = output((2, 16), dtype), output((4, 16), np.int32)
    extrema_kernel[(1,)](Array(x), values, indices, 16, 128)
    equal(values.read(), np.stack([x.max(1), x.min(1)]))
    parity = np.bitwise_xor.reduce(x.astype(np.int32), axis=1)
    equal(indices.read(), np.stack([x.argmax(1), x.argmin(1), x.argmax(1), parity]))


@triton.jit
def sums_kernel(x, rows_sums, column_sums, total, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    values = tl.load(x + r[:, None] * COLUMNS + c[None, :]).to(tl.float32)
    tl.store(rows_sums + r, tl.sum(values, 1))
    tl.store(column_sums + c, tl.sum(values, 0))
    tl.store(total, tl.sum(values))


@test(warps=[1, 2, 8])
def sums(warps):
    x = whole_numbers(random("sums"), (64, 128), 9, np.float16)
    rows, columns, total = output(64), output(128), output(1)
    sums_kernel[(1,)](Array(x), rows, columns, total, 64, 128, num_warps=warps)
    exact = x.astype(np.float64)
    equal(rows.read(), exact.sum(1))
    equal(columns.read(), exact.sum(0))
    equal(total.read(), [exact.sum()])


@triton.jit
def cumulative_kernel(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    offsets = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    values = tl.load(x + offsets)
    size = ROWS * COLUMNS
    tl.store(y + offsets, tl.cumsum(values, 1))
    tl.store(y + size + offsets, tl.cumsum(values, 0))
    tl.store(y + 2 * size + offsets, tl.cumsum(values, 1, reverse=True))
    tl.store(y + 3 * size + offsets, tl.cumprod(tl.where(values > 0, 1, -1), 1))


@test()
def cumulative_sums():
    x = whole_numbers(random("cumulative"), (32, 64), 9, np.int32)
    y = output((4, 32, 64), np.int32)
    cumulative_kernel[(1,)](Array(x), y, 32, 64)
    signs = np.where(x > 0, 1, -1)
    equal(y.read(), np.stack([x.cumsum(1), x.cumsum(0), x[:, ::-1].cumsum(1)[:, ::-1], signs.cumprod(1)]))


@triton.jit
def recurrence(factor_a, value_a, factor_b, value_b):
    return factor_a * factor_b, factor_b * value_a + value_b


@triton.jit
def recurrence_kernel(factors, values, states, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    _, state = tl.associative_scan((tl.load(factors + offsets), tl.load(values + offsets)), 0, recurrence)
    tl.store(states + offsets, state)


@test()
def associative_scan():
    generator = random("recurrence")
    factors = generator.choice(np.float32([-1, 1, 1, 0.5]), (3, 256))
    values = whole_numbers(generator, (3, 256), 9)
    states = output((3, 256))
    recurrence_kernel[(3,)](Array(factors), Array(values), states, BLOCK=256)
    expected, state = np.zeros((3, 256)), np.zeros(3)
    for column in range(256):
        state = factors[:, column] * state + values[:, column]
        expected[:, column] = state
    close(states.read(), expected, 1e-4)


@triton.jit
def sort_kernel(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DESCENDING: tl.constexpr):
    offsets = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + offsets, tl.sort(tl.load(x + offsets), 1, DESCENDING))


@test(descending=[False, True])
def sort(descending):
    x = random("sort").integers(-1000, 1000, (4, 128)).astype(np.int32)
    y = output(x.shape, np.int32)
    sort_kernel[(1,)](Array(x), y, 4, 128, descending)
    expected = np.sort(x, 1)
    equal(y.read(), expected[:, ::-1] if descending else expected)


@triton.jit
def top_kernel(x, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, ROWS)
    values = tl.load(x + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(y + rows[:, None] * K + tl.arange(0, K)[None, :], tl.topk(values, K))


@test()
def top_elements():
    x = random("top").normal(size=(8, 64)).astype(np.float32)
    y = output((8, 8))
    top_kernel[(1,)](Array(x), y, 8, 64, 8)
    equal(y.read(), np.sort(x, 1)[:, :-9:-1])


@triton.jit
def histogram_kernel(x, counts, size, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    partial = tl.histogram(tl.load(x + offsets, mask, other=0), BINS, mask)
    tl.atomic_add(counts + tl.arange(0, BINS), partial)


@test()
def histogram():
    x = random("histogram").integers(0, 64, 1900).astype(np.int32)
    counts = zeros(64, np.int32)
    histogram_kernel[(4,)](Array(x), counts, 1900, BINS=64, BLOCK=512)
    equal(counts.read(), np.bincount(x, minlength=64))


@triton.jit
def atomics_kernel(x, y, size, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    values = tl.load(x + offsets, mask)
    bucket = offsets % 8
    tl.atomic_add(y + bucket, values, mask)
    tl.atomic_max(y + 8 + bucket, values, mask)
    tl.atomic_min(y + 16 + bucket, values, mask)
    tl.atomic_or(y + 24 + bucket, values, mask)
    tl.atomic_and(y + 32 + bucket, values, mask)
    tl.atomic_xor(y + 40 + bucket, values, mask)


@test(dtype=[np.int32, np.int64])
def atomics(dtype):
    x = random("atomics").integers(-(2**20), 2**20, 400).astype(dtype)
    initial = np.zeros((6, 8), dtype)
    initial[1], initial[2], initial[4] = -(2**30), 2**30, -1
    y = Array(initial)
    atomics_kernel[(4,)](Array(x), y, 400, BLOCK=128)
    columns = x.reshape(50, 8)
    functions = (np.add, np.maximum, np.minimum, np.bitwise_or, np.bitwise_and, np.bitwise_xor)
    equal(y.read(), np.stack([function.reduce(columns, axis=0) for function in functions]))


@triton.jit
def float_atomics_kernel(x, y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + tl.arange(0, BLOCK) % 4, tl.load(x + offsets), sem="relaxed")


@test(dtype=[np.float16, np.float32, np.float64])
def float_atomics(dtype):
    x = whole_numbers(random("float atomics"), (3, 128), 4, dtype)
    y = zeros(4, dtype)
    float_atomics_kernel[(3,)](Array(x), y, BLOCK=128)
    equal(y.read(), x.astype(np.float64).reshape(-1, 4).sum(0))


@triton.jit
def chained_scan_kernel(x, y, sums, flags, size, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    partial = tl.cumsum(tl.load(x + offsets, mask, other=0), 0)
    previous = tl.zeros((), tl.int32)
    if block > 0:
        # The blocks before this one run, since blocks start in order.
        while tl.atomic_add(flags + block - 1, 0, sem="acquire") == 0:
            pass
        previous = tl.load(sums + block - 1, volatile=True)
    total = previous + tl.sum(tl.where(mask, tl.load(x + offsets, mask, other=0), 0), 0)
    tl.store(sums + block, total)
    tl.debug_barrier()
    tl.atomic_xchg(flags + block, 1, sem="release")
    tl.store(y + offsets, previous + partial, mask)


@test()
def chained_scan():
    x = whole_numbers(random("chained scan"), 1500, 99, np.int32)
    y, sums, flags = output(1500, np.int32), output(6, np.int32), zeros(6, np.int32)
    chained_scan_kernel[(6,)](Array(x), y, sums, flags, 1500, BLOCK=256)
    equal(y.read(), x.cumsum())


@triton.jit
def cross_entropy_kernel(logits, labels, losses, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(logits + row * columns + offsets, offsets < columns, other=-float("inf")).to(tl.float32)
    most = tl.max(values, 0)
    logarithm = most + tl.log(tl.sum(tl.exp(values - most), 0))
    label = tl.load(labels + row)
    tl.store(losses + row, logarithm - tl.load(logits + row * columns + label).to(tl.float32))


@test()
def cross_entropy():
    generator = random("cross entropy")
    logits = generator.normal(size=(6, 1000)).astype(np.float16)
    labels = generator.integers(0, 1000, 6)
    losses = output(6)
    cross_entropy_kernel[(6,)](Array(logits), Array(labels), losses, 1000, BLOCK=1024)
    exact = logits.astype(np.float64)
    close(losses.read(), np.log(np.exp(exact).sum(1)) - exact[np.arange(6), labels], 1e-4)
