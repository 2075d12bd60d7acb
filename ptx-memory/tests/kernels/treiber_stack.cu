// A Treiber stack: each thread pushes its node, and pops one. A pop of an empty stack ends.
struct Node { unsigned next; unsigned value; };
__device__ Node nodes[8];
__device__ unsigned top;          // the number of the first node plus 1
extern "C" __global__ void treiber_stack(unsigned *popped)
{
    unsigned self = blockIdx.x;
    nodes[self].value = self + 10;
    unsigned first = __nv_atomic_load_n(&top, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    do {
        __nv_atomic_store_n(&nodes[self].next, first, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    } while (!__nv_atomic_compare_exchange_n(&top, &first, self + 1, false, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE));
    first = __nv_atomic_load_n(&top, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
    unsigned next;
    do {
        if (first == 0) return;
        next = __nv_atomic_load_n(&nodes[first - 1].next, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    } while (!__nv_atomic_compare_exchange_n(&top, &first, next, false, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE));
    popped[self] = nodes[first - 1].value;
}
