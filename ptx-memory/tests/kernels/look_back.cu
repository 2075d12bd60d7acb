// A scan with decoupled look-back: each block of one thread publishes its sum, then its inclusive prefix.
__device__ unsigned sums[8], prefixes[8], states[8]; // states: 0 none, 1 sum, 2 prefix
#define LOAD(p, o) __nv_atomic_load_n(p, o, __NV_THREAD_SCOPE_DEVICE)
#define STORE(p, v, o) __nv_atomic_store_n(p, v, o, __NV_THREAD_SCOPE_DEVICE)
extern "C" __global__ void look_back(unsigned *result)
{
    unsigned tile = blockIdx.x, sum = tile + 1, before = 0;
    if (tile == 0) {
        prefixes[0] = sum;
        STORE(&states[0], 2u, __NV_ATOMIC_RELEASE);
    } else {
        sums[tile] = sum;
        STORE(&states[tile], 1u, __NV_ATOMIC_RELEASE);
        for (int other = (int)tile - 1; ; --other) {
            unsigned state;
            do state = LOAD(&states[other], __NV_ATOMIC_ACQUIRE); while (state == 0);
            if (state == 2) { before += prefixes[other]; break; }
            before += sums[other];
        }
        prefixes[tile] = before + sum;
        STORE(&states[tile], 2u, __NV_ATOMIC_RELEASE);
    }
    result[tile] = before + sum;
}
