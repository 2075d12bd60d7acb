// Functions of the program in streams.
#include "check.h"
#include <vector>

static std::vector<int> order;
static int *shared_number;

__global__ void set_number(int *p, int value) { *p = value; }

static void CUDART_CB function(void *data) {
  order.push_back(*(int *)data + *shared_number);
}

static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *data) {
  EXPECT(status == cudaSuccess);
  order.push_back(*(int *)data + *shared_number);
}

int main() {
  cudaStream_t stream;
  int numbers[2] = {100, 200};
  OK(cudaStreamCreate(&stream));
  OK(cudaMallocManaged(&shared_number, 4));
  set_number<<<1, 1, 0, stream>>>(shared_number, 1);
  OK(cudaLaunchHostFunc(stream, function, &numbers[0]));
  set_number<<<1, 1, 0, stream>>>(shared_number, 2);
  OK(cudaStreamAddCallback(stream, callback, &numbers[1], 0));
  OK(cudaStreamSynchronize(stream));
  EXPECT(order.size() == 2 && order[0] == 101 && order[1] == 202);
  EXPECT_STATUS(cudaLaunchHostFunc(stream, nullptr, nullptr), cudaErrorInvalidValue);
}
