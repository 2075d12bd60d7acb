// Later forms of sm_103: loads of tensor memory that find the smallest or largest element of each lane, columns of 128 pixels, and multimem addresses.
// nvcc: -arch=sm_103a
#include "tensor_memory.h"

// The elements and the extreme one of each lane, in each type.
#define NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define EXTREME(number, form, tail) \
  if (kind == number) asm volatile("tcgen05.ld.red.sync.aligned." form " {" NAMES_8 "}, %8, [%9]" tail ";" : PLACES_8("=r", r), "=r"(extreme) : "r"(from))
KERNEL lane_extremes(const uint32_t *data, uint32_t *out) {
  __shared__ uint32_t place;
  uint32_t d = allocate<32>(&place), from = d + lanes_of(threadIdx.x / 32), cells[16];
  for (int i = 0; i < 16; ++i) cells[i] = data[threadIdx.x * 16 + i];
  store_16(from, cells);
  wait_tensor_stores();
  for (int kind = 0; kind < 10; ++kind) {
    uint32_t r[8], extreme;
    EXTREME(0, "32x32b.x8.min.u32", "");
    EXTREME(1, "32x32b.x8.max.u32", "");
    EXTREME(2, "32x32b.x8.min.s32", "");
    EXTREME(3, "32x32b.x8.max.s32", "");
    EXTREME(4, "32x32b.x8.min.f32", "");
    EXTREME(5, "32x32b.x8.max.f32", "");
    EXTREME(6, "32x32b.x8.max.abs.f32", "");
    EXTREME(7, "32x32b.x8.min.NaN.f32", "");
    EXTREME(8, "16x32bx2.x8.max.u32", ", 8");
    EXTREME(9, "16x32bx2.x8.min.abs.NaN.f32", ", 8");
    wait_loads();
    uint32_t *row = out + (kind * 128 + threadIdx.x) * 9;
    for (int i = 0; i < 8; ++i) row[i] = r[i];
    row[8] = extreme;
  }
  release<32>(d);
}

// 128 pixels of rows of an image, with a halo after each 32 pixels.
KERNEL columns_of_128(MAP image, int x, int y, int n, int offset, int halo, int bytes, char *out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_fence();
    barrier_expect(&barrier, bytes);
    asm volatile("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128" COMPLETE " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(address(memory)),
                 "l"(&image), "r"(address(&barrier)), "r"(0), "r"(x), "r"(y), "r"(n), "h"((uint16_t)halo), "h"((uint16_t)offset) : "memory");
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = memory[i];
}

// Each element of all members becomes the sum of them; then the threads count in all of them.
KERNEL all_reduce(float *all, int elements, uint32_t *count_of_all) {
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4; i < elements; i += gridDim.x * blockDim.x * 4) {
    float4 x;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "l"(all + i) : "memory");
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(all + i), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w) : "memory");
  }
  asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(count_of_all), "r"(threadIdx.x + 1) : "memory");
}
// The largest halves of all members, in pairs; the sums of halves in binary32; and whole tiles that a bulk copy writes to all members.
KERNEL halves_of_all(const uint32_t *largest, const uint32_t *added, uint32_t *tiles, uint32_t *out) {
  __shared__ __align__(128) uint32_t tile[32];
  uint32_t i = threadIdx.x, x, y;
  asm volatile("multimem.ld_reduce.relaxed.sys.global.max.f16x2 %0, [%1];" : "=r"(x) : "l"(largest + i) : "memory");
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.f16x2 %0, [%1];" : "=r"(y) : "l"(added + i) : "memory");
  out[2 * i] = x;
  out[2 * i + 1] = y;
  tile[i] = x ^ y;
  proxy_fence();
  __syncwarp();
  if (i == 0) {
    asm volatile("multimem.cp.async.bulk.bulk_group.global.shared::cta [%0], [%1], %2;" ::"l"(tiles), "r"(address(tile)), "r"((int)sizeof(tile)) : "memory");
    commit_stores();
    wait_stores();
  }
}
