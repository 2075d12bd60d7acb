// Launches that the device does not allow, and the last error.
#include "check.h"

__global__ void nothing() {}
__global__ void store(int *p) { *p = 1; }
static void host_function() {}

int main() {
  nothing<<<0, 1>>>();
  OK(cudaDeviceSynchronize());
  EXPECT_STATUS(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
  EXPECT_STATUS(cudaGetLastError(), cudaErrorInvalidConfiguration);
  OK(cudaGetLastError());
  nothing<<<1, 2048>>>();
  EXPECT_STATUS(cudaGetLastError(), cudaErrorInvalidConfiguration);
  nothing<<<dim3(1, 70000), 1>>>();
  EXPECT_STATUS(cudaGetLastError(), cudaErrorInvalidConfiguration);
  nothing<<<1, 32, 1 << 20>>>();
  EXPECT_STATUS(cudaGetLastError(), cudaErrorInvalidValue);
  void *arguments[1] = {nullptr};
  EXPECT_STATUS(cudaLaunchKernel((const void *)host_function, dim3(1), dim3(1), arguments, 0, 0),
                cudaErrorInvalidDeviceFunction);
  EXPECT_STATUS(cudaLaunchKernel(nullptr, dim3(1), dim3(1), arguments, 0, 0),
                cudaErrorInvalidDeviceFunction);
  EXPECT_STATUS(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
  OK(cudaGetLastError());
  nothing<<<1, 1>>>();
  OK(cudaGetLastError());
  // The error of one function is the last error after a successful one.
  EXPECT_STATUS(cudaMemcpy(nullptr, nullptr, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
  OK(cudaDeviceSynchronize());
  EXPECT_STATUS(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT(std::strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration") == 0);
  EXPECT(std::strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
  EXPECT(cudaGetErrorString((cudaError_t)123456) != nullptr);
}
