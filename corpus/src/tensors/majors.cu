// Products of the fifth generation of tensor cores with factors in each layout of shared memory.
// nvcc: -arch=sm_100a
#include "tensor_memory.h"

// A product of 128 x 64 x 64 elements of 2 bytes (64 x 64 x 32 of 4 bytes), stored by rows of K or by columns, in boxes as wide as the swizzle.
template <int CODE, int BYTES, int ROWS_OF_ATOM, int SIZE> DEVICE uint64_t part_of(char *matrix, bool mn, int rows, int k) {
  constexpr int K = 32 / SIZE, ALL_K = 128 / SIZE;
  int box = (mn ? ALL_K : rows) * BYTES;
  if (mn) return descriptor(matrix + k * K * BYTES, CODE ? box : 128, CODE ? ROWS_OF_ATOM * BYTES : box, CODE);
  return descriptor(matrix + k * 32 / BYTES * box + k * 32 % BYTES, box, 8 * BYTES, CODE);
}
template <int BYTES, int SIZE> DEVICE void load_matrix(char *to, const Map *map, uint64_t *barrier, bool mn, int rows) {
  int lines = mn ? 128 / SIZE : rows, bytes = mn ? rows * SIZE : 128;
  for (int part = 0; part < bytes / BYTES; ++part) load_2d(to + part * lines * BYTES, map, barrier, part * BYTES / SIZE, 0);
}
#define LAYOUTS(name, kind, CODE, BYTES, ROWS_OF_ATOM, SIZE) \
  KERNEL name(MAP a_map, MAP b_map, uint32_t code, uint32_t *out) { \
    __shared__ uint64_t barriers[2]; \
    __shared__ uint32_t place; \
    char *a = memory, *b = memory + 16384; \
    bool a_mn = code >> 15 & 1, b_mn = code >> 16 & 1; \
    uint32_t d = allocate<64>(&place); \
    if (threadIdx.x == 0) { \
      barrier_init(&barriers[0], 1); \
      barrier_init(&barriers[1], 1); \
      barrier_fence(); \
      barrier_expect(&barriers[0], 16384 + 8192); \
      load_matrix<BYTES, SIZE>(a, &a_map, &barriers[0], a_mn, 128); \
      load_matrix<BYTES, SIZE>(b, &b_map, &barriers[0], b_mn, 64); \
      barrier_wait(&barriers[0], 0); \
      _Pragma("unroll 1") for (int k = 0; k < 4; ++k) { \
        uint64_t x = part_of<CODE, BYTES, ROWS_OF_ATOM, SIZE>(a, a_mn, 128, k), y = part_of<CODE, BYTES, ROWS_OF_ATOM, SIZE>(b, b_mn, 64, k); \
        MULTIPLY(kind, d, x, y, code, k); \
      } \
      tensor_commit(&barriers[1]); \
    } \
    __syncthreads(); \
    barrier_wait(&barriers[1], 0); \
    tensor_after(); \
    copy_out(d + lanes_of(threadIdx.x / 32), 64, out + threadIdx.x * 64); \
    release<64>(d); \
  }
LAYOUTS(majors_128, "f16", 2, 128, 8, 2)
LAYOUTS(majors_64, "f16", 4, 64, 8, 2)
LAYOUTS(majors_32, "f16", 6, 32, 8, 2)
LAYOUTS(majors_none, "f16", 0, 16, 8, 2)
LAYOUTS(majors_base32, "tf32", 1, 128, 4, 4)
