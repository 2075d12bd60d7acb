// Launches by kernels.
#include "../check.h"

__global__ void child(int *p, int value) { p[threadIdx.x] += value; }

__global__ void parent(int *p) {
  if (threadIdx.x == 0) {
    child<<<1, 4>>>(p, 10);
    child<<<1, 4>>>(p, 100);
  }
}

void launch_parent() {
  int host[4], *p;
  OK(cudaMalloc(&p, sizeof host));
  OK(cudaMemset(p, 0, sizeof host));
  parent<<<1, 32>>>(p);
  OK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; i++) EXPECT(host[i] == 110);
}
