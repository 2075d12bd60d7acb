// Tensor memory: accesses in each shape, copies, shifts, products with a factor in it, weights, and sparse factors.
// nvcc: -arch=sm_100a
#include "tensor_memory.h"

// Writes numbers row by row, and reads them in another shape.
#define NAMES_4 "%0, %1, %2, %3"
#define NAMES_8 NAMES_4 ", %4, %5, %6, %7"
#define READ(number, form, names, count, address_name, tail) \
  if (shape == number) asm volatile("tcgen05.ld.sync.aligned." form ".b32 {" names "}, [" address_name "]" tail ";" : count("=r", r) : "r"(from))
#define PLACES_4(c, d) c((d)[0]), c((d)[1]), c((d)[2]), c((d)[3])
KERNEL shapes(uint32_t *out) {
  __shared__ uint32_t place;
  uint32_t d = allocate<32>(&place), warp = threadIdx.x / 32, cells[16];
  for (int i = 0; i < 16; ++i) cells[i] = threadIdx.x << 16 | i;
  store_16(d + lanes_of(warp), cells);
  for (int i = 0; i < 16; ++i) cells[i] += 16;
  store_16(d + 16 + lanes_of(warp), cells);
  wait_tensor_stores();
  for (int shape = 0; shape < 8; ++shape) {
    uint32_t r[8] = {}, from = d + lanes_of(warp) + (shape == 7 ? 0 : 8);
    READ(0, "32x32b.x8", NAMES_8, PLACES_8, "%8", "");
    READ(1, "16x64b.x4", NAMES_4, PLACES_4, "%4", "");
    READ(2, "16x128b.x4", NAMES_8, PLACES_8, "%8", "");
    READ(3, "16x256b.x2", NAMES_8, PLACES_8, "%8", "");
    READ(4, "16x32bx2.x4", NAMES_4, PLACES_4, "%4", ", 12");
    from += 16 << 16;
    READ(5, "16x64b.x8", NAMES_8, PLACES_8, "%8", "");
    READ(6, "16x256b.x1", NAMES_4, PLACES_4, "%4", "");
    from -= 16 << 16;
    READ(7, "32x32b.x8.pack::16b", NAMES_8, PLACES_8, "%8", "");
    wait_loads();
    for (int i = 0; i < 8; ++i) out[(shape * 128 + threadIdx.x) * 8 + i] = r[i];
  }
  release<32>(d);
}

// Writes in each shape, and reads row by row.
#define WRITE(number, form, names, count, address_name, tail) \
  if (shape == number) asm volatile("tcgen05.st.sync.aligned." form ".b32 [" address_name "]" tail ", {" names "};" ::count("r", r), "r"(to) : "memory")
KERNEL written(uint32_t *out) {
  __shared__ uint32_t place;
  uint32_t d = allocate<32>(&place), warp = threadIdx.x / 32, zeros[16] = {};
  for (int shape = 0; shape < 6; ++shape) {
    uint32_t r[8], to = d + lanes_of(warp) + 4;
    store_16(d + lanes_of(warp), zeros);
    wait_tensor_stores();
    for (int i = 0; i < 8; ++i) r[i] = threadIdx.x << 16 | 1 << 8 | i;
    WRITE(0, "32x32b.x8", NAMES_8, PLACES_8, "%8", "");
    WRITE(1, "16x64b.x8", NAMES_8, PLACES_8, "%8", "");
    WRITE(2, "16x128b.x2", NAMES_4, PLACES_4, "%4", "");
    WRITE(3, "16x256b.x1", NAMES_4, PLACES_4, "%4", "");
    WRITE(4, "16x32bx2.x4", NAMES_4, PLACES_4, "%4", ", 6");
    WRITE(5, "32x32b.x4.unpack::16b", NAMES_4, PLACES_4, "%4", "");
    wait_tensor_stores();
    copy_out(d + lanes_of(warp), 16, out + (shape * 128 + threadIdx.x) * 16);
  }
  release<32>(d);
}

// Copies rows of shared memory to lanes, in each shape; a shift moves rows of 32 bytes to the lane before.
#define COPY(number, form) \
  if (shape == number) asm volatile("tcgen05.cp.cta_group::1." form " [%0], %1;" ::"r"(d), "l"(descriptor(memory, leading, stride, 0)) : "memory")
