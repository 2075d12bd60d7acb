"""The cases of kernels written in CUDA, by the name of the kernel."""

import numpy as np

from case import Case, Input, Launch, Output, generator, whole_numbers


def last_block_sum(kernel):
    """`last_block_sum(values, partial, sum, size)`: the CTA that finishes last adds the sums of all CTAs. It resets the counter for the next launch."""
    for size, ctas, second in [(1000, 3, 5), (256, 1, 2), (5000, 300, 7)]:
        values = whole_numbers(generator("last_block_sum", size), size, 100)
        buffers = {"values": Input(values), "first": Output(np.float32([values.sum()])), "second": Output(np.float32([values[: size - 9].sum()]))}
        launches = []
        for name, grid, count in [("first", ctas, size), ("second", second, size - 9)]:
            # CTA c adds the values that its threads reach from 256 c in steps of the whole grid.
            sums = [sum(values[start : min(start + 256, count)].sum() for start in range(256 * cta, count, 256 * grid)) for cta in range(grid)]
            buffers[name + "_partial"] = Output(np.float32(sums))
            launches.append(Launch(kernel.name, [grid], kernel.block, ["values", name + "_partial", name, count]))
        yield Case(f"{size}, {ctas} and {second} CTAs", buffers, launches)


def pdl_consumer(kernel):
    """`pdl_consumer(x, y, size)`: y[i] = 2 i x[i]. The second launch depends on the first one."""
    for size in [256, 1000]:
        x = whole_numbers(generator("pdl_consumer", size), size, 7)
        factors = 2 * np.arange(size, dtype=np.float32)
        buffers = {"x": Input(x), "y": Output(x * factors), "z": Output(x * factors * factors)}
        grid = [-(-size // kernel.threads)]
        launches = [Launch(kernel.name, grid, kernel.block, [*names, size]) for names in (["x", "y"], ["y", "z"])]
        yield Case(f"{size}", buffers, launches)


def bulk_pipeline(kernel):
    """`bulk_pipeline(input, output, tiles)`: 2 x + 1 for tiles of 1024 elements, by one CTA."""
    for tiles in [1, 2, 3, 8]:
        values = whole_numbers(generator("bulk_pipeline", tiles), 1024 * tiles, 1000)
        buffers = {"input": Input(values), "output": Output(2 * values + 1)}
        yield Case(f"{tiles} tiles", buffers, [Launch(kernel.name, [1], kernel.block, ["input", "output", tiles])])


def warp_reduce(kernel):
    """`warp_reduce(values, sums, size)`: a sum per CTA."""
    for size in [kernel.threads, 5 * kernel.threads - 77]:
        values = whole_numbers(generator("warp_reduce", size), size, 1000)
        starts = range(0, size, kernel.threads)
        sums = np.float32([values[start : start + kernel.threads].sum() for start in starts])
        buffers = {"values": Input(values), "sums": Output(sums)}
        yield Case(f"{size}", buffers, [Launch(kernel.name, [len(sums)], kernel.block, ["values", "sums", size])])


def warp_transpose(kernel):
    """`warp_transpose(input, output)`: each warp transposes a matrix of 32 x 32 elements."""
    for ctas in [1, 3]:
        values = generator("warp_transpose", ctas).normal(size=(ctas * kernel.threads // 32, 32, 32)).astype(np.float32)
        buffers = {"input": Input(values), "output": Output(np.ascontiguousarray(values.transpose(0, 2, 1)))}
        yield Case(f"{ctas} CTAs", buffers, [Launch(kernel.name, [ctas], kernel.block, ["input", "output"])])


def flag_consumer(kernel):
    """`flag_consumer(flag, data, output)`: CTA 0 writes data and sets the flag, which the host has cleared; CTA 1 waits for it and copies the data."""
    for threads in [32, 96, 256]:
        data = 3 * np.arange(threads, dtype=np.int32)
        buffers = {"flag": Output(np.int32([1])), "data": Output(data), "output": Output(data)}
        yield Case(f"{threads} threads", buffers, [Launch(kernel.name, [2], [threads], ["flag", "data", "output"])])


def stencil(kernel):
    """`stencil(input, output, size)`: weights 1/4, 1/2, 1/4, with zeros at both ends."""
    for size in [kernel.threads, 4 * kernel.threads - 100, 1]:
        values = whole_numbers(generator("stencil", size), size, 1000)
        padded = np.pad(values, 1)
        expected = np.float32(0.25) * (padded[:-2] + padded[2:]) + np.float32(0.5) * padded[1:-1]
        buffers = {"input": Input(values), "output": Output(expected)}
        grid = [-(-size // kernel.threads)]
        yield Case(f"{size}", buffers, [Launch(kernel.name, grid, kernel.block, ["input", "output", size])])


CASES = {
    "last_block_sum": last_block_sum,
    "pdl_consumer": pdl_consumer,
    "bulk_pipeline": bulk_pipeline,
    "warp_reduce": warp_reduce,
    "warp_transpose": warp_transpose,
    "flag_consumer": flag_consumer,
    "stencil": stencil,
}
