// The properties and attributes of the device.
#include "check.h"

int main() {
  int count = 0, device = 5, value;
  OK(cudaGetDeviceCount(&count));
  EXPECT(count == 1);
  OK(cudaSetDevice(0));
  OK(cudaGetDevice(&device));
  EXPECT(device == 0);
  EXPECT_STATUS(cudaSetDevice(1), cudaErrorInvalidDevice);
  cudaDeviceProp properties;
  std::memset(&properties, 0xee, sizeof properties);
  OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(std::strlen(properties.name) > 0);
  EXPECT(properties.major == 8 && properties.minor == 0);
  EXPECT(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
  EXPECT(properties.maxThreadsDim[2] == 64 && properties.maxGridSize[1] == 65535);
  EXPECT(properties.totalConstMem == 65536 && properties.sharedMemPerBlock == 49152);
  EXPECT(properties.unifiedAddressing == 1 && properties.managedMemory == 1);
  EXPECT(properties.concurrentManagedAccess == 1 && properties.canMapHostMemory == 1);
  EXPECT(properties.sharedMemPerBlockOptin == 163 * 1024);
  EXPECT(properties.sharedMemPerMultiprocessor == 164 * 1024);
  EXPECT(properties.memoryPoolsSupported == 1 && properties.clusterLaunch == 0);
  EXPECT(properties.reservedSharedMemPerBlock == 1024);
  EXPECT(properties.maxBlocksPerMultiProcessor > 0);
  EXPECT(properties.reserved[0] == 0);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(value == properties.multiProcessorCount);
  size_t free_bytes, total_bytes;
  OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT(total_bytes == properties.totalGlobalMem && free_bytes <= total_bytes);
  EXPECT_STATUS(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  int driver, runtime;
  OK(cudaDriverGetVersion(&driver));
  OK(cudaRuntimeGetVersion(&runtime));
  EXPECT(driver >= runtime && runtime >= 12000);
  char address[32];
  OK(cudaDeviceGetPCIBusId(address, sizeof address, 0));
  OK(cudaDeviceGetByPCIBusId(&device, address));
  EXPECT(device == 0);
}
