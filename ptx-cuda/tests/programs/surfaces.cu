// Surfaces of lines, images, volumes and layers, and accesses outside of them.
#include "check.h"

__global__ void write(cudaSurfaceObject_t image, cudaSurfaceObject_t volume, cudaSurfaceObject_t layers) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  int value = 100 * z + 10 * y + x;
  if (z == 0) surf2Dwrite(make_uchar4(x, y, x + y, 255), image, x * 4, y);
  surf3Dwrite(value, volume, x * 4, y, z);
  surf2DLayeredwrite(-value, layers, x * 4, y, z);
}

__global__ void outside(cudaSurfaceObject_t image, uchar4 *out) {
  surf2Dread(&out[0], image, -4, 2, cudaBoundaryModeZero);
  surf2Dread(&out[1], image, 400, 2, cudaBoundaryModeClamp);
  surf2Dwrite(make_uchar4(9, 9, 9, 9), image, 4 * 7, 0, cudaBoundaryModeZero);
}

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  OK(cudaCreateSurfaceObject(&surface, &resource));
  return surface;
}

static void read_back(cudaArray_t array, void *host) {
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array;
  copy.dstPtr = make_cudaPitchedPtr(host, 7 * 4, 7, 5);
  copy.extent = make_cudaExtent(7, 5, 3);
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&copy));
}

int main() {
  cudaChannelFormatDesc colors = cudaCreateChannelDesc<uchar4>(), integers = cudaCreateChannelDesc<int>();
  cudaArray_t image, volume, layers;
  OK(cudaMallocArray(&image, &colors, 7, 5, cudaArraySurfaceLoadStore));
  cudaExtent extent = make_cudaExtent(7, 5, 3);
  OK(cudaMalloc3DArray(&volume, &integers, extent, cudaArraySurfaceLoadStore));
  OK(cudaMalloc3DArray(&layers, &integers, extent, cudaArraySurfaceLoadStore | cudaArrayLayered));
  cudaSurfaceObject_t surface = surface_of(image);
  write<<<3, dim3(7, 5)>>>(surface, surface_of(volume), surface_of(layers));
  uchar4 pixels[5][7];
  OK(cudaMemcpyFromArray(pixels, image, 0, 0, sizeof pixels, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 5; y++)
    for (int x = 0; x < 7; x++)
      EXPECT(pixels[y][x].x == x && pixels[y][x].y == y && pixels[y][x].z == x + y && pixels[y][x].w == 255);
  int values[3][5][7], negative[3][5][7];
  read_back(volume, values);
  read_back(layers, negative);
  for (int z = 0; z < 3; z++)
    for (int y = 0; y < 5; y++)
      for (int x = 0; x < 7; x++) {
        EXPECT(values[z][y][x] == 100 * z + 10 * y + x);
        EXPECT(negative[z][y][x] == -values[z][y][x]);
      }
  uchar4 *out, found[2];
  OK(cudaMalloc(&out, sizeof found));
  outside<<<1, 1>>>(surface, out);
  OK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
  EXPECT(found[0].x == 0 && found[0].w == 0 && found[1].x == 6 && found[1].y == 2);
  cudaArray_t plain;
  OK(cudaMallocArray(&plain, &colors, 7, 5));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = plain;
  cudaSurfaceObject_t refused;
  EXPECT_STATUS(cudaCreateSurfaceObject(&refused, &resource), cudaErrorInvalidValue);
}
