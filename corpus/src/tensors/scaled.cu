// Products with block scales: factors of 4, 6 and 8 bits, whose scales come to tensor memory from shared memory.
// nvcc: -arch=sm_100a
#include "tensor_memory.h"

// The scales of 128 rows: a word for each row, by lanes and then by groups of 32 rows. Each quarter of the lanes gets a copy.
DEVICE void copy_scales(uint32_t to, const char *from) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(descriptor(from, 16, 128, 0)) : "memory");
}
#define SCALED(kind, d, a, b, code, a_scales, b_scales, add) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\ntcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d), "l"(a), \
               "l"(b), "r"(code), "r"(a_scales), "r"(b_scales), "r"((int)(add)) : "memory")
// 128 x 64 sums of 128 bytes of each row, in four steps of 32 bytes. `ids` steps use the same word of scales, from different bytes on.
template <typename Multiply>
DEVICE void scaled(const Map *a_map, const Map *b_map, const Map *scales, int bytes, int ids, uint32_t code, uint32_t *out, Multiply multiply) {
  __shared__ uint64_t barriers[2];
  __shared__ uint32_t place;
  char *a = memory, *b = memory + 16384, *s = memory + 24576;
  uint32_t d = allocate<128>(&place);
  if (threadIdx.x == 0) {
    barrier_init(&barriers[0], 1);
    barrier_init(&barriers[1], 1);
    barrier_fence();
    int words = 4 / ids;
    barrier_expect(&barriers[0], bytes + words * 1024);
    load_2d(a, a_map, &barriers[0], 0, 0);
    load_2d(b, b_map, &barriers[0], 0, 0);
    load_2d(s, scales, &barriers[0], 0, 0);
    barrier_wait(&barriers[0], 0);
    for (int word = 0; word < words; ++word) {
      copy_scales(d + 64 + word * 4, s + word * 512);
      copy_scales(d + 96 + word * 4, s + (words + word) * 512);
    }
    #pragma unroll 1
    for (int step = 0; step < 4; ++step) {
      uint32_t id = step % ids * (4 / ids), word = step / ids * 4;
      multiply(d, rows_of_128(a, step * 32), rows_of_128(b, step * 32), code | id << 4 | id << 29, d + 64 + word, d + 96 + word, step);
    }
    tensor_commit(&barriers[1]);
  }
  __syncthreads();
  barrier_wait(&barriers[1], 0);
  tensor_after();
  copy_out(d + lanes_of(threadIdx.x / 32), 64, out + threadIdx.x * 64);
  release<128>(d);
}
#define PROGRAM(name, kind, ids) \
  KERNEL name(MAP a_map, MAP b_map, MAP scales, uint32_t code, int bytes, uint32_t *out) { \
    scaled(&a_map, &b_map, &scales, bytes, ids, code, out, [](uint32_t d, uint64_t a, uint64_t b, uint32_t c, uint32_t x, uint32_t y, int add) { \
      SCALED(kind, d, a, b, c, x, y, add); \
    }); \
  }
PROGRAM(scaled_mxf8f6f4, "mxf8f6f4.block_scale.scale_vec::1X", 4)
PROGRAM(scaled_mxf4, "mxf4.block_scale.scale_vec::2X", 2)
PROGRAM(scaled_nvf4_16, "mxf4nvf4.block_scale.scale_vec::4X", 1)
PROGRAM(scaled_nvf4_32, "mxf4nvf4.block_scale.block32", 2)
