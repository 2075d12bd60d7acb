// A barrier of all blocks: each writes a word, meets the others, and reads the word of the next block.
__device__ unsigned arrived;
extern "C" __global__ void grid_barrier(unsigned *data, unsigned *result)
{
    unsigned self = blockIdx.x, count = gridDim.x;
    data[self] = self + 1;
    __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_add(&arrived, 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    while (__nv_atomic_load_n(&arrived, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE) != count) {}
    __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    result[self] = data[(self + 1) % count];
}
