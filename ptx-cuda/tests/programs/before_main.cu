// A launch before `main`, and managed memory that lives until the end.
#include "check.h"

__managed__ int order;
__global__ void add(int value) { order = 10 * order + value; }

struct Before {
  int *p;
  Before() {
    OK(cudaMallocManaged(&p, 4));
    *p = 3;
    add<<<1, 1>>>(1);
    OK(cudaDeviceSynchronize());
  }
  ~Before() { std::printf("%d\n", *p); }
};
// expect: 3\n
static Before before;

int main() {
  add<<<1, 1>>>(2);
  OK(cudaDeviceSynchronize());
  EXPECT(order == 12 || order == 2);
}
