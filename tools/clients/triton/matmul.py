"""Matrix products: types of elements, orders of tiles, quantized factors. Factors are small whole numbers, so that sums are exact."""

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from device import BFLOAT16, FLOAT8_E4M3, FLOAT8_E5M2, Array, close, equal, output, random, test, whole_numbers, zeros


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, TYPE: tl.constexpr, RELU: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    tile = tl.program_id(0)
    first = tile // (GROUP * tiles_n) * GROUP
    group = min(tiles_m - first, GROUP)
    tile_m = first + tile % (GROUP * tiles_n) % group
    tile_n = tile % (GROUP * tiles_n) // group
    rows, columns, k = tile_m * BM + tl.arange(0, BM), tile_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    sums = tl.zeros((BM, BN), TYPE)
    for start in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + start + k[None, :], (rows[:, None] < M) & (start + k[None, :] < K), other=0.0)
        y = tl.load(b + (start + k[:, None]) * N + columns[None, :], (start + k[:, None] < K) & (columns[None, :] < N), other=0.0)
        sums = tl.dot(x, y, sums, out_dtype=TYPE)
    if RELU:
        sums = tl.maximum(sums, 0.0)
    tl.store(c + rows[:, None] * N + columns[None, :], sums.to(c.dtype.element_ty), (rows[:, None] < M) & (columns[None, :] < N))


def check_product(dtype, result, accumulator, tile, sizes, most=3, relu=False, warps=4):
    bm, bn, bk = tile
    for m, n, k in sizes:
        generator = random("matmul", m, n, k)
        a, b = whole_numbers(generator, (m, k), most, dtype), whole_numbers(generator, (k, n), most, dtype)
        c = output((m, n), result)
        grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
        matmul_kernel[grid](Array(a), Array(b), c, m, n, k, bm, bn, bk, 2, accumulator, relu, num_warps=warps)
        expected = a.astype(np.float64) @ b.astype(np.float64)
        equal(c.read(), np.maximum(expected, 0) if relu else expected)


SIZES = [(64, 64, 64), (100, 72, 80), (16, 144, 48)]


@test(dtype=[np.float16, BFLOAT16, np.float32, FLOAT8_E5M2])
def dot(dtype):
    check_product(dtype, np.float32, tl.float32, (64, 64, 32), SIZES)


@test(least=89)
def dot_e4m3():
    check_product(FLOAT8_E4M3, np.float32, tl.float32, (64, 64, 32), SIZES)


@test(warps=[4, 8])
def dot_large_tile(warps):
    check_product(np.float16, np.float16, tl.float32, (128, 128, 64), [(128, 128, 128), (144, 256, 80)], relu=True, warps=warps)


@test(dtype=[np.float64])
def dot_f64(dtype):
    check_product(dtype, np.float64, tl.float64, (32, 32, 16), [(32, 32, 32), (40, 48, 16)])


@triton.jit
def integer_matmul_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr):
    rows, columns, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    sums = tl.zeros((M, N), tl.int32)
    for start in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + start + k[None, :])
        y = tl.load(b + columns[None, :] * K + start + k[:, None])
        sums += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


# tcgen05 has integer products on sm_100a, which Triton does not use.
@test()
def dot_i8():
    generator = random("i8")
    a, b = (generator.integers(-128, 128, (64, 96)).astype(np.int8) for _ in range(2))
    c = output((64, 64), np.int32)
    integer_matmul_kernel[(1,)](Array(a), Array(b), c, 64, 64, 96, BK=32)
    equal(c.read(), a.astype(np.int32) @ b.T.astype(np.int32))


@triton.jit
def precision_kernel(a, b, c, PRECISION: tl.constexpr):
    r = tl.arange(0, 32)
    tl.store(c + r[:, None] * 32 + r[None, :], tl.dot(tl.load(a + r[:, None] * 32 + r[None, :]), tl.load(b + r[:, None] * 32 + r[None, :]), input_precision=PRECISION))


@test(precision=["tf32", "tf32x3", "ieee"])
def dot_f32(precision):
    generator = random("precision")
    a, b = (generator.normal(size=(32, 32)).astype(np.float32) for _ in range(2))
    c = output((32, 32))
    precision_kernel[(1,)](Array(a), Array(b), c, precision)
    magnitude = np.abs(a).astype(np.float64) @ np.abs(b)
    unit = 2.0**-10 if precision == "tf32" else 2.0**-20
    close(c.read(), a.astype(np.float64) @ b, magnitude * unit)


@triton.jit
def split_k_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK * SPLIT):
        x = tl.load(a + rows[:, None] * K + start + k[None, :], start + k[None, :] < K, other=0.0)
        y = tl.load(b + (start + k[:, None]) * N + columns[None, :], start + k[:, None] < K, other=0.0)
        sums = tl.dot(x, y, sums)
    tl.atomic_add(c + rows[:, None] * N + columns[None, :], sums, sem="relaxed")


