// Allocations and copies of layers of rows.
#include "check.h"

__global__ void add_position(cudaPitchedPtr p, int height) {
  char *layer = (char *)p.ptr + blockIdx.x * p.pitch * height;
  ((int *)(layer + threadIdx.y * p.pitch))[threadIdx.x] += 100 * blockIdx.x + 10 * threadIdx.y + threadIdx.x;
}

int main() {
  const int width = 5, height = 4, depth = 3;
  int host[depth][height][width], back[depth][height][width];
  for (int i = 0; i < width * height * depth; i++) (&host[0][0][0])[i] = 1000 * i;
  cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
  cudaPitchedPtr device;
  OK(cudaMalloc3D(&device, extent));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host, width * sizeof(int), width, height);
  copy.dstPtr = device;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  add_position<<<depth, dim3(width, height)>>>(device, height);
  std::memset(back, 0, sizeof back);
  // A part: the rows 1 and 2 of the layers 1 and 2, without the first element.
  copy = {};
  copy.srcPtr = device;
  copy.srcPos = make_cudaPos(sizeof(int), 1, 1);
  copy.dstPtr = make_cudaPitchedPtr(back, width * sizeof(int), width, height);
  copy.dstPos = make_cudaPos(sizeof(int), 1, 1);
  copy.extent = make_cudaExtent((width - 1) * sizeof(int), 2, 2);
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3DAsync(&copy, 0));
  OK(cudaStreamSynchronize(0));
  for (int z = 0; z < depth; z++)
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        bool copied = z >= 1 && (y == 1 || y == 2) && x >= 1;
        EXPECT(back[z][y][x] == (copied ? host[z][y][x] + 100 * z + 10 * y + x : 0));
      }
  OK(cudaMemset3D(device, 1, make_cudaExtent(8, 2, depth)));
  OK(cudaMemcpy2D(back, 20, device.ptr, device.pitch, 20, height * depth, cudaMemcpyDeviceToHost));
  for (int z = 0; z < depth; z++)
    for (int y = 0; y < height; y++) {
      EXPECT((back[z][y][0] == 0x01010101) == (y < 2));
      EXPECT(back[z][y][2] != 0x01010101);
    }
}
