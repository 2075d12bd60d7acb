// A Michael-Scott queue without reuse of nodes: node 0 is the first dummy. Threads of even blocks enqueue, those of odd blocks dequeue.
struct Node { unsigned next; unsigned value; };
__device__ Node nodes[8];
__device__ unsigned head, tail;   // numbers of nodes
#define LOAD(p, o) __nv_atomic_load_n(p, o, __NV_THREAD_SCOPE_DEVICE)
#define CAS(p, e, v, o, f) __nv_atomic_compare_exchange_n(p, e, v, false, o, f, __NV_THREAD_SCOPE_DEVICE)
__device__ void enqueue(unsigned node, unsigned value)
{
    nodes[node].value = value;
    for (;;) {
        unsigned last = LOAD(&tail, __NV_ATOMIC_ACQUIRE);
        unsigned next = LOAD(&nodes[last].next, __NV_ATOMIC_ACQUIRE);
        if (next == 0) {
            if (CAS(&nodes[last].next, &next, node, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED)) {
                CAS(&tail, &last, node, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED);
                return;
            }
        } else {
            CAS(&tail, &last, next, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED);
        }
    }
}
__device__ unsigned dequeue()
{
    for (;;) {
        unsigned first = LOAD(&head, __NV_ATOMIC_ACQUIRE);
        unsigned next = LOAD(&nodes[first].next, __NV_ATOMIC_ACQUIRE);
        if (next == 0) return 0;
        unsigned last = LOAD(&tail, __NV_ATOMIC_ACQUIRE);
        if (first == last) { CAS(&tail, &last, next, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED); continue; }
        unsigned value = nodes[next].value;
        if (CAS(&head, &first, next, __NV_ATOMIC_RELEASE, __NV_ATOMIC_RELAXED)) return value;
    }
}
extern "C" __global__ void queue(unsigned *taken)
{
    unsigned self = blockIdx.x;
    if (self % 2 == 0) enqueue(1 + self, 10 + self);
    else taken[self] = dequeue();
}
