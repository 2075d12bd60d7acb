// Operations of warps, shared memory and atomics.
#include "check.h"

__global__ void reduce(const int *in, int *sum, unsigned *ballot, int n) {
  __shared__ int parts[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? in[i] : 0;
  unsigned odd = __ballot_sync(~0u, value & 1);
  for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) {
    parts[threadIdx.x / 32] = value;
    atomicAdd(ballot, __popc(odd));
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    value = __reduce_add_sync(~0u, value);
    if (threadIdx.x == 0) atomicAdd(sum, value);
  }
}

int main() {
  const int n = 3000;
  int host[n], *in, *sum, expected = 0;
  unsigned odd = 0, found[2];
  for (int i = 0; i < n; i++) {
    host[i] = i * 7919 % 1000;
    expected += host[i];
    odd += host[i] & 1;
  }
  OK(cudaMalloc(&in, sizeof host));
  OK(cudaMalloc(&sum, 8));
  OK(cudaMemset(sum, 0, 8));
  OK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  reduce<<<(n + 255) / 256, 256>>>(in, sum, (unsigned *)sum + 1, n);
  OK(cudaMemcpy(found, sum, 8, cudaMemcpyDeviceToHost));
  EXPECT((int)found[0] == expected && found[1] == odd);
}
