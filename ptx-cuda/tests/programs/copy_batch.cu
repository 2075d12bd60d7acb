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

  // A box of 2 by 2 numbers from rows of 3 to rows of 2.
  int rows[6] = {1, 2, 3, 4, 5, 6};
  cudaMemcpy3DBatchOp box = {};
  box.src.type = box.dst.type = cudaMemcpyOperandTypePointer;
  box.src.op.ptr.ptr = rows + 1;
  box.src.op.ptr.rowLength = 3 * sizeof(int);
  box.dst.op.ptr.ptr = device;
  box.extent = make_cudaExtent(2 * sizeof(int), 2, 1);
  box.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  cudaMemcpy3DBatchOp invalid = box;
  invalid.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
  cudaMemcpy3DBatchOp both[2] = {box, invalid};
#if CUDART_VERSION >= 13000
  OK(cudaMemcpy3DBatchAsync(1, &box, 0, stream));
  EXPECT(cudaMemcpy3DBatchAsync(2, both, 0, stream) == cudaErrorInvalidValue);
#else
  OK(cudaMemcpy3DBatchAsync(1, &box, &failed, 0, stream));
  EXPECT(cudaMemcpy3DBatchAsync(2, both, &failed, 0, stream) == cudaErrorInvalidValue && failed == 1);
#endif
  cudaGetLastError();
  OK(cudaMemcpyAsync(back, device, 16, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(back[0] == 2 && back[1] == 3 && back[2] == 5 && back[3] == 6);
}
