// Products of warpgroups: descriptors and instructions with 8, 16 or 32 registers for the result.
#pragma once
#include "tensors.h"

constexpr uint64_t swizzle_bits(int swizzle) { return swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0; }
DEVICE uint64_t descriptor(const void *start, uint32_t leading, uint32_t stride, int swizzle) {
  return (uint64_t)(address(start) >> 4 & 0x3fff) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | swizzle_bits(swizzle) << 62;
}
DEVICE void product_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void product_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#define PRODUCT_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")

#define REGISTERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_16 REGISTERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_32 REGISTERS_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define D8(c, d) c((d)[0]), c((d)[1]), c((d)[2]), c((d)[3]), c((d)[4]), c((d)[5]), c((d)[6]), c((d)[7])
#define D16(c, d) D8(c, d), D8(c, (d) + 8)
#define D32(c, d) D16(c, d), D16(c, (d) + 16)

// Both factors in shared memory. `tail` has the scales and transpositions, `add` is 0 to overwrite the result.
#define PRODUCT(form, tail, registers, places, a, b, add, A, B, ADD) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADD ", 0;\nwgmma.mma_async.sync.aligned." form " {" registers "}, " A ", " B ", p" tail ";\n}" \
               : places : "l"(a), "l"(b), "r"((int)(add)) : "memory")
#define PRODUCT_8(form, tail, c, d, a, b, add) PRODUCT(form, tail, REGISTERS_8, D8(c, d), a, b, add, "%8", "%9", "%10")
#define PRODUCT_16(form, tail, c, d, a, b, add) PRODUCT(form, tail, REGISTERS_16, D16(c, d), a, b, add, "%16", "%17", "%18")
#define PRODUCT_32(form, tail, c, d, a, b, add) PRODUCT(form, tail, REGISTERS_32, D32(c, d), a, b, add, "%32", "%33", "%34")
// The first factor in four registers.
#define PRODUCT_FROM_REGISTERS(form, tail, registers, places, a, b, add, A, B, ADD) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADD ", 0;\nwgmma.mma_async.sync.aligned." form " {" registers "}, {" A "}, " B ", p" tail ";\n}" \
               : places : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"((int)(add)) : "memory")
#define PRODUCT_R_8(form, tail, c, d, a, b, add) \
  PRODUCT_FROM_REGISTERS(form, tail, REGISTERS_8, D8(c, d), a, b, add, "%8, %9, %10, %11", "%12", "%13")
#define PRODUCT_R_16(form, tail, c, d, a, b, add) \
  PRODUCT_FROM_REGISTERS(form, tail, REGISTERS_16, D16(c, d), a, b, add, "%16, %17, %18, %19", "%20", "%21")
#define PRODUCT_R_32(form, tail, c, d, a, b, add) \
  PRODUCT_FROM_REGISTERS(form, tail, REGISTERS_32, D32(c, d), a, b, add, "%32, %33, %34, %35", "%36", "%37")
// A sparse first factor in shared memory, with metadata in a register.
#define SPARSE_PRODUCT_16(form, selector, tail, c, d, a, b, meta, add) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %19, 0;\nwgmma.mma_async.sp.sync.aligned." form " {" REGISTERS_16 "}, %16, %17, %18, " selector \
               ", p" tail ";\n}" : D16(c, d) : "l"(a), "l"(b), "r"(meta), "r"((int)(add)) : "memory")
#define SPARSE_PRODUCT_R_16(form, selector, tail, c, d, a, b, meta, add) \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %22, 0;\nwgmma.mma_async.sp.sync.aligned." form " {" REGISTERS_16 \
               "}, {%16, %17, %18, %19}, %20, %21, " selector ", p" tail ";\n}" \
               : D16(c, d) : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), "r"(meta), "r"((int)(add)) : "memory")

// Stores a result of 64 rows, of which each thread has two adjacent elements of each eight columns, in two rows.
template <typename T> DEVICE void store_result(T *out, int columns, const T *d, int count) {
  int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
  #pragma unroll
  for (int i = 0; i < count; ++i) out[(row + i % 4 / 2 * 8) * columns + i / 4 * 8 + column + i % 2] = d[i];
}
