// Memory of the host that kernels access.
#include "check.h"

__global__ void scale(float *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 3;
}

int main() {
  const int n = 300;
  float *host, *device, *pinned;
  OK(cudaHostAlloc(&host, n * sizeof *host, cudaHostAllocMapped | cudaHostAllocPortable));
  for (int i = 0; i < n; i++) host[i] = i;
  OK(cudaHostGetDevicePointer(&device, host, 0));
  scale<<<3, 128>>>(device, n);
  OK(cudaStreamSynchronize(0));
  for (int i = 0; i < n; i++) EXPECT(host[i] == 3 * i);
  unsigned flags = 0;
  OK(cudaHostGetFlags(&flags, host));
  EXPECT(flags & cudaHostAllocMapped);
  OK(cudaMallocHost(&pinned, n * sizeof *pinned));
  std::memcpy(pinned, host, n * sizeof *host);
  OK(cudaMalloc(&device, n * sizeof *device));
  OK(cudaMemcpyAsync(device, pinned, n * sizeof *device, cudaMemcpyHostToDevice, 0));
  scale<<<3, 128>>>(device, n);
  OK(cudaMemcpy(pinned, device, n * sizeof *device, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) EXPECT(pinned[i] == 9 * i);
  EXPECT_STATUS(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaFreeHost(device), cudaErrorInvalidValue);
  OK(cudaFreeHost(pinned));
  OK(cudaFreeHost(host));
  OK(cudaFreeHost(nullptr));
}
