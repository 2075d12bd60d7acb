// Memory that the program allocated and registers.
#include "check.h"
#include <vector>

__global__ void increment(int *data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i]++;
}

int main() {
  std::vector<int> data(10000, 41);
  size_t bytes = data.size() * sizeof(int);
  OK(cudaHostRegister(data.data(), bytes, cudaHostRegisterMapped));
  EXPECT_STATUS(cudaHostRegister(data.data(), bytes, 0), cudaErrorHostMemoryAlreadyRegistered);
  int *device;
  OK(cudaHostGetDevicePointer(&device, data.data() + 100, 0));
  increment<<<1, 64>>>(device, 900);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < (int)data.size(); i++) EXPECT(data[i] == (i >= 100 && i < 1000 ? 42 : 41));
  data[0] = 7;
  OK(cudaMemcpy(device, data.data(), 4, cudaMemcpyDefault));
  EXPECT(data[100] == 7);
  OK(cudaHostUnregister(data.data()));
  EXPECT(data[100] == 7 && data[101] == 42);
  EXPECT_STATUS(cudaHostUnregister(data.data()), cudaErrorHostMemoryNotRegistered);

  // Two parts of a page of the stack.
  int values[64] = {};
  for (int first : {0, 32}) {
    OK(cudaHostRegister(values + first, 16 * sizeof(int), cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer(&device, values + first, 0));
    increment<<<1, 64>>>(device, 16);
  }
  increment<<<1, 64>>>(device, 8);
  OK(cudaDeviceSynchronize());
  OK(cudaHostUnregister(values));
  increment<<<1, 64>>>(device, 4);
  OK(cudaDeviceSynchronize());
  OK(cudaHostUnregister(values + 32));
  for (int i = 0; i < 64; i++) EXPECT(values[i] == (i % 32 < 16) + (i >= 32 && i < 40) + (i >= 32 && i < 36));
}
