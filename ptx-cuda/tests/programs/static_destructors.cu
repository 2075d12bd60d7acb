// expect: 7\n
// An object of the program uses the device in its destructor, after the end of main, when thread-local values of the main thread were destroyed.
#include "check.h"

__global__ void add(int *number, int value) { *number += value; }

struct Counter {
  int *number = nullptr;
  ~Counter() {
    int host = 0;
    add<<<1, 1>>>(number, 4);
    cudaMemcpy(&host, number, sizeof(host), cudaMemcpyDeviceToHost);
    if (cudaFree(number) == cudaSuccess) std::printf("%d\n", host);
  }
};

static Counter counter;

int main() {
  OK(cudaMalloc(&counter.number, sizeof(int)));
  OK(cudaMemset(counter.number, 0, sizeof(int)));
  add<<<1, 1>>>(counter.number, 3);
  OK(cudaDeviceSynchronize());
}
