// Block 0 passes a value to block 1 with a flag that it releases, and that block 1 acquires.
__device__ unsigned data, flag;
extern "C" __global__ void released_flag(unsigned *result)
{
    if (blockIdx.x == 0) {
        data = 42;
        __nv_atomic_store_n(&flag, 1u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
    } else {
        while (__nv_atomic_load_n(&flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 0) {}
        *result = data;
    }
}
