// Tensor memory: allocation, accesses of the first shapes, and descriptors.
#pragma once
#include "tensors.h"

constexpr uint64_t swizzle_code(int swizzle) { return swizzle == 128 ? 2 : swizzle == 64 ? 4 : swizzle == 32 ? 6 : 0; }
DEVICE uint64_t descriptor(const void *start, uint32_t leading, uint32_t stride, uint64_t code) {
  return (uint64_t)(address(start) >> 4 & 0x3fff) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | 1ull << 46 | code << 61;
}
// A matrix whose rows have 128 bytes, from a byte of them on.
DEVICE uint64_t rows_of_128(const char *matrix, int byte) { return descriptor(matrix + byte, 16, 1024, 2); }

template <int COLUMNS> DEVICE uint32_t allocate(uint32_t *place) {
  if (threadIdx.x / 32 == 0) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address(place)), "n"(COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  return *place;
}
template <int COLUMNS> DEVICE void release(uint32_t start) {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  if (threadIdx.x / 32 == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(start), "n"(COLUMNS));
}
DEVICE void tensor_commit(uint64_t *barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(address(barrier)) : "memory");
}
DEVICE void tensor_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
DEVICE void tensor_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
DEVICE void wait_loads() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
DEVICE void wait_tensor_stores() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

#define PLACES_8(c, d) c((d)[0]), c((d)[1]), c((d)[2]), c((d)[3]), c((d)[4]), c((d)[5]), c((d)[6]), c((d)[7])
#define PLACES_16(c, d) PLACES_8(c, d), PLACES_8(c, (d) + 8)
#define NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
DEVICE void load_16(uint32_t *d, uint32_t from) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {" NAMES_16 "}, [%16];" : PLACES_16("=r", d) : "r"(from) : "memory");
}
DEVICE void store_16(uint32_t to, const uint32_t *d) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%16], {" NAMES_16 "};" ::PLACES_16("r", d), "r"(to) : "memory");
}
// The lanes of a warp, in an address.
DEVICE uint32_t lanes_of(uint32_t warp) { return warp % 4 * 32 << 16; }
// Copies columns of the lanes of a warp to a row of words for each lane.
DEVICE void copy_out(uint32_t from, int columns, uint32_t *row) {
  #pragma unroll 1
  for (int first = 0; first < columns; first += 16) {
    uint32_t d[16];
    load_16(d, from + first);
    wait_loads();
    #pragma unroll
    for (int i = 0; i < 4; ++i) ((uint4 *)(row + first))[i] = make_uint4(d[i * 4], d[i * 4 + 1], d[i * 4 + 2], d[i * 4 + 3]);
  }
}

#define MULTIPLY(kind, d, a, b, code, add) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, p;\n}" ::"r"(d), "l"(a), "l"(b), \
               "r"(code), "r"((int)(add)) : "memory")
