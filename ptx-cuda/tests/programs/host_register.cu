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
}
