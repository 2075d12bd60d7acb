// The process ends while another thread runs a kernel, and objects of the program are destroyed that use the device.
#include "check.h"
#include <cstdlib>
#include <thread>
#include <unistd.h>

__global__ void run_long(volatile int *started, volatile int *data) {
  *started = 1;
  for (long long i = 0; i < 1000000000000; i++) {
    data[0] = i;
  }
}

struct Buffer {
  void *data = nullptr;
  // The launch was canceled, so that the function may return its error, but it returns.
  ~Buffer() { cudaFree(data); }
};

static Buffer buffer;

int main() {
  // If the process does not end, it is killed.
  alarm(30);
  int *started, *data;
  OK(cudaHostAlloc(&started, sizeof(int), cudaHostAllocMapped));
  OK(cudaMalloc(&data, sizeof(int)));
  OK(cudaMalloc(&buffer.data, sizeof(int)));
  *started = 0;
  std::thread launcher([=] {
    run_long<<<1, 1>>>(started, data);
    cudaDeviceSynchronize();
  });
  launcher.detach();
  while (*static_cast<volatile int *>(started) == 0) {
    usleep(1000);
  }
  exit(0);
}
