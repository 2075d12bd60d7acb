// A ring with 2 stages between a producer and a consumer of one block. Four values pass.
#include <cstdint>
__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(uint64_t *b, unsigned n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void arrive(uint64_t *b) { asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(shared_address(b)) : "memory"); }
__device__ __forceinline__ void wait(uint64_t *b, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nWAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1;\n@!p bra WAIT;\n}" :: "r"(shared_address(b)), "r"(parity) : "memory");
}
extern "C" __global__ void ring(unsigned *result)
{
    __shared__ uint64_t full[2], empty[2];
    __shared__ unsigned data[2];
    if (threadIdx.x == 0) { for (int i = 0; i < 2; ++i) { init(&full[i], 1); init(&empty[i], 1); } }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 4; ++i) {
            wait(&empty[i % 2], (i / 2 & 1) ^ 1);
            data[i % 2] = 10 + i;
            arrive(&full[i % 2]);
        }
    } else {
        for (unsigned i = 0; i < 4; ++i) {
            wait(&full[i % 2], i / 2 & 1);
            result[i] = data[i % 2];
            arrive(&empty[i % 2]);
        }
    }
}
