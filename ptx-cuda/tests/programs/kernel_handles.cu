// Templates, and handles of kernels instead of functions.
#include "check.h"

template <typename T, int N>
__global__ void multiply(T *p) {
  p[threadIdx.x] *= N;
}

int main() {
  float *p, host[4] = {1, 2, 3, 4};
  OK(cudaMalloc(&p, sizeof host));
  OK(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice));
  multiply<float, 2><<<1, 4>>>(p);
  void (*pointer)(float *) = multiply<float, 3>;
  pointer<<<1, 4>>>(p);
  cudaKernel_t kernel;
  OK(cudaGetKernel(&kernel, multiply<float, 5>));
  void *arguments[] = {&p};
  OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(4), arguments, 0, 0));
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, (const void *)kernel));
  cudaFunction_t function;
  OK(cudaGetFuncBySymbol(&function, (const void *)(void (*)(float *))multiply<float, 7>));
  OK(cudaLaunchKernel((const void *)function, dim3(1), dim3(4), arguments, 0, 0));
  OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; i++) EXPECT(host[i] == (i + 1) * 2 * 3 * 5 * 7);
  EXPECT(cudaGetKernel(&kernel, &host) != cudaSuccess);
}
