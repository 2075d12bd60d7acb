// Allocations in the order of a stream, and pools of memory.
#include "check.h"

__global__ void fill(int *p, int value) { p[threadIdx.x] = value + threadIdx.x; }

int main() {
  cudaStream_t stream;
  cudaMemPool_t pool, own;
  int *p, *q, host[32], supported;
  OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  EXPECT(supported == 1);
  OK(cudaStreamCreate(&stream));
  OK(cudaMallocAsync(&p, sizeof host, stream));
  fill<<<1, 32, 0, stream>>>(p, 5);
  OK(cudaMemcpyAsync(host, p, sizeof host, cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(p, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(host[0] == 5 && host[31] == 36);
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = ~0ull, back = 0;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &back));
  EXPECT(back == threshold);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  OK(cudaMemPoolCreate(&own, &properties));
  OK(cudaMallocFromPoolAsync(&q, 64, own, stream));
  OK(cudaFreeAsync(q, stream));
  OK(cudaMemPoolTrimTo(own, 0));
  OK(cudaMemPoolDestroy(own));
  EXPECT(cudaMallocFromPoolAsync(&q, 64, own, stream) != cudaSuccess);
}
