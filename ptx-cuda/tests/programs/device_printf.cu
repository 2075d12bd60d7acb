// The output of kernels appears when the program waits for the device.
// expect: before\nkernel 0 1.5 text\nkernel 1 1.5 text\nafter\n
#include "check.h"

__global__ void kernel(int index) { printf("kernel %d %g %s\n", index, 1.5, "text"); }

int main() {
  kernel<<<1, 1>>>(0);
  kernel<<<1, 1>>>(1);
  std::printf("before\n");
  OK(cudaDeviceSynchronize());
  std::printf("after\n");
}
