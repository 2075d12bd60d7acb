// Atomic references of libcu++ in scopes and orders, and a flag that threads wait for.
// nvcc: -arch=sm_90
// variants: O3
#include "program.h"
#ifdef KERNELS
#include <cuda/atomic>
KERNEL scoped(int *g, long long *l) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(g[0]);
  cuda::atomic_ref<int, cuda::thread_scope_block> b(g[1]);
  cuda::atomic_ref<long long, cuda::thread_scope_system> c(*l);
  a.fetch_add(2, cuda::memory_order_relaxed);
  b.fetch_max(threadIdx.x, cuda::memory_order_acq_rel);
  c.fetch_sub(3, cuda::memory_order_seq_cst);
  int e = g[2];
  while (!cuda::atomic_ref<int, cuda::thread_scope_device>(g[2]).compare_exchange_weak(e, e ^ (1 << threadIdx.x), cuda::memory_order_release)) {}
  g[3 + threadIdx.x] = cuda::atomic_ref<int>(g[1]).exchange(threadIdx.x) >= 0;
  __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
  if (threadIdx.x == 0) flag.store(0);
  __syncthreads();
  if (threadIdx.x == 31) { l[1] = 77; flag.store(1, cuda::memory_order_release); flag.notify_all(); }
  flag.wait(0, cuda::memory_order_acquire);
  if (threadIdx.x == 0) l[2] = l[1];
}
#else
void program() {
  auto g = zeros<int>(35), ll = zeros<long long>(3);
  launch("scoped", {1, 32}, g, ll);
  std::vector<int> sums(35, 1);
  sums[0] = 64, sums[2] = -1;
  expect(g, std::vector<int>{64});
  expect(g + 8, std::vector<int>(sums.begin() + 2, sums.end()));
  expect(ll, std::vector<long long>{-96, 77, 77});
}
#endif
