// A ticket lock around a counter.
__device__ unsigned next_ticket, now_serving, counter;
extern "C" __global__ void ticket_lock() {
    unsigned ticket = __nv_atomic_fetch_add(&next_ticket, 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    unsigned served;
    do {
      __nv_atomic_load(&now_serving, &served, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
    } while (served != ticket);
    counter += 1;
    __nv_atomic_store_n(&now_serving, ticket + 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
}