@test()
def split_k():
    generator = random("split k")
    a, b = whole_numbers(generator, (64, 192), 3, np.float16), whole_numbers(generator, (192, 64), 3, np.float16)
    c = zeros((64, 64))
    split_k_kernel[(2, 2, 3)](Array(a), Array(b), c, 64, 64, 192, BM=32, BN=32, BK=32, SPLIT=3)
    equal(c.read(), a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def persistent_matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLATTEN: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    k = tl.arange(0, BK)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLATTEN):
        rows, columns = tile // tiles_n * BM + tl.arange(0, BM), tile % tiles_n * BN + tl.arange(0, BN)
        sums = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            x = tl.load(a + rows[:, None] * K + step * BK + k[None, :], (rows[:, None] < M) & (step * BK + k[None, :] < K), other=0.0)
            y = tl.load(b + (step * BK + k[:, None]) * N + columns[None, :], (step * BK + k[:, None] < K) & (columns[None, :] < N), other=0.0)
            sums = tl.dot(x, y, sums)
        tl.store(c + rows[:, None] * N + columns[None, :], sums.to(tl.float16), (rows[:, None] < M) & (columns[None, :] < N))


@test(flatten=[False, True])
def persistent_matmul(flatten):
    generator = random("persistent")
    m, n, k = 200, 136, 80
    a, b = whole_numbers(generator, (m, k), 3, np.float16), whole_numbers(generator, (k, n), 3, np.float16)
    c = output((m, n), np.float16)
    persistent_matmul_kernel[(3,)](Array(a), Array(b), c, m, n, k, 64, 64, 32, flatten, num_stages=3)
    equal(c.read(), a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def grouped_gemm_kernel(a_addresses, b_addresses, c_addresses, sizes, GROUPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    last = 0
    for group in range(GROUPS):
        M, N, K = tl.load(sizes + 3 * group), tl.load(sizes + 3 * group + 1), tl.load(sizes + 3 * group + 2)
        tiles_n = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * tiles_n
        while tile >= last and tile < last + tiles:
            a = tl.load(a_addresses + group).to(tl.pointer_type(tl.float16))
            b = tl.load(b_addresses + group).to(tl.pointer_type(tl.float16))
            c = tl.load(c_addresses + group).to(tl.pointer_type(tl.float16))
            rows = (tile - last) // tiles_n * BM + tl.arange(0, BM)
            columns = (tile - last) % tiles_n * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            sums = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                x = tl.load(a + rows[:, None] * K + start + k[None, :], rows[:, None] < M, other=0.0)
                y = tl.load(b + (start + k[:, None]) * N + columns[None, :], columns[None, :] < N, other=0.0)
                sums = tl.dot(x, y, sums)
            tl.store(c + rows[:, None] * N + columns[None, :], sums.to(tl.float16), (rows[:, None] < M) & (columns[None, :] < N))
            tile += tl.num_programs(0)
        last += tiles


@test()
def grouped_gemm():
    generator = random("grouped")
    sizes = [(64, 64, 32), (100, 40, 64), (32, 160, 96)]
    a = [whole_numbers(generator, (m, k), 3, np.float16) for m, _, k in sizes]
    b = [whole_numbers(generator, (k, n), 3, np.float16) for _, n, k in sizes]
    a_arrays, b_arrays = [Array(x) for x in a], [Array(x) for x in b]
    c_arrays = [output((m, n), np.float16) for m, n, _ in sizes]
    addresses = [Array(np.array([array.address for array in arrays], np.int64)) for arrays in (a_arrays, b_arrays, c_arrays)]
    grouped_gemm_kernel[(4,)](*addresses, Array(np.array(sizes, np.int32)), len(sizes), 64, 64, 32)
    for c, x, y in zip(c_arrays, a, b):
        equal(c.read(), x.astype(np.float32) @ y.astype(np.float32))


@triton.jit
def batched_matmul_kernel(a, b, c, BATCH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch, rows, columns, k = tl.arange(0, BATCH), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + batch[:, None, None] * M * K + rows[None, :, None] * K + k[None, None, :])
    y = tl.load(b + batch[:, None, None] * K * N + k[None, :, None] * N + columns[None, None, :])
    tl.store(c + batch[:, None, None] * M * N + rows[None, :, None] * N + columns[None, None, :], tl.dot(x, y))


@test()
def batched_matmul():
    generator = random("batched")
    a, b = whole_numbers(generator, (4, 32, 32), 3, np.float16), whole_numbers(generator, (4, 32, 16), 3, np.float16)
    c = output((4, 32, 16))
    batched_matmul_kernel[(1,)](Array(a), Array(b), c, 4, 32, 16, 32)
    equal(c.read(), a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def quantized_matmul_kernel(a, words, scales, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    rows, columns, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, GROUP)
    sums = tl.zeros((M, N), tl.float32)
    for group in range(K // GROUP):
        x = tl.load(a + rows[:, None] * K + group * GROUP + k[None, :])
        index = group * GROUP + k[:, None]
        packed = tl.load(words + index // 8 * N + columns[None, :])
        y = ((packed >> (index % 8 * 4)) & 15) - 8
        scale = tl.load(scales + group * N + columns)
        sums = tl.dot(x, (y.to(tl.float16) * scale[None, :]), sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@test()
def quantized_matmul():
    generator = random("quantized")
    a = whole_numbers(generator, (32, 128), 3, np.float16)
    quantized = generator.integers(0, 16, (128, 64)).astype(np.uint32)
    words = sum(quantized[row::8] << np.uint32(4 * row) for row in range(8)).view(np.int32)
    scales = generator.choice(np.float16([0.5, 1, 2]), (4, 64))
    c = output((32, 64))
    quantized_matmul_kernel[(1,)](Array(a), Array(words), Array(scales), c, 32, 64, 128, 32)
    b = (quantized.astype(np.float32) - 8) * np.repeat(scales, 32, 0)
    equal(c.read(), a.astype(np.float32) @ b)


@triton.jit
def scaled_dot_kernel(a, a_scales, b, b_scales, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORMAT: tl.constexpr, PACK: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    k = tl.arange(0, K // PACK)
    group = tl.arange(0, K // 32)
    x = tl.load(a + rows[:, None] * (K // PACK) + k[None, :])
    y = tl.load(b + columns[None, :] * (K // PACK) + k[:, None])
    x_scale = tl.load(a_scales + rows[:, None] * (K // 32) + group[None, :])
    y_scale = tl.load(b_scales + columns[:, None] * (K // 32) + group[None, :])
    tl.store(c + rows[:, None] * N + columns[None, :], tl.dot_scaled(x, x_scale, FORMAT, y, y_scale, FORMAT))


def check_scaled_product(format):
    m, n, k = 128, 64, 128
    generator = random("scaled", format)
    a, b = (whole_numbers(generator, (rows, k), 3) for rows in (m, n))
    exponents = [generator.integers(125, 130, (rows, k // 32)).astype(np.uint8) for rows in (m, n)]
    if format == "e2m1":
        codes = [x.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) for x in (a, b)]
        packed = [x[:, ::2] | x[:, 1::2] << 4 for x in codes]
    else:
        packed = [x.astype({"e4m3": FLOAT8_E4M3, "e5m2": FLOAT8_E5M2}[format]).view(np.uint8) for x in (a, b)]
    c = output((m, n))
    pack = 2 if format == "e2m1" else 1
    scaled_dot_kernel[(1,)](Array(packed[0]), Array(exponents[0]), Array(packed[1]), Array(exponents[1]), c, m, n, k, format, pack)
    x, y = (v * np.repeat(2.0 ** (e.astype(np.float64) - 127), 32, 1) for v, e in zip((a, b), exponents))
    equal(c.read(), x @ y.T)


@test(format=["e5m2", "e2m1"])
def scaled_dot(format):
    check_scaled_product(format)


@test(least=89)
def scaled_dot_e4m3():
    check_scaled_product("e4m3")


@triton.jit
def convolution_kernel(x, w, y, H, W, CHANNELS: tl.constexpr, FILTERS: tl.constexpr, BLOCK: tl.constexpr):
    # One row of the matrix for each point of the output, one column for each filter.
    points = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = points // W, points % W
    channels, filters = tl.arange(0, CHANNELS), tl.arange(0, FILTERS)
    sums = tl.zeros((BLOCK, FILTERS), tl.float32)
    for place in tl.static_range(9):
        r, c = row + place // 3 - 1, column + place % 3 - 1
        inside = (r >= 0) & (r < H) & (c >= 0) & (c < W) & (points < H * W)
        values = tl.load(x + (r * W + c)[:, None] * CHANNELS + channels[None, :], inside[:, None], other=0.0)
        weights = tl.load(w + place * CHANNELS * FILTERS + channels[:, None] * FILTERS + filters[None, :])
        sums = tl.dot(values, weights, sums)
    tl.store(y + points[:, None] * FILTERS + filters[None, :], sums, (points < H * W)[:, None])


@test()
def convolution():
    generator = random("convolution")
    h, w = 9, 11
    x, weights = whole_numbers(generator, (h, w, 16), 3, np.float16), whole_numbers(generator, (3, 3, 16, 32), 3, np.float16)
    y = output((h, w, 32))
    convolution_kernel[(2,)](Array(x), Array(weights), y, h, w, 16, 32, 64)
    padded = np.pad(x.astype(np.float32), ((1, 1), (1, 1), (0, 0)))
    expected = sum(padded[r : r + h, c : c + w] @ weights[r, c].astype(np.float32) for r in range(3) for c in range(3))
    equal(y.read(), expected)
