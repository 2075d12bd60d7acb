// Kernels whose loops are compared with those of loops.cpp. loops.ptx is the output of
// nvcc -ptx -arch=sm_80 -O3 loops.cu -o loops.ptx
#include <stdint.h>
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    as[ty][tx] = a[row * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
extern "C" __global__ void nbody(const float4* p, float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = p[i];
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j++) {
    float4 q = p[j];
    float dx = q.x - me.x, dy = q.y - me.y, dz = q.z - me.z;
    float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    float s = q.w * inv * inv * inv;
    ax += dx * s; ay += dy * s; az += dz * s;
  }
  out[i] = make_float4(ax, ay, az, 0);
}
extern "C" __global__ void murmur(const uint32_t* in, uint32_t* out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t h = in[i], k0 = h * 7 + 1;
  for (int r = 0; r < rounds; r++) {
    uint32_t k = k0 + r;
    k *= 0xcc9e2d51u; k = k << 15 | k >> 17; k *= 0x1b873593u;
    h ^= k; h = h << 13 | h >> 19; h = h * 5 + 0xe6546b64u;
  }
  out[i] = h;
}
extern "C" __global__ void histogram(const uint8_t* data, uint32_t* bins, int n) {
  __shared__ uint32_t local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
extern "C" __global__ void mandelbrot(int* out, int w, int h, int most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  double cr = -2.0 + 3.0 * x / w, ci = -1.5 + 3.0 * y / h, zr = 0, zi = 0;
  int i = 0;
  while (i < most && zr * zr + zi * zi <= 4.0) {
    double t = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci; zr = t; i++;
  }
  out[y * w + x] = i;
}
