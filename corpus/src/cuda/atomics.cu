// Atomics, fences, votes, warp functions, special registers, cache operators, barriers.
#include <cuda/atomic>
__global__ void atoms(int *i, unsigned *u, unsigned long long *q, float *f, double *d, unsigned short *h) {
  __shared__ int s[4]; __shared__ float sf;
  int r = atomicAdd(i, 3) ^ atomicSub(i + 1, 4) ^ atomicExch(i + 2, 5) ^ atomicMin(i + 3, 6) ^ atomicMax(i + 4, 7) ^ atomicCAS(i + 5, 8, 9);
  unsigned v = atomicInc(u, 10) + atomicDec(u + 1, 11) + atomicAnd(u + 2, 12u) + atomicOr(u + 3, 13u) + atomicXor(u + 4, 14u);
  unsigned long long w = atomicAdd(q, 15ull) + atomicMax(q + 1, 16ull) + atomicCAS(q + 2, 17ull, 18ull) + atomicAnd(q + 3, 19ull);
  f[threadIdx.x] = atomicAdd(f, 1.5f) + atomicExch(f + 1, 2.5f);
  d[threadIdx.x] = atomicAdd(d, 0.1);
  h[threadIdx.x] = atomicCAS(h, (unsigned short)1, (unsigned short)2);
  r += atomicAdd_block(i + 6, 1) + atomicAdd_system(i + 7, 2) + atomicMin(&s[threadIdx.x & 3], r) + (int)atomicAdd(&sf, 3.f);
  atomicAdd(i + 8, 1); atomicMax(u + 5, v); atomicAdd(f + 2, 1.f); // results unused: red
  i[9] = r; u[6] = v; q[4] = w;
}
__global__ void ordered(int *flag, long long *data, float *f) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(*flag);
  cuda::atomic_ref<long long, cuda::thread_scope_system> b(*data);
  cuda::atomic_ref<float, cuda::thread_scope_block> c(*f);
  a.store(1, cuda::memory_order_release);
  while (a.load(cuda::memory_order_acquire) != 2) {}
  int want = 3;
  a.compare_exchange_strong(want, 4, cuda::memory_order_acq_rel);
  b.fetch_max(a.fetch_add(1, cuda::memory_order_relaxed), cuda::memory_order_seq_cst);
  b.fetch_xor(99, cuda::memory_order_release);
  c.fetch_add(1.f, cuda::memory_order_relaxed); c.fetch_min(2.f); c.exchange(5.f);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  __threadfence(); __threadfence_block(); __threadfence_system();
}
__global__ void warps(int *a) {
  int i = threadIdx.x, v = a[i];
  a[i] = __all_sync(~0u, v > 0) + 2 * __any_sync(~0u, v > 1) + __ballot_sync(0xffff, v & 1) + __shfl_sync(~0u, v, 5, 8) + __shfl_down_sync(~0u, v, 2);
  a[i] += __syncthreads_count(v) + __syncthreads_and(v) + __syncthreads_or(v);
  __syncwarp(0x55555555);
  int p; a[i] += __match_all_sync(~0u, v, &p) + p + __match_any_sync(~0u, (long long)v);
#if __CUDA_ARCH__ >= 800
  a[i] += __reduce_add_sync(~0u, v) + __reduce_min_sync(~0u, v) + __reduce_or_sync(~0u, (unsigned)v);
#endif
  a[i] += __brev(v) + __clz(v) + __ffs(v) + __popcll(v) + __byte_perm(v, i, 0x5410) + __funnelshift_l(v, i, 3) + __dp4a(v, i, 1) + __sad(v, i, 2u) + __mulhi(v, i) + __vabsdiffu4(v, i) + __vmaxs4(v, i) + __viaddmax_s32(v, i, 7) + __vadd2(v, i);
}
#define SREG(n) { unsigned r; asm volatile("mov.u32 %0, %%" #n ";" : "=r"(r)); *o++ = r; }
__global__ void registers(unsigned *o) {
  SREG(tid.x) SREG(tid.y) SREG(ntid.z) SREG(ctaid.y) SREG(nctaid.x) SREG(laneid) SREG(warpid) SREG(nwarpid) SREG(smid) SREG(nsmid)
  SREG(lanemask_eq) SREG(lanemask_ge) SREG(clock) SREG(clock_hi) SREG(globaltimer_lo) SREG(pm3) SREG(envreg17) SREG(dynamic_smem_size)
  o[0] = clock64() + clock();
}
__global__ void caches(float4 *o, const float4 *a, volatile int *w) {
  int i = threadIdx.x;
  o[i] = __ldg(a + i); o[i + 1] = __ldcg(a + i); o[i + 2] = __ldcs(a + i); o[i + 3] = __ldlu(a + i); o[i + 4] = __ldcv(a + i);
  __stcg(o + 9, a[1]); __stcs(o + 10, a[2]); __stwt(o + 11, a[3]); __stwb(o + 12, a[4]);
  w[1] = w[0] + w[2];
  asm volatile("prefetch.global.L2 [%0];" ::"l"(a)); asm volatile("prefetchu.L1 [%0];" ::"l"(a)); __nanosleep(100);
}
__global__ void barriers(int *a) {
  asm volatile("barrier.sync 1, 64;"); asm volatile("barrier.arrive 2, 96;"); asm volatile("bar.sync %0;" ::"r"(a[0] & 7));
  asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %0, 0;\n\tbarrier.red.or.pred q, 3, 64, !p;\n\t@q st.global.u32 [%1], 1;\n\t}" ::"r"(a[1]), "l"(a));
}
