// Copies of several ranges by one function.
#include "check.h"

int main() {
  cudaStream_t stream;
  int host[4] = {1, 2, 3, 4}, back[4] = {}, *device;
  OK(cudaStreamCreate(&stream));
  OK(cudaMalloc(&device, 16));
  size_t sizes[2] = {8, 4};
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t index = 0;
  void *to[2] = {device + 2, device};
  const void *from[2] = {host, host + 3};
#if CUDART_VERSION >= 13000
  OK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &index, 1, stream));
#else
  size_t failed = 9;
  OK(cudaMemcpyBatchAsync(to, (void **)from, sizes, 2, &attributes, &index, 1, &failed, stream));
#endif
  OK(cudaMemcpyAsync(back, device, 16, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(back[0] == 4 && back[2] == 1 && back[3] == 2);
}
