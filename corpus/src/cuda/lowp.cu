// half, bfloat16, fp8, fp6 and fp4.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
__global__ void halves(__half2 *o, const __half2 *a, const __half *h, __half *g, float *f) {
  int i = threadIdx.x; __half2 x = a[i], y = a[i + 1]; __half s = h[i], t = h[i + 1];
  o[0] = __hfma2(x, y, x); o[1] = __hadd2_sat(x, y); o[2] = h2exp2(x); o[3] = h2rsqrt(y); o[4] = __hmax2(x, y); o[5] = __hmin2_nan(x, y); o[6] = __hfma2_relu(x, y, x); o[7] = h2tanh_approx(x); o[8] = __heq2(x, y); o[9] = __habs2(x); o[10] = __lowhigh2highlow(x); o[11] = __floats2half2_rn(f[0], f[1]);
  g[0] = s * t - s / t; g[1] = hsqrt(s) + hlog2(t) + hfloor(s); g[2] = __float2half_rz(f[2]); f[3] = __half2float(s) + __low2float(x); g[3] = __hle(s, t) ? s : __hneg(t); g[4] = __short2half_rn(7) + __uint2half_ru(9u); f[4] = __half2int_rd(s); atomicAdd(o + 12, x); atomicAdd(g + 5, s); g[6] = __shfl_down_sync(~0u, s, 4); g[7] = __ldg(h + 9);
}
#if __CUDA_ARCH__ >= 800
__global__ void brains(__nv_bfloat162 *o, const __nv_bfloat16 *b, float *f) {
  int i = threadIdx.x; __nv_bfloat16 s = b[i], t = b[i + 1]; __nv_bfloat162 x = __halves2bfloat162(s, t);
  o[0] = __hfma2(x, x, x); o[1] = __hmul2(x, x); o[2] = __hmax2_nan(x, x); o[3] = h2exp(x); o[4] = __float22bfloat162_rn(make_float2(f[0], f[1])); f[2] = __bfloat162float(s * t + s); f[3] = (float)__bfloat162int_rz(s) + (s < t); o[5] = __hneg2(__habs2(x)); atomicAdd(o + 6, x); o[7] = __bfloat162bfloat162(__double2bfloat16(0.3)); o[8] = h2tanh_approx(x);
}
#endif
__global__ void eights(const float2 *f, float2 *g, __nv_fp8x2_e4m3 *a, __nv_fp8x2_e5m2 *b, __nv_fp8_e4m3 *c, __nv_fp8x4_e5m2 *d, __half2 *h) {
  int i = threadIdx.x; a[i] = __nv_fp8x2_e4m3(f[i]); b[i] = __nv_fp8x2_e5m2(h[i]); c[i] = __nv_fp8_e4m3(f[i].x); g[i] = (float2)a[i]; g[i + 1] = (float2)b[i]; h[i + 1] = (__half2)a[i]; d[i] = __nv_fp8x4_e5m2(make_float4(1, f[i].x, f[i].y, 4)); float4 w = (float4)d[i]; g[i + 2] = make_float2(w.x, w.w); g[i + 3].x = (float)c[i];
}
__global__ void tiny(const float2 *f, float2 *g, __nv_fp4x2_e2m1 *a, __nv_fp6x2_e2m3 *b, __nv_fp6x2_e3m2 *c, __nv_fp8_e8m0 *s, __nv_fp4x4_e2m1 *q) {
  int i = threadIdx.x; a[i] = __nv_fp4x2_e2m1(f[i]); b[i] = __nv_fp6x2_e2m3(f[i]); c[i] = __nv_fp6x2_e3m2(f[i]); s[i] = __nv_fp8_e8m0(f[i].x); g[i] = (float2)a[i]; g[i + 1] = (float2)b[i]; g[i + 2] = (float2)c[i]; g[i + 3].x = (float)s[i]; q[i] = __nv_fp4x4_e2m1(make_float4(f[0].x, 2, 3, 4));
}
