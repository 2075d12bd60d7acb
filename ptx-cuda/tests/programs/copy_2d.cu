// Pitched allocations and copies of rows.
#include "check.h"

__global__ void transpose(const int *in, size_t in_pitch, int *out, size_t out_pitch, int width, int height) {
  int x = threadIdx.x, y = blockIdx.x;
  ((int *)((char *)out + x * out_pitch))[y] = ((const int *)((const char *)in + y * in_pitch))[x];
}

int main() {
  const int width = 37, height = 11;
  int in[height][width], out[width][height];
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) in[y][x] = 100 * y + x;
  int *a, *b;
  size_t a_pitch, b_pitch;
  OK(cudaMallocPitch(&a, &a_pitch, sizeof in[0], height));
  OK(cudaMallocPitch(&b, &b_pitch, sizeof out[0], width));
  EXPECT(a_pitch >= sizeof in[0] && a_pitch % 32 == 0);
  OK(cudaMemcpy2D(a, a_pitch, in, sizeof in[0], sizeof in[0], height, cudaMemcpyHostToDevice));
  transpose<<<height, width>>>(a, a_pitch, b, b_pitch, width, height);
  OK(cudaMemcpy2DAsync(out, sizeof out[0], b, b_pitch, sizeof out[0], width, cudaMemcpyDeviceToHost, 0));
  OK(cudaDeviceSynchronize());
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) EXPECT(out[x][y] == in[y][x]);
  EXPECT_STATUS(cudaMemcpy2D(a, 4, in, sizeof in[0], sizeof in[0], height, cudaMemcpyHostToDevice),
                cudaErrorInvalidPitchValue);
}