KERNEL copied(const uint4 *data, int units, int shape, int leading, int stride, uint32_t *out) {
  __shared__ uint64_t barrier;
  __shared__ uint32_t place;
  uint32_t d = allocate<32>(&place), warp = threadIdx.x / 32, zeros[16] = {};
  store_16(d + lanes_of(warp), zeros);
  wait_tensor_stores();
  for (int i = threadIdx.x; i < units; i += 128) ((uint4 *)memory)[i] = data[i];
  if (threadIdx.x == 0) barrier_init(&barrier, 1);
  proxy_fence();
  tensor_before();
  __syncthreads();
  tensor_after();
  if (threadIdx.x == 0) {
    COPY(0, "128x256b");
    COPY(1, "128x128b");
    COPY(2, "4x256b");
    COPY(3, "64x128b.warpx2::02_13");
    COPY(4, "64x128b.warpx2::01_23");
    COPY(5, "32x128b.warpx4");
    COPY(6, "128x256b.b8x16.b4x16_p64");
    COPY(7, "128x128b.b8x16.b6x16_p32");
    if (shape == 8) {
      asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(d), "l"(descriptor(memory, leading, stride, 0)) : "memory");
      asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(d + (32 << 16)) : "memory");
    }
    tensor_commit(&barrier);
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  tensor_after();
  copy_out(d + lanes_of(warp), 16, out + threadIdx.x * 16);
  release<32>(d);
}

// Attention of 128 queries: products with the keys, then the weights in tensor memory times the values.
KERNEL attention_5(MAP q_map, MAP k_map, MAP v_map, float scale, float *out) {
  constexpr int FIRST = 1 << 4 | 1 << 7 | 1 << 10 | 64 / 8 << 17 | 128 / 16 << 24, SECOND = FIRST | 1 << 16;
  __shared__ uint64_t barriers[2];
  __shared__ uint32_t place;
  uint32_t d = allocate<128>(&place), lanes = lanes_of(threadIdx.x / 32);
  char *q = memory, *k = memory + 16384, *v = memory + 24576;
  if (threadIdx.x == 0) {
    barrier_init(&barriers[0], 1);
    barrier_init(&barriers[1], 1);
    barrier_fence();
    barrier_expect(&barriers[0], 32768);
    load_2d(q, &q_map, &barriers[0], 0, blockIdx.x * 128);
    load_2d(k, &k_map, &barriers[0], 0, 0);
    load_2d(v, &v_map, &barriers[0], 0, 0);
    barrier_wait(&barriers[0], 0);
    #pragma unroll 1
    for (int byte = 0; byte < 128; byte += 32) MULTIPLY("f16", d, rows_of_128(q, byte), rows_of_128(k, byte), FIRST, byte);
    tensor_commit(&barriers[1]);
  }
  __syncthreads();
  barrier_wait(&barriers[1], 0);
  tensor_after();
  float top = -INFINITY, sum = 0;
  uint32_t s[16];
  #pragma unroll 1
  for (int first = 0; first < 64; first += 16) {
    load_16(s, d + lanes + first);
    wait_loads();
    for (int i = 0; i < 16; ++i) top = fmaxf(top, __uint_as_float(s[i]) * scale);
  }
  #pragma unroll 1
  for (int first = 0; first < 64; first += 16) {
    load_16(s, d + lanes + first);
    wait_loads();
    uint32_t pairs[8];
    #pragma unroll
    for (int i = 0; i < 16; i += 2) {
      float x = exp2f(__uint_as_float(s[i]) * scale - top), y = exp2f(__uint_as_float(s[i + 1]) * scale - top);
      sum += x + y;
      __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
      pairs[i / 2] = *(uint32_t *)&pair;
    }
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7};" ::PLACES_8("r", pairs), "r"(d + 64 + lanes + first / 2)
                 : "memory");
  }
  wait_tensor_stores();
  tensor_before();
  __syncthreads();
  tensor_after();
  if (threadIdx.x == 0) {
    #pragma unroll 1
    for (int step = 0; step < 4; ++step)
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n}" ::"r"(d), "r"(d + 64 + step * 8),
                   "l"(descriptor(v + step * 16 * 128, 8192, 1024, 2)), "r"(SECOND), "r"(step) : "memory");
    tensor_commit(&barriers[1]);
  }
  __syncthreads();
  barrier_wait(&barriers[1], 1);
  tensor_after();
  #pragma unroll 1
  for (int first = 0; first < 64; first += 16) {
    load_16(s, d + lanes + first);
    wait_loads();
    for (int i = 0; i < 16; ++i) out[(blockIdx.x * 128 + threadIdx.x) * 64 + first + i] = __uint_as_float(s[i]) / sum;
  }
  release<128>(d);
}

