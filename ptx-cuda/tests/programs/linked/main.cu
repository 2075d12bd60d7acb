// flags: -rdc=true -lcudadevrt
// Code of several files that is linked with each other.
#include "../check.h"

extern __device__ int scale;
__device__ int offset = 100;
__device__ int apply(int value);
void launch_other(int *p);
void launch_parent();

__global__ void kernel(int *p) { p[threadIdx.x] = apply(p[threadIdx.x]); }

int main() {
  int host[4] = {1, 2, 3, 4}, *p;
  OK(cudaMalloc(&p, sizeof host));
  OK(cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice));
  kernel<<<1, 4>>>(p);
  launch_other(p);
  OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; i++) EXPECT(host[i] == -((i + 1) * 3 + 100));
  launch_parent();
}
