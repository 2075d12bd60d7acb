"""Kernels with tensor descriptors, which use the tensor memory accelerator on sm_90 and later; clusters, and specialized warps."""

import numpy as np
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait
from triton.tools.tensor_descriptor import TensorDescriptor

from device import Array, equal, output, random, test, whole_numbers, zeros


@triton.jit
def copy_kernel(x, y, ROWS, COLUMNS, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [ROWS, COLUMNS], [COLUMNS, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [ROWS, COLUMNS], [COLUMNS, 1], [BM, BN])
    place = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(place, source.load(place) * 2)


@test(dtype=[np.float16, np.float32, np.int8])
def descriptor_copy(dtype):
    x = whole_numbers(random("descriptor"), (50, 80), 50, dtype)
    y = output((50, 80), dtype)
    copy_kernel[(2, 3)](Array(x), y, 50, 80, 32, 32)
    equal(y.read(), 2 * x)


@triton.jit
def descriptor_sum_kernel(x, y, ROWS, COLUMNS, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [ROWS, COLUMNS], [COLUMNS, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [BM, BN], [BN, 1], [BM, BN])
    target.atomic_add([0, 0], source.load([tl.program_id(0) * BM, tl.program_id(1) * BN]))


@test(least=90)
def descriptor_sum():
    x = whole_numbers(random("descriptor sum"), (64, 64), 50)
    y = zeros((32, 32))
    descriptor_sum_kernel[(2, 2)](Array(x), y, 64, 64, 32, 32)
    equal(y.read(), x.reshape(2, 32, 2, 32).sum((0, 2)))


@triton.jit
def descriptor_gather_kernel(source, index, y, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    values = source.gather(tl.load(index + rows), tl.program_id(0) * COLUMNS)
    offsets = rows[:, None] * (COLUMNS * 2) + tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(y + offsets, values)


@test(least=100)
def descriptor_gather():
    generator = random("descriptor gather")
    x = whole_numbers(generator, (40, 64), 50, np.float16)
    index = generator.integers(0, 40, 32).astype(np.int32)
    y = output((32, 64), np.float16)
    descriptor_gather_kernel[(2,)](TensorDescriptor.from_tensor(Array(x), [1, 32]), Array(index), y, 32, 32)
    equal(y.read(), x[index])


@triton.jit
def descriptor_matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZED: tl.constexpr, FLATTEN: tl.constexpr):
    """c = a transpose(b), by persistent CTAs, with descriptors that the host made."""
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLATTEN, warp_specialize=SPECIALIZED):
        row, column = tile // tiles_n * BM, tile % tiles_n * BN
        sums = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            sums = tl.dot(a.load([row, step * BK]), b.load([column, step * BK]).T, sums)
        c.store([row, column], sums.to(tl.float16))


def check_matmul(m, n, k, tile, specialized, flatten=False, **options):
    generator = random("descriptor matmul", m, n, k)
    bm, bn, bk = tile
    a, b = whole_numbers(generator, (m, k), 3, np.float16), whole_numbers(generator, (n, k), 3, np.float16)
    c = output((m, n), np.float16)
    descriptors = [TensorDescriptor.from_tensor(Array(x), [rows, bk]) for x, rows in ((a, bm), (b, bn))]
    target = TensorDescriptor.from_tensor(c, [bm, bn])
    descriptor_matmul_kernel[(2,)](*descriptors, target, m, n, k, bm, bn, bk, specialized, flatten, **options)
    equal(c.read(), a.astype(np.float32) @ b.T.astype(np.float32))


@test(flatten=[False, True])
def descriptor_matmul(flatten):
    check_matmul(200, 136, 80, (64, 64, 32), False, flatten, num_stages=3)


# Triton specializes warps of products with tcgen05.
@test(least=100, stages=[2, 3])
def specialized_matmul(stages):
    check_matmul(256, 136, 160, (128, 64, 32), True, num_stages=stages)


@test(least=90, ctas=[2])
def cluster_matmul(ctas):
    check_matmul(256, 128, 64, (128, 128, 32), False, num_ctas=ctas)


@triton.jit
def device_descriptor_matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_map = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_map = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        sums = tl.dot(a_map.load([row, start]), b_map.load([start, column]), sums)
    c_map.store([row, column], sums)


@test(dtype=[np.float16])
def device_descriptor_matmul(dtype):
    generator = random("device descriptor matmul")
    a, b = whole_numbers(generator, (96, 80), 3, dtype), whole_numbers(generator, (80, 72), 3, dtype)
    c = output((96, 72))
    device_descriptor_matmul_kernel[(2, 2)](Array(a), Array(b), c, 96, 72, 80, 64, 64, 32)
    equal(c.read(), a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def double_kernel(x, y, BLOCK: tl.constexpr, DEPENDENT: tl.constexpr):
    if DEPENDENT:
        gdc_wait()
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offsets, tl.load(x + offsets) * 2)
    if DEPENDENT:
        gdc_launch_dependents()


@test(least=90)
def dependent_launch():
    x = np.arange(512, dtype=np.float32)
    y, z = output(512), output(512)
    double_kernel[(4,)](Array(x), y, 128, True, launch_pdl=True)
    double_kernel[(4,)](y, z, 128, True, launch_pdl=True)
    equal(z.read(), 4 * x)
