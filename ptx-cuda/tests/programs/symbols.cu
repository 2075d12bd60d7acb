// Variables of the program in device and constant memory.
#include "check.h"

__device__ int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ double factors[4];
static __device__ unsigned counter;

__global__ void kernel(double *result) {
  result[threadIdx.x] = numbers[threadIdx.x] * factors[threadIdx.x % 4];
  atomicAdd(&counter, 1u);
}

int main() {
  double values[4] = {0.5, 1, 2, 4}, host[8], *result;
  size_t bytes;
  OK(cudaMemcpyToSymbol(factors, values, sizeof values));
  OK(cudaGetSymbolSize(&bytes, numbers));
  EXPECT(bytes == 32);
  int *address, two[2] = {70, 80}, back[8];
  OK(cudaGetSymbolAddress((void **)&address, numbers));
  OK(cudaMemcpyToSymbol(numbers, two, 8, 24));
  OK(cudaMemcpy(back, address, 32, cudaMemcpyDefault));
  EXPECT(back[5] == 6 && back[6] == 70 && back[7] == 80);
  OK(cudaMalloc(&result, sizeof host));
  kernel<<<1, 8>>>(result);
  OK(cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; i++) EXPECT(host[i] == back[i] * values[i % 4]);
  unsigned count = 0;
  OK(cudaMemcpyFromSymbol(&count, counter, 4));
  EXPECT(count == 8);
  OK(cudaMemcpyFromSymbolAsync(back, numbers, 4, 28, cudaMemcpyDeviceToHost, 0));
  OK(cudaStreamSynchronize(0));
  EXPECT(back[0] == 80);
  OK(cudaMemcpyToSymbol(counter, address, 4, 0, cudaMemcpyDeviceToDevice));
  OK(cudaMemcpyFromSymbol(&count, counter, 4));
  EXPECT(count == 1);
  EXPECT_STATUS(cudaMemcpyToSymbol(numbers, two, 8, 28), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemcpyToSymbol(numbers, two, 8, 0, cudaMemcpyDeviceToHost),
                cudaErrorInvalidMemcpyDirection);
  static int no_symbol;
  EXPECT_STATUS(cudaMemcpyToSymbol(no_symbol, two, 4), cudaErrorInvalidSymbol);
  EXPECT_STATUS(cudaGetSymbolSize(&bytes, no_symbol), cudaErrorInvalidSymbol);
}
