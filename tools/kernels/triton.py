"""The cases of kernels written in Triton, by the name of the kernel.

The last two parameters are buffers of scratch memory: for the kernel, and for a profiler. Triton assumes that sizes are multiples of 16.
"""

import math

import numpy as np

from case import Case, Input, Launch, Output, Scratch, format_of, generator, whole_numbers


def launch(kernel, grid, arguments, buffers):
    """A launch with the parameters of scratch memory added."""
    ctas = math.prod(grid)
    scratch = len(kernel.parameters) - 2
    for index, name in [(scratch, "scratch"), (scratch + 1, "profile")]:
        buffers[name] = Scratch(max(16, kernel.scratch_per_cta(index) * ctas))
        arguments = [*arguments, name]
    return Launch(kernel.name, grid, kernel.block, arguments)


def softmax(kernel):
    """`softmax_kernel(output, input, input_row_stride, output_row_stride, rows, columns)`: each row, by persistent CTAs."""
    most = kernel.most_columns()
    for rows, columns, ctas, padding in [(3, most // 2 + 48, 2, 16), (4, most, 1, 0), (5, 16, 8, 16), (7, most // 4 * 3, 2, 32)]:
        random = generator("softmax", rows, columns)
        values = random.uniform(-4, 4, (rows, columns + padding)).astype(np.float32)
        exponentials = np.exp(values[:, :columns].astype(np.float64))
        expected = np.zeros((rows, columns + 2 * padding))
        expected[:, :columns] = exponentials / exponentials.sum(axis=1, keepdims=True)
        # The exponent, the exponential and the quotient are within a few units in the last place; the sum adds less.
        bound = np.abs(expected) * 2.0**-18
        buffers = {"output": Output(expected.astype(np.float32), bound), "input": Input(values)}
        arguments = ["output", "input", values.shape[1], expected.shape[1], rows, columns]
        yield Case(f"{rows} x {columns}", buffers, [launch(kernel, [ctas], arguments, buffers)])


def histogram(kernel):
    """`hist_kernel(values, counts, size)`: counts of the values below the number of bins. Threads beyond the size count zeros."""
    tile = kernel.tile_of_block_index("x")
    bins = 2 * kernel.threads
    for size in [tile, 3 * tile - 48, 16]:
        values = generator("histogram", size).integers(0, bins + 40, size).astype(np.int32)
        ctas = -(-size // tile)
        counts = np.bincount(values, minlength=bins)[:bins]
        counts[0] += ctas * tile - size
        buffers = {"values": Input(values), "counts": Output(counts.astype(np.int32))}
        yield Case(f"{size}", buffers, [launch(kernel, [ctas], ["values", "counts", size], buffers)])


def scan(kernel):
    """`scan_kernel(values, factors, states, sums, columns)`: states[i] = factors[i] * states[i - 1] + values[i], and sums, along rows."""
    most, group = kernel.most_columns(), kernel.rows_of_block(4)
    for ctas, columns in [(1, most), (3, most // 2 + 16), (2, 48)]:
        random = generator("scan", ctas, columns)
        shape = (ctas * group, columns)
        # With these factors, all intermediate values are small whole numbers in each order of the operations.
        values, factors = whole_numbers(random, shape, 50), whole_numbers(random, shape, 1)
        factors[random.random(shape) < 0.9] = 1
        states = np.zeros(shape, np.float32)
        state = np.zeros(shape[0], np.float32)
        for column in range(columns):
            state = factors[:, column] * state + values[:, column]
            states[:, column] = state
        buffers = {
            "values": Input(values),
            "factors": Input(factors),
            "states": Output(states),
            "sums": Output(np.cumsum(values, axis=1, dtype=np.float32)),
        }
        arguments = ["values", "factors", "states", "sums", columns]
        yield Case(f"{shape[0]} x {columns}", buffers, [launch(kernel, [ctas], arguments, buffers)])


def matmul(kernel):
    """`matmul_kernel(a, b, c, m, n, k, stride_a, stride_b, stride_c)`: c = a b, with rows of consecutive elements."""
    form = format_of(kernel)
    tile_m, tile_n, tile_k = (kernel.tile_of_size(index) for index in (3, 4, 5))
    sizes = [
        (tile_m, tile_n, tile_k),
        (tile_m + 48, tile_n // 2 + 16, 4 * tile_k + 16),
        (16, 2 * tile_n + 48, 2 * tile_k + 32),
        (tile_m, tile_n, 16),
    ]
    for m, n, k in sizes:
        random = generator("matmul", m, n, k)
        a, b = whole_numbers(random, (m, k + 16), 3), whole_numbers(random, (k, n + 32), 3)
        c = np.zeros((m, n + 16), np.float32)
        c[:, :n] = a[:, :k] @ b[:, :n]
        buffers = {"a": Input(form.encode(a)), "b": Input(form.encode(b)), "c": Output(form.encode(c), format=form)}
        grid = [-(-m // tile_m) * -(-n // tile_n)]
        arguments = ["a", "b", "c", m, n, k, a.shape[1], b.shape[1], c.shape[1]]
        yield Case(f"{m} x {n} x {k}", buffers, [launch(kernel, grid, arguments, buffers)])


def matmul_of_tensor_maps(kernel):
    """`matmul_tma(a, b, c, m, n, k)`: c = a transpose(b), by persistent CTAs. Rows are multiples of 16 bytes."""
    form = format_of(kernel)
    tile_m, tile_n, tile_k = (kernel.tile_of_size(index) for index in (3, 4, 5))
    persistent = kernel.persistent_ctas()
    sizes = [
        (tile_m, tile_n, tile_k),
        (tile_m + 37, tile_n + 40, 4 * tile_k + 24),
        (24, 2 * tile_n + 8, 8),
        # More tiles than CTAs.
        (3 * tile_m - 8, (persistent // 3 + 1) * tile_n, 8),
    ]
    for m, n, k in sizes:
        random = generator("matmul_tma", m, n, k)
        a, b = whole_numbers(random, (m, k), 3), whole_numbers(random, (n, k), 3)
        buffers = {"a": Input(form.encode(a)), "b": Input(form.encode(b)), "c": Output(form.encode(a @ b.T), format=form)}
        tiles = -(-m // tile_m) * -(-n // tile_n)
        launches = [launch(kernel, [min(persistent, tiles)], ["a", "b", "c", m, n, k], buffers)]
        yield Case(f"{m} x {n} x {k}", buffers, launches, tiles > persistent)


def quantized_matmul(kernel):
    """`w4a16_kernel(a, b, scales, zeros, c, m, n, k, stride_a, stride_b, stride_c)`: c = a ((b - zeros) scales). A word of b contains eight numbers of four
    bits, for consecutive rows of a column. Rows of b have groups with the same scales and zeros."""
    form = format_of(kernel)
    tile_m, tile_n = kernel.tile_of_block_index("x"), kernel.tile_of_block_index("y")
    tile_k, group = kernel.tile_of_size(7), kernel.divisor_before_product(6)
    for m, n, k in [(tile_m, tile_n, 2 * group), (tile_m + 16, 2 * tile_n, 3 * group), (16, tile_n, tile_k)]:
        random = generator("w4a16", m, n, k)
        groups = -(-k // group)
        a = whole_numbers(random, (m, k + 16), 3)
        quantized = random.integers(0, 16, (k, n))
        zeros = random.integers(0, 16, (groups, n)).astype(np.int32)
        scales = random.choice(np.float32([0.5, 1, 2]), (groups, n))
        words = sum(quantized[row::8].astype(np.uint64) << np.uint64(4 * row) for row in range(8))
        words = words.astype(np.uint32).view(np.int32)
        padded = np.zeros((k // 8, n + 32), np.int32)
        padded[:, :n] = words
        rows = np.arange(k) // group
        b = (quantized - zeros[rows]) * scales[rows]
        c = np.zeros((m, n + 16), np.float32)
        c[:, :n] = a[:, :k] @ b.astype(np.float32)
        buffers = {
            "a": Input(form.encode(a)),
            "b": Input(padded),
            "scales": Input(form.encode(scales)),
            "zeros": Input(zeros),
            "c": Output(form.encode(c), format=form),
        }
        grid = [-(-m // tile_m), n // tile_n]
        arguments = ["a", "b", "scales", "zeros", "c", m, n, k, a.shape[1], padded.shape[1], c.shape[1]]
        yield Case(f"{m} x {n} x {k}", buffers, [launch(kernel, grid, arguments, buffers)])


def attention(kernel):
    """`attn_fwd(scale, logarithms, batches, heads, q, k, v, o, rows)`: the attention of each head, causal if scores are masked by adding -1e6. Also writes
    the logarithms (base 2) of the sums of exponentials."""
    form = format_of(kernel)
    tile = kernel.tile_of_block_index("x")
    maps = kernel.tensor_maps()
    width = maps[4]["global_dim", 0]
    # The number of rows must be a multiple of the tiles of q and of k.
    unit = max(tile, maps[5]["box_dim", 1])
    causal = "0fC9742400" in kernel.body
    for batches, heads, rows in [(1, 1, unit), (1, 2, 2 * unit), (1, 1, 4 * unit)]:
        random = generator("attention", batches, heads, rows)
        count = batches * heads
        shape = (count, rows, width)
        q, k, v = (form.encode(random.normal(size=shape)) for _ in range(3))
        scale = np.float32(1 / math.sqrt(width))
        scores = form.decode(q).astype(np.float64) @ form.decode(k).astype(np.float64).transpose(0, 2, 1)
        scores *= float(scale) * math.log2(math.e)
        if causal:
            scores[:, ~np.tri(rows, dtype=bool)] = -np.inf
        exponentials = np.exp2(scores)
        sums = exponentials.sum(axis=2)
        weights = exponentials / sums[:, :, None]
        values = form.decode(v).astype(np.float64)
        output = weights @ values
        # Each weight and each result is rounded to the format; sums are rounded to f32.
        bound = form.unit * (weights @ np.abs(values) + np.abs(output)) + 2.0**-12
        logarithms = np.log2(sums)
        buffers = {
            "logarithms": Output(logarithms.astype(np.float32), 2.0**-16 + np.abs(logarithms) * 2.0**-20),
            "q": Input(q),
            "k": Input(k),
            "v": Input(v),
            "o": Output(form.encode(output), bound, form),
        }
        arguments = [float(scale), "logarithms", batches, heads, "q", "k", "v", "o", rows]
        grid = [-(-rows // tile), count]
        yield Case(f"{count} x {rows} x {width}", buffers, [launch(kernel, grid, arguments, buffers)])


CASES = {
    "softmax_kernel": softmax,
    "hist_kernel": histogram,
    "scan_kernel": scan,
    "matmul_kernel": matmul,
    "matmul_tma": matmul_of_tensor_maps,
    "w4a16_kernel": quantized_matmul,
    "attn_fwd": attention,
}
