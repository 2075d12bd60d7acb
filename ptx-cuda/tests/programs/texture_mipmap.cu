// A mipmapped array whose levels kernels compute through surfaces, and reads of its levels.
#include "check.h"
#include <cmath>

__global__ void half(cudaTextureObject_t larger, cudaSurfaceObject_t smaller, int size) {
  int x = threadIdx.x, y = threadIdx.y;
  float u = (x + 0.5f) / size, v = (y + 0.5f) / size;
  surf2Dwrite(tex2D<float>(larger, u, v), smaller, x * (int)sizeof(float), y);
}

__global__ void read(cudaTextureObject_t texture, float *out) {
  out[threadIdx.x] = tex2DLod<float>(texture, 0.5f, 0.5f, threadIdx.x * 0.5f);
}

int main() {
  const int size = 16, levels = 5;
  float image[size][size];
  for (int i = 0; i < size * size; i++) (&image[0][0])[i] = i;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t mipmap;
  OK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(size, size, 0), levels, cudaArraySurfaceLoadStore));
  cudaArray_t level;
  OK(cudaGetMipmappedArrayLevel(&level, mipmap, 0));
  OK(cudaMemcpy2DToArray(level, 0, 0, image, sizeof image[0], sizeof image[0], size, cudaMemcpyHostToDevice));
  for (int i = 1; i < levels; i++) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    OK(cudaGetMipmappedArrayLevel(&resource.res.array.array, mipmap, i - 1));
    cudaTextureDesc linear = {};
    linear.addressMode[0] = linear.addressMode[1] = cudaAddressModeClamp;
    linear.filterMode = cudaFilterModeLinear;
    linear.normalizedCoords = 1;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &linear, nullptr));
    OK(cudaGetMipmappedArrayLevel(&resource.res.array.array, mipmap, i));
    cudaSurfaceObject_t surface;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    int smaller = size >> i;
    half<<<1, dim3(smaller, smaller)>>>(texture, surface, smaller);
    OK(cudaDeviceSynchronize());
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaDestroyTextureObject(texture));
  }
  OK(cudaGetMipmappedArrayLevel(&level, mipmap, levels - 1));
  float last;
  OK(cudaMemcpy2DFromArray(&last, 4, level, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
  EXPECT(last == 127.5f);
  EXPECT_STATUS(cudaGetMipmappedArrayLevel(&level, mipmap, levels), cudaErrorInvalidValue);

  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmap;
  cudaTextureDesc trilinear = {};
  trilinear.addressMode[0] = trilinear.addressMode[1] = cudaAddressModeClamp;
  trilinear.mipmapFilterMode = cudaFilterModeLinear;
  trilinear.normalizedCoords = 1;
  trilinear.maxMipmapLevelClamp = levels - 1;
  cudaTextureObject_t texture;
  OK(cudaCreateTextureObject(&texture, &resource, &trilinear, nullptr));
  float *out, found[10];
  OK(cudaMalloc(&out, sizeof found));
  read<<<1, 10>>>(texture, out);
  OK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
  // The texel at the center of each level: its value is that of the middle of its square.
  float centers[levels];
  for (int i = 0; i < levels; i++) {
    float edge = 1 << i, first = size / 2;
    if (i == levels - 1) first = 0;
    float middle = first + (edge - 1) / 2;
    centers[i] = middle * size + middle;
  }
  for (int i = 0; i < 10; i++) {
    float detail = std::fmin(i * 0.5f, levels - 1.0f);
    int below = (int)detail;
    float weight = detail - below;
    float above = below + 1 < levels ? centers[below + 1] : 0;
    EXPECT(std::fabs(found[i] - ((1 - weight) * centers[below] + weight * above)) < 1e-3f);
  }
  // Texels as the unit of coordinates have no meaning for several levels.
  trilinear.normalizedCoords = 0;
  EXPECT_STATUS(cudaCreateTextureObject(&texture, &resource, &trilinear, nullptr), cudaErrorInvalidValue);
  OK(cudaFreeMipmappedArray(mipmap));
}
