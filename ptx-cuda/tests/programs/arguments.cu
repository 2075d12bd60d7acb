// Arguments of all kinds: structures, small integers, many of them.
#include "check.h"

struct Large {
  char c;
  double d[20];
  short s;
};

struct Odd {
  char bytes[3];
};

struct Empty {};

__global__ void kernel(char c, Large large, Odd odd, bool flag, Empty, float3 v, double *result, short s, long long l) {
  *result = c + large.c + large.d[0] + large.d[19] + large.s + odd.bytes[2] + flag + v.x + v.y + v.z + s + l;
}

int main() {
  Large large = {1, {2}, 4};
  large.d[19] = 8;
  Odd odd = {{0, 0, 16}};
  double *result, host = 0;
  OK(cudaMalloc(&result, 8));
  kernel<<<1, 1>>>(32, large, odd, true, Empty(), make_float3(64, 128, 256), result, -512, 1ll << 40);
  OK(cudaMemcpy(&host, result, 8, cudaMemcpyDeviceToHost));
  EXPECT(host == 32 + 1 + 2 + 8 + 4 + 16 + 1 + 64 + 128 + 256 - 512 + (double)(1ll << 40));
}
