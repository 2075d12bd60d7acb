"""Programs of cuda.core: kernels that NVRTC compiles, memory, streams, events, graphs, clusters and links."""

import unittest

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, EventOptions, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

ADD = """
template <typename T>
__global__ void add(const T* a, const T* b, T* c, size_t n) {
    const unsigned int start = threadIdx.x + blockIdx.x * blockDim.x;
    for (size_t i = start; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
"""


class CoreTests(unittest.TestCase):
    def setUp(self):
        self.device = Device(0)
        self.device.set_current()
        self.stream = self.device.create_stream()

    def compile(self, source, form, names=(), virtual=False):
        arch = "".join(str(number) for number in self.device.compute_capability)
        options = ProgramOptions(std="c++17", arch=f"{'compute' if virtual else 'sm'}_{arch}")
        return Program(source, code_type="c++", options=options).compile(form, name_expressions=tuple(names))

    def upload(self, values):
        buffer = self.device.allocate(values.nbytes, stream=self.stream)
        self.stream.sync()
        driver.cuMemcpyHtoD(int(buffer.handle), values.ctypes.data, values.nbytes)
        return buffer

    def download(self, buffer, like):
        values = np.empty_like(like)
        self.stream.sync()
        driver.cuMemcpyDtoH(values.ctypes.data, int(buffer.handle), values.nbytes)
        return values

    def check_add(self, code):
        a, b = np.arange(1000, dtype=np.float32), np.full(1000, 3, np.float32)
        x, y, z = self.upload(a), self.upload(b), self.upload(np.zeros_like(a))
        kernel = code.get_kernel("add<float>")
        launch(self.stream, LaunchConfig(grid=3, block=128), kernel, x, y, z, np.uint64(1000))
        np.testing.assert_equal(self.download(z, a), a + b)

    def test_ptx(self):
        self.check_add(self.compile(ADD, "ptx", ["add<float>"], virtual=True))

    def test_machine_code(self):
        """The replacement of NVRTC returns PTX as machine code."""
        self.check_add(self.compile(ADD, "cubin", ["add<float>"]))

    def test_two_instances(self):
        code = self.compile(ADD, "cubin", ["add<float>", "add<double>"])
        self.check_add(code)
        a = np.arange(300, dtype=np.float64)
        x, z = self.upload(a), self.upload(np.zeros_like(a))
        launch(self.stream, LaunchConfig(grid=1, block=64), code.get_kernel("add<double>"), x, x, z, np.uint64(300))
        np.testing.assert_equal(self.download(z, a), 2 * a)

    def test_link(self):
        arch = "sm_" + "".join(str(number) for number in self.device.compute_capability)
        options = ProgramOptions(relocatable_device_code=True, arch=arch.replace("sm", "compute"))
        first = Program('extern __device__ int f(int); extern "C" __global__ void k(int* r) { r[threadIdx.x] = f(threadIdx.x); }', "c++", options).compile("ptx")
        second = Program("__device__ int f(int x) { return x * x; }", "c++", options).compile("ptx")
        code = Linker(first, second, options=LinkerOptions(arch=arch)).link("cubin")
        r = self.upload(np.zeros(32, np.int32))
        launch(self.stream, LaunchConfig(grid=1, block=32), code.get_kernel("k"), r)
        np.testing.assert_equal(self.download(r, np.zeros(32, np.int32)), np.arange(32) ** 2)

    def test_events(self):
        start = self.stream.record(options=EventOptions(timing_enabled=True))
        self.check_add(self.compile(ADD, "cubin", ["add<float>"]))
        end = self.stream.record(options=EventOptions(timing_enabled=True))
        end.sync()
        self.assertGreaterEqual(end - start, 0)

    def test_graph(self):
        kernel = self.compile('extern "C" __global__ void step(int* x) { atomicAdd(x, 1); }', "cubin").get_kernel("step")
        x = self.upload(np.zeros(1, np.int32))
        builder = self.device.create_graph_builder()
        builder.begin_building()
        for _ in range(3):
            launch(builder, LaunchConfig(grid=2, block=32), kernel, x)
        graph = builder.end_building().complete()
        graph.upload(self.stream)
        for _ in range(2):
            graph.launch(self.stream)
        np.testing.assert_equal(self.download(x, np.zeros(1, np.int32)), [2 * 3 * 64])

    def test_shared_memory(self):
        source = 'extern "C" __global__ void rev(int* x) { extern __shared__ int s[]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }'
        kernel = self.compile(source, "cubin").get_kernel("rev")
        values = np.arange(128, dtype=np.int32)
        x = self.upload(values)
        launch(self.stream, LaunchConfig(grid=1, block=128, shmem_size=512), kernel, x)
        np.testing.assert_equal(self.download(x, values), values[::-1])

    def test_cluster(self):
        if self.device.compute_capability < (9, 0):
            self.skipTest("clusters need compute capability 9.0")
        source = """
        #include <cooperative_groups.h>
        extern "C" __global__ void ranks(unsigned* r) {
            auto cluster = cooperative_groups::this_cluster();
            cluster.sync();
            if (threadIdx.x == 0) r[blockIdx.x] = cluster.block_rank() * 10 + cluster.num_blocks();
        }"""
        import cuda.pathfinder

        include = cuda.pathfinder.find_nvidia_header_directory("cudart")
        options = ProgramOptions(arch="sm_90", std="c++17", include_path=[include, f"{include}/cccl"])
        kernel = Program(source, "c++", options).compile("cubin").get_kernel("ranks")
        r = self.upload(np.zeros(4, np.uint32))
        launch(self.stream, LaunchConfig(grid=2, cluster=2, block=32), kernel, r)
        np.testing.assert_equal(self.download(r, np.zeros(4, np.uint32)), [2, 12, 2, 12])

    def test_compiler_error(self):
        with self.assertRaises(Exception) as context:
            self.compile("__global__ void k() { undeclared = 1; }", "cubin")
        self.assertIn("undeclared", str(context.exception))

    def test_attributes(self):
        kernel = self.compile(ADD, "cubin", ["add<float>"]).get_kernel("add<float>")
        self.assertGreater(kernel.attributes.max_threads_per_block, 0)
        self.assertGreater(kernel.occupancy.max_active_blocks_per_multiprocessor(128, 0), 0)
        self.assertEqual(kernel.num_arguments, 4)
