// A process that is forked before the first use of the device: both use it.
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

__device__ int number = 4;
__global__ void kernel(int *p) { *p = number * 10; }

static int run() {
  int *p, host = 0;
  OK(cudaMalloc(&p, 4));
  kernel<<<1, 1>>>(p);
  OK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
  return host;
}

int main() {
  pid_t child = fork();
  EXPECT(run() == 40);
  if (child == 0) return 0;
  int status = 1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  // A process that is forked later cannot use the device.
  child = fork();
  if (child == 0) {
    int *p;
    _exit(cudaMalloc(&p, 4) == cudaSuccess);
  }
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(run() == 40);
}
