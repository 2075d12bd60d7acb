// Matrix products: tiled in shared memory, wmma fragments, mma.sync with ldmatrix and cp.async, sparse mma, wgmma.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
namespace w = nvcuda::wmma;
template <int T, class E> __global__ void tiled(const E *a, const E *b, E *c, int n) {
  __shared__ E sa[T][T], sb[T][T + 1];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x; E acc = 0;
  for (int k = 0; k < n; k += T) {
    sa[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x]; sb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < T; ++j) acc += sa[threadIdx.y][j] * sb[j][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = acc;
}
template __global__ void tiled<16, float>(const float *, const float *, float *, int);
template __global__ void tiled<8, double>(const double *, const double *, double *, int);
template __global__ void tiled<32, int>(const int *, const int *, int *, int);

template <class A, class C, int M, int N, int K, class LA, class LB> __global__ void fragments(const A *a, const A *b, C *c, int k) {
  w::fragment<w::matrix_a, M, N, K, A, LA> fa; w::fragment<w::matrix_b, M, N, K, A, LB> fb; w::fragment<w::accumulator, M, N, K, C> fc;
  w::fill_fragment(fc, C(0));
  for (int i = 0; i < k; i += K) { w::load_matrix_sync(fa, a + i, 128); w::load_matrix_sync(fb, b + i, 128); w::mma_sync(fc, fa, fb, fc); }
  w::store_matrix_sync(c, fc, 128, w::mem_row_major);
}
#define FRAG(A, C, M, N, K, LA, LB) template __global__ void fragments<A, C, M, N, K, w::LA, w::LB>(const A *, const A *, C *, int);
FRAG(__half, float, 16, 16, 16, row_major, col_major) FRAG(__half, __half, 16, 16, 16, col_major, row_major) FRAG(__half, float, 32, 8, 16, row_major, row_major)
FRAG(signed char, int, 16, 16, 16, row_major, col_major) FRAG(unsigned char, int, 8, 32, 16, col_major, col_major)
#if __CUDA_ARCH__ >= 800
FRAG(__nv_bfloat16, float, 16, 16, 16, row_major, col_major) FRAG(double, double, 8, 8, 4, row_major, col_major)
#endif
__device__ uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
#if __CUDA_ARCH__ >= 800
__global__ void __launch_bounds__(128, 4) pipelined(const __half *a, const __half *b, float *c, int k) {
  __shared__ __align__(128) __half sa[3][64 * 32], sb[3][64 * 32];
  float d[2][4] = {}; int t = threadIdx.x;
  auto copy = [&](int s, int at) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(smem(&sa[s][t * 8])), "l"(a + at + t * 8) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(smem(&sb[s][t * 4])), "l"(b + at + t * 4), "r"(k > at ? 8 : 0) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  copy(0, 0); copy(1, 2048);
  for (int i = 0, s = 0; i < k; i += 32, s = s == 2 ? 0 : s + 1) {
    asm volatile("cp.async.wait_group 1;" ::: "memory"); __syncthreads();
    uint32_t ra[4], rb[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(smem(&sa[s][t * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(rb[0]), "=r"(rb[1]), "=r"(rb[2]), "=r"(rb[3]) : "r"(smem(&sb[s][t * 8])));
    for (int j = 0; j < 2; ++j)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[2 * j]), "r"(rb[2 * j + 1]));
    copy((s + 2) % 3, (i + 64) * 64);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  for (int j = 0; j < 8; ++j) c[t * 8 + j] = d[j / 4][j % 4];
}
__global__ void kinds(const uint32_t *r, int *c, float *f) {
  int e[4] = {}; float d[4] = {}; uint32_t x = r[threadIdx.x], y = r[threadIdx.x + 1];
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32.satfinite {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3]) : "r"(x), "r"(y));
  asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3]) : "r"(x), "r"(y));
  asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3]) : "r"(x), "r"(y));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x), "r"(y));
  asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5,%4,%5}, {%0,%1,%2,%3}, %6, 0x0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x), "r"(y), "r"(e[0]));
  for (int i = 0; i < 4; ++i) { c[i] = e[i]; f[i] = d[i]; }
}
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__global__ void __launch_bounds__(128) warpgroup(float *o, uint64_t da, uint64_t db, const uint32_t *ra) {
  float d[16] = {};
#define D16 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define L16 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
  asm volatile("setmaxnreg.inc.sync.aligned.u32 160;"); asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " L16 ", %16, %17, p, 1, 1, 0, 1;\n}" : D16 : "l"(da), "l"(db), "r"(1));
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " L16 ", {%16,%17,%18,%19}, %20, 1, 1, -1, 0;" : D16 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db));
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2 " L16 ", %16, %17, 1, 1, 1;" : D16 : "l"(da), "l"(db));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); asm volatile("setmaxnreg.dec.sync.aligned.u32 64;");
  for (int i = 0; i < 16; ++i) o[threadIdx.x * 16 + i] = d[i];
}
#endif
#ifdef __CUDA_ARCH_FEAT_SM120_ALL
__global__ void blockscaled(float *f, const uint32_t *r) {
  float d[4] = {}; uint32_t x = r[0], y = r[1], s = r[2];
  asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3}, %6, {0, 1}, %6, {0, 0};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x), "r"(y), "r"(s));
  asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, {%0,%1,%2,%3}, %6, {0, 1}, %6, {0, 1};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x), "r"(y), "r"(s));
  f[0] = d[0] + d[1] + d[2] + d[3];
}
#endif
