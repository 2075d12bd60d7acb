"""Kernels without communication between threads, or with reordered elements only."""

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

from device import BFLOAT16, FLOAT8_E5M2, Array, close, equal, output, random, test, whole_numbers


@triton.jit
def add_kernel(a, b, c, size, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    tl.store(c + offsets, tl.load(a + offsets, mask) + tl.load(b + offsets, mask), mask)


@test(dtype=[np.float16, np.float32, np.float64, BFLOAT16, np.int8, np.int32, np.int64])
def add(dtype):
    for size in (1000, 1024, 7):
        generator = random("add", size)
        a, b = (whole_numbers(generator, size, 50, dtype) for _ in range(2))
        c = output(size, dtype)
        add_kernel[(triton.cdiv(size, 256),)](Array(a), Array(b), c, size, BLOCK=256)
        equal(c.read(), a + b)


@triton.jit
def functions_kernel(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    v = tl.load(x + offsets)
    tl.store(y + offsets, 0.5 * v * (1 + tl.erf(v * 0.70710678)))
    tl.store(y + BLOCK + offsets, libdevice.tanh(v))
    tl.store(y + 2 * BLOCK + offsets, tl.sin(v) * tl.cos(v))
    tl.store(y + 3 * BLOCK + offsets, tl.sqrt(tl.abs(v)) + tl.log2(1 + tl.exp(v)))
    tl.store(y + 4 * BLOCK + offsets, libdevice.pow(tl.abs(v), 1.5))
    tl.store(y + 5 * BLOCK + offsets, tl.sigmoid(v) + tl.floor(v) + tl.rsqrt(1 + v * v))


@test()
def functions():
    x = random("functions").uniform(-3, 3, 256).astype(np.float32)
    y = output((6, 256))
    functions_kernel[(1,)](Array(x), y, BLOCK=256)
    v = x.astype(np.float64)
    erf = np.vectorize(__import__("math").erf)
    expected = [
        0.5 * v * (1 + erf(v * 0.70710678)),
        np.tanh(v),
        np.sin(v) * np.cos(v),
        np.sqrt(np.abs(v)) + np.log2(1 + np.exp(v)),
        np.abs(v) ** 1.5,
        1 / (1 + np.exp(-v)) + np.floor(v) + 1 / np.sqrt(1 + v * v),
    ]
    close(y.read(), np.stack(expected), 4e-6)


@triton.jit
def dropout_kernel(x, y, words, size, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    keep = tl.rand(seed, offsets) > p
    tl.store(y + offsets, tl.where(keep, tl.load(x + offsets, mask) / (1 - p), 0.0), mask)
    tl.store(words + offsets, tl.randint(seed, offsets).to(tl.uint32, bitcast=True), mask)


def philox(seed, offsets):
    """The first word of Philox 4x32 with ten rounds, for the counters (offset, 0, 0, 0)."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    counter = [offsets.astype(np.uint64)] + [np.zeros(offsets.shape, np.uint64)] * 3
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [second >> shift ^ counter[1] ^ np.uint64(key[0]), second & low, first >> shift ^ counter[3] ^ np.uint64(key[1]), first & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter[0].astype(np.uint32)


@test()
def dropout():
    size, p, seed = 1000, 0.25, 0x123456789
    x = random("dropout").normal(size=size).astype(np.float32)
    y, words = output(size), output(size, np.uint32)
    dropout_kernel[(4,)](Array(x), y, words, size, p, seed, BLOCK=256)
    expected = philox(seed, np.arange(size))
    equal(words.read(), expected)
    signed = expected.view(np.int32).astype(np.int64)
    uniform = (np.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10).astype(np.float32)
    close(y.read(), np.where(uniform > p, x / (1 - p), 0), 1e-6)


@triton.jit
def convert_kernel(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets).to(y.dtype.element_ty))


def check_conversion(dtype, most):
    x = np.concatenate([random("convert").normal(size=500) * most / 3, [0.0, -0.0, most, -most, most * 0.75, 1e-3, -1e-4, 2.0**-14, 2.0**-16, 1.0, 1.0625, 1.125]])
    x = x.clip(-most, most).astype(np.float32)
    y = output(512, dtype)
    convert_kernel[(1,)](Array(x), y, BLOCK=512)
    equal(y.read(), x.astype(dtype))


@test(dtype=[np.float16, BFLOAT16, FLOAT8_E5M2])
def convert(dtype):
    check_conversion(dtype, 240)


@test(least=89)
def convert_to_e4m3():
    from device import FLOAT8_E4M3

    check_conversion(FLOAT8_E4M3, 240)


@triton.jit
def transpose_kernel(x, y, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (r[:, None] < rows) & (c[None, :] < columns)
    values = tl.load(x + r[:, None] * columns + c[None, :], mask)
    tl.store(y + c[:, None] * rows + r[None, :], tl.trans(values), tl.trans(mask))


@test(dtype=[np.float32, np.float16, np.int8])
def transpose(dtype):
    x = whole_numbers(random("transpose"), (100, 72), 90, dtype)
    y = output((72, 100), dtype)
    transpose_kernel[(4, 3)](Array(x), y, 100, 72, ROWS=32, COLUMNS=32)
    equal(y.read(), x.T)


@triton.jit
def permute_kernel(x, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    values = tl.load(x + tl.arange(0, A * B * C)).reshape(A, B, C)
    values = tl.permute(values, (2, 0, 1)).reshape(A * B * C)
    tl.store(y + tl.arange(0, A * B * C), values)


@test()
def permute():
    x = np.arange(8 * 16 * 32, dtype=np.int32)
    y = output(x.size, np.int32)
    permute_kernel[(1,)](Array(x), y, 8, 16, 32)
    equal(y.read(), x.reshape(8, 16, 32).transpose(2, 0, 1).ravel())


@triton.jit
def complex_product_kernel(a, b, c, BLOCK: tl.constexpr):
    offsets = tl.arange(0, 2 * BLOCK)
    ar, ai = tl.split(tl.load(a + offsets).reshape(BLOCK, 2))
    br, bi = tl.split(tl.load(b + offsets).reshape(BLOCK, 2))
    tl.store(c + offsets, tl.interleave(ar * br - ai * bi, ar * bi + ai * br))


@test()
def complex_product():
    generator = random("complex")
    a, b = (whole_numbers(generator, (128, 2), 9) for _ in range(2))
    c = output((128, 2))
    complex_product_kernel[(1,)](Array(a), Array(b), c, BLOCK=128)
    product = a.view(np.complex64) * b.view(np.complex64)
    equal(c.read(), product.view(np.float32).reshape(128, 2))


@triton.jit
def gather_kernel(x, index, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    offsets = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + offsets, tl.gather(tl.load(x + offsets), tl.load(index + offsets), 0))
    tl.store(y + ROWS * COLUMNS + offsets, tl.gather(tl.load(x + offsets), tl.load(index + offsets), 1))


@test()
def gather():
    generator = random("gather")
    x = generator.normal(size=(32, 64)).astype(np.float32)
    index = generator.integers(0, 32, (32, 64)).astype(np.int32)
    y = output((2, 32, 64))
    gather_kernel[(1,)](Array(x), Array(index), y, 32, 64)
    equal(y.read(), np.stack([np.take_along_axis(x, index, 0), np.take_along_axis(x, index, 1)]))


@triton.jit
def embedding_kernel(table, index, y, width, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0)).to(tl.int64)
    for start in range(0, width, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        values = tl.load(table + row * width + offsets, offsets < width, eviction_policy="evict_first")
        tl.store(y + tl.program_id(0) * width + offsets, values, offsets < width)


@test()
def embedding():
    generator = random("embedding")
    table = generator.normal(size=(50, 300)).astype(np.float16)
    index = generator.integers(0, 50, 9)
    y = output((9, 300), np.float16)
    embedding_kernel[(9,)](Array(table), Array(index), y, 300, BLOCK=128)
    equal(y.read(), table[index])


@triton.jit
def assembly_kernel(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    text: tl.constexpr = "{ .reg .b32 t; shr.u32 t, $1, 4; and.b32 $0, t, 0x0F0F0F0F; }"
    values = tl.inline_asm_elementwise(text, "=r,r", [values], dtype=tl.uint8, is_pure=True, pack=4)
    tl.store(y + offsets, values)


@test()
def inline_assembly():
    x = random("assembly").integers(0, 256, 512).astype(np.uint8)
    y = output(512, np.uint8)
    assembly_kernel[(1,)](Array(x), y, BLOCK=512)
    equal(y.read(), x >> 4)


@triton.jit
def loop_kernel(x, counts, size, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    values = tl.load(x + offsets, mask, other=1)
    steps = tl.zeros((BLOCK,), tl.int32)
    while tl.max(values, 0) > 1:
        active = values > 1
        steps += active.to(tl.int32)
        values = tl.where(active, tl.where(values % 2 == 0, values // 2, 3 * values + 1), values)
    tl.store(counts + offsets, steps, mask)


@test()
def while_loop():
    counts = output(100, np.int32)
    loop_kernel[(2,)](Array(np.arange(1, 101, dtype=np.int64)), counts, 100, BLOCK=64)
    expected = []
    for value in range(1, 101):
        steps = 0
        while value > 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        expected.append(steps)
    equal(counts.read(), np.array(expected))
