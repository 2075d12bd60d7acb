// sm_100a: tensor memory allocation, tcgen05 matrix products, loads and stores, launch control, packed floats, wide loads.
#include <cuda/ptx>
namespace p = cuda::ptx;
__global__ void __launch_bounds__(128) umma(uint32_t *out, uint64_t da, uint64_t db, uint32_t idesc, int k) {
  __shared__ uint32_t base; __shared__ uint64_t done;
  if (threadIdx.x < 32) { p::tcgen05_alloc(p::cta_group_1, &base, p::n32_t<256>()); p::tcgen05_relinquish_alloc_permit(p::cta_group_1); }
  if (threadIdx.x == 0) p::mbarrier_init(&done, 1);
  p::tcgen05_fence_before_thread_sync(); __syncthreads(); p::tcgen05_fence_after_thread_sync();
  uint32_t t = base;
  if (threadIdx.x == 0) {
    p::tcgen05_cp_128x256b(p::cta_group_1, t + 128, da); p::tcgen05_cp_32x128b_warpx4(p::cta_group_1, t + 192, db);
    for (int i = 0; i < k; ++i) p::tcgen05_mma(p::kind_f16, p::cta_group_1, t, da + i * 2, db + i * 2, idesc, i > 0);
    p::tcgen05_mma(p::kind_tf32, p::cta_group_1, t, da, db, idesc, true); p::tcgen05_mma_tmem_a(p::kind_f8f6f4, p::cta_group_1, t, t + 64, db, idesc, true);
    p::tcgen05_mma_block_scale_vec_1x(p::kind_mxf8f6f4, p::cta_group_1, t, da, db, idesc, t + 128, t + 160, true);
    p::tcgen05_mma_ws_collector_b0_fill(p::cta_group_1, p::kind_i8, t, da, db, idesc, false); p::tcgen05_shift_down(p::cta_group_1, t);
    p::tcgen05_commit(p::cta_group_1, &done);
  }
  while (!p::mbarrier_try_wait_parity(&done, 0u)) {}
  uint32_t r[32], s[8], q[1]; p::tcgen05_ld_32x32b(r, t); p::tcgen05_ld_16x256b_pack_16b(s, t + 32); p::tcgen05_ld_32x32b(q, t + 40); p::tcgen05_wait_ld();
  for (int i = 0; i < 32; ++i) out[threadIdx.x * 32 + i] = r[i] + s[i & 7] + q[0];
  p::tcgen05_st_32x32b(t, r); p::tcgen05_st_16x128b_unpack_16b(t + 32, s); p::tcgen05_wait_st(); __syncthreads();
  if (threadIdx.x < 32) p::tcgen05_dealloc(p::cta_group_1, t, p::n32_t<256>());
}
__global__ void steal(uint32_t *o) {
  __shared__ alignas(16) longlong2 reply; __shared__ uint64_t bar; p::clusterlaunchcontrol_try_cancel(&reply, &bar); longlong2 r = reply;
  if (p::clusterlaunchcontrol_query_cancel_is_canceled(r)) { o[0] = p::clusterlaunchcontrol_query_cancel_get_first_ctaid_x<uint32_t>(r); o[1] = p::clusterlaunchcontrol_query_cancel_get_first_ctaid_z<uint32_t>(r); }
}
__global__ void wide(float *o, const float *a) {
  float v[8];
  asm volatile("ld.global.nc.L2::evict_first.v8.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]) : "l"(a));
  float2 x = __fmul2_rn(make_float2(v[0], v[1]), make_float2(v[2], v[3])), y = __ffma2_rn(x, make_float2(v[4], v[5]), x); o[8] = y.x + y.y; asm("max.f32 %0, %0, %1, %2;" : "+f"(v[0]) : "f"(v[6]), "f"(v[7]));
  asm volatile("st.global.v8.f32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7};" ::"f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "f"(v[4]), "f"(v[5]), "f"(v[6]), "f"(v[7]), "l"(o) : "memory");
}
