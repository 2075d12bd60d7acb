// Managed memory, advice, and prefetches.
#include "check.h"

__global__ void square(int *data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] *= data[i];
}

int main() {
  const int n = 5000;
  int *data, *device;
  OK(cudaMallocManaged(&data, n * sizeof *data));
  for (int i = 0; i < n; i++) data[i] = i;
#if CUDART_VERSION >= 13000
  cudaMemLocation location = {};
  location.type = cudaMemLocationTypeDevice;
  OK(cudaMemAdvise(data, n * sizeof *data, cudaMemAdviseSetPreferredLocation, location));
  OK(cudaMemPrefetchAsync(data, n * sizeof *data, location, 0, 0));
#else
  OK(cudaMemAdvise(data, n * sizeof *data, cudaMemAdviseSetPreferredLocation, 0));
  OK(cudaMemPrefetchAsync(data, n * sizeof *data, 0, 0));
#endif
  square<<<1, 256>>>(data, n);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) EXPECT(data[i] == i * i);
  int read_mostly = 5;
  OK(cudaMemRangeGetAttribute(&read_mostly, 4, cudaMemRangeAttributeReadMostly, data, 64));
  EXPECT(read_mostly == 0 || read_mostly == 1);
  OK(cudaMalloc(&device, 64));
#if CUDART_VERSION >= 13000
  EXPECT_STATUS(cudaMemPrefetchAsync(device, 64, location, 0, 0), cudaErrorInvalidValue);
#else
  EXPECT_STATUS(cudaMemPrefetchAsync(device, 64, 0, 0), cudaErrorInvalidValue);
#endif
  EXPECT_STATUS(cudaMallocManaged(&device, 0), cudaErrorInvalidValue);
  OK(cudaFree(data));
}
