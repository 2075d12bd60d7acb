// What the programs of this folder share: addresses and mbarrier objects of shared memory, copies of parts of tensors, and matrix descriptors.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__

// A tensor map, which the host makes, or a kernel.
struct alignas(128) Map {
  char bytes[128];
};
#define MAP const __grid_constant__ Map

// Dynamic shared memory.
extern __shared__ __align__(1024) char memory[];

DEVICE uint32_t address(const void *pointer) { return (uint32_t)__cvta_generic_to_shared(pointer); }

DEVICE void barrier_init(uint64_t *barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(count) : "memory");
}
DEVICE void barrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }
DEVICE void barrier_expect(uint64_t *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes) : "memory");
}
DEVICE void barrier_arrive(uint64_t *barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory"); }
// Waits until the phase with a parity is complete.
DEVICE void barrier_wait(uint64_t *barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
  } while (!done);
}
DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
DEVICE uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
DEVICE uint32_t mapped(uint32_t shared_address, uint32_t rank) {
  uint32_t result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(shared_address), "r"(rank));
  return result;
}
// Whether the thread is the one that its warp elects.
DEVICE bool elected() {
  uint32_t result;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(result));
  return result;
}

// Copies of boxes to shared memory, which complete at an mbarrier object.
#define LOAD(form) "cp.async.bulk.tensor." form ".shared::cluster.global"
#define COMPLETE ".mbarrier::complete_tx::bytes"
DEVICE void load_1d(void *to, const Map *map, uint64_t *barrier, int x) {
  asm volatile(LOAD("1d") COMPLETE " [%0], [%1, {%3}], [%2];" ::"r"(address(to)), "l"(map), "r"(address(barrier)), "r"(x) : "memory");
}
DEVICE void load_2d(void *to, const Map *map, uint64_t *barrier, int x, int y) {
  asm volatile(LOAD("2d") COMPLETE " [%0], [%1, {%3, %4}], [%2];" ::"r"(address(to)), "l"(map), "r"(address(barrier)), "r"(x), "r"(y) : "memory");
}
DEVICE void load_3d(void *to, const Map *map, uint64_t *barrier, int x, int y, int z) {
  asm volatile(LOAD("3d") COMPLETE " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(address(to)), "l"(map), "r"(address(barrier)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
DEVICE void load_4d(void *to, const Map *map, uint64_t *barrier, int x, int y, int z, int w) {
  asm volatile(LOAD("4d") COMPLETE " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(address(to)), "l"(map), "r"(address(barrier)), "r"(x), "r"(y), "r"(z),
               "r"(w) : "memory");
}
DEVICE void load_5d(void *to, const Map *map, uint64_t *barrier, int x, int y, int z, int w, int v) {
  asm volatile(LOAD("5d") COMPLETE " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(address(to)), "l"(map), "r"(address(barrier)), "r"(x), "r"(y),
               "r"(z), "r"(w), "r"(v) : "memory");
}
DEVICE void store_2d(const Map *map, const void *from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(address(from)), "r"(x), "r"(y)
               : "memory");
}
DEVICE void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
DEVICE void wait_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Swizzle modes by the bytes of a line; 0 for none.
constexpr int atom_bytes(int swizzle) { return swizzle ? swizzle : 16; }
