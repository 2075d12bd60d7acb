// Function pointers, recursion and virtual functions in kernels.
#include "check.h"

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ Square(int side) : side(side) {}
  __device__ int area() const override { return side * side; }
};
struct Rectangle : Square {
  int other;
  __device__ Rectangle(int a, int b) : Square(a), other(b) {}
  __device__ int area() const override { return side * other; }
};

typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Operation operations[2] = {plus, times};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void kernel(int *result) {
  int lane = threadIdx.x;
  Shape *shape = lane % 2 ? (Shape *)new Rectangle(lane, 3) : new Square(lane);
  result[lane] = operations[lane / 2 % 2](shape->area(), fibonacci(lane % 12));
  delete shape;
}

int main() {
  int host[32], *result, numbers[12] = {0, 1};
  for (int i = 2; i < 12; i++) numbers[i] = numbers[i - 1] + numbers[i - 2];
  OK(cudaMalloc(&result, sizeof host));
  kernel<<<1, 32>>>(result);
  OK(cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) {
    int area = i % 2 ? 3 * i : i * i, number = numbers[i % 12];
    EXPECT(host[i] == (i / 2 % 2 ? area * number : area + number));
  }
}