// A small first factor with weights: 32 or 64 rows, zero columns, and the second factor kept in a collector.
#define WEIGHTS(modifier, add, zero) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.ws.cta_group::1.kind::i8" modifier " [%0], %1, %2, %3, p, %5;\n}" ::"r"(d + half * 64), \
               "l"(rows_of_128(memory + half * rows * 128, byte)), "l"(rows_of_128(memory + 16384, byte)), "r"(code), "r"(add), "l"(zero) : "memory")
KERNEL weights(MAP a_map, MAP b_map, int rows, uint32_t code, uint64_t zero_columns, uint32_t *out) {
  __shared__ uint64_t barriers[2];
  __shared__ uint32_t place;
  uint32_t d = allocate<128>(&place);
  if (threadIdx.x == 0) {
    barrier_init(&barriers[0], 1);
    barrier_init(&barriers[1], 1);
    barrier_fence();
    barrier_expect(&barriers[0], 2 * rows * 128 + 8192);
    load_2d(memory, &a_map, &barriers[0], 0, 0);
    load_2d(memory + 16384, &b_map, &barriers[0], 0, 0);
    barrier_wait(&barriers[0], 0);
    #pragma unroll 1
    for (int byte = 0; byte < 128; byte += 32) {
      int half = 0;
      WEIGHTS(".collector::b1::fill", byte, zero_columns);
      half = 1;
      WEIGHTS(".collector::b1::lastuse", byte, zero_columns);
    }
    tensor_commit(&barriers[1]);
  }
  __syncthreads();
  barrier_wait(&barriers[1], 0);
  tensor_after();
  // 32 rows have their columns in four parts of the lanes, 64 rows in two.
  int columns = 64 * rows / 128;
  for (int half = 0; half < 2; ++half)
    for (int first = 0; first < columns; first += 16) {
      uint32_t r[16];
      load_16(r, d + half * 64 + lanes_of(threadIdx.x / 32) + first);
      wait_loads();
      for (int i = 0; i < 16; ++i) out[(half * 128 + threadIdx.x) * columns + first + i] = r[i];
    }
  release<128>(d);
}

// A sparse first factor, with metadata in tensor memory; some lanes keep what they have, and the addend is divided.
KERNEL sparse_5(MAP a_map, MAP b_map, const uint32_t *metadata, uint32_t code, uint32_t *out) {
  __shared__ uint64_t barriers[2];
  __shared__ uint32_t place;
  uint32_t d = allocate<128>(&place), lanes = lanes_of(threadIdx.x / 32), cells[16];
  for (int i = 0; i < 16; ++i) cells[i] = metadata[threadIdx.x * 16 + i];
  store_16(d + 64 + lanes, cells);
  for (int i = 0; i < 16; ++i) cells[i] = __float_as_uint(64.0f);
  for (int first = 0; first < 64; first += 16) store_16(d + first + lanes, cells);
  wait_tensor_stores();
  if (threadIdx.x == 0) {
    barrier_init(&barriers[0], 1);
    barrier_init(&barriers[1], 1);
    barrier_fence();
    barrier_expect(&barriers[0], 16384 + 16384);
    load_2d(memory, &a_map, &barriers[0], 0, 0);
    load_2d(memory + 16384, &b_map, &barriers[0], 0, 0);
    load_2d(memory + 24576, &b_map, &barriers[0], 64, 0);
    barrier_wait(&barriers[0], 0);
  }
  tensor_before();
  __syncthreads();
  tensor_after();
  if (threadIdx.x == 0) {
    #pragma unroll 1
    for (int step = 0; step < 4; ++step) {
      char *b = memory + 16384 + step / 2 * 8192;
      uint64_t x = rows_of_128(memory, step * 32), y = rows_of_128(b, step % 2 * 64);
      // The first step divides what the result has by 16, and skips 32 of the lanes.
      if (step == 0)
        asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\ntcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%3], %4, {%5, %6, %5, %5}, p, 4;\n}" ::"r"(d),
                     "l"(x), "l"(y), "r"(d + 64 + step), "r"(code), "r"(0), "r"(-1) : "memory");
      else
        asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\ntcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%3], %4, p;\n}" ::"r"(d), "l"(x), "l"(y),
                     "r"(d + 64 + step), "r"(code) : "memory");
    }
    tensor_commit(&barriers[1]);
  }
  __syncthreads();
  barrier_wait(&barriers[1], 0);
  tensor_after();
  copy_out(d + lanes, 64, out + threadIdx.x * 64);
  release<128>(d);
}
