// Several threads of the host: each has its own last error, and they share memory of the device.
#include "check.h"
#include <thread>
#include <vector>

__global__ void add(int *p, int value) { atomicAdd(p, value); }

int main() {
  int *sum, host = 0;
  OK(cudaMalloc(&sum, 4));
  OK(cudaMemset(sum, 0, 4));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([=] {
      cudaStream_t stream;
      OK(cudaGetLastError());
      OK(cudaStreamCreate(&stream));
      for (int i = 0; i < 50; i++) add<<<1, 32, 0, stream>>>(sum, t);
      OK(cudaStreamSynchronize(stream));
      if (t % 2) EXPECT_STATUS(cudaSetDevice(7), cudaErrorInvalidDevice);
      EXPECT_STATUS(cudaPeekAtLastError(), t % 2 ? cudaErrorInvalidDevice : cudaSuccess);
      OK(cudaStreamDestroy(stream));
    });
  for (auto &thread : threads) thread.join();
  OK(cudaGetLastError());
  OK(cudaMemcpy(&host, sum, 4, cudaMemcpyDeviceToHost));
  EXPECT(host == 50 * 32 * (0 + 1 + 2 + 3));
}
