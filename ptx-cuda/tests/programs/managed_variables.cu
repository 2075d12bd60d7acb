// Variables that the program and kernels access at the same address.
#include "check.h"

struct Node {
  int value;
  Node *next;
};

__managed__ int counts[4] = {1, 2, 3, 4};
__managed__ Node list;
static __device__ __managed__ double total;

__global__ void kernel() {
  atomicAdd(&counts[threadIdx.x], 10);
  if (threadIdx.x == 0)
    for (Node *node = &list; node; node = node->next) total += node->value;
}

int main() {
  counts[1] = 100;
  Node second = {0, nullptr}, *node;
  OK(cudaMallocManaged(&node, sizeof *node));
  *node = second;
  node->value = 5;
  list.value = 7;
  list.next = node;
  kernel<<<1, 4>>>();
  OK(cudaDeviceSynchronize());
  EXPECT(counts[0] == 11 && counts[1] == 110 && counts[2] == 13 && counts[3] == 14);
  EXPECT(total == 12);
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, counts));
  EXPECT(attributes.type == cudaMemoryTypeManaged);
  OK(cudaMemcpyToSymbol(total, &total, 8));
  double back = 0;
  OK(cudaMemcpyFromSymbol(&back, total, 8));
  EXPECT(back == 12);
}
