// Linear memory as textures: fetches by integers, fractions, and rows with a pitch.
#include "check.h"
#include <cmath>

__global__ void fetch(cudaTextureObject_t texture, float4 *out) {
  out[threadIdx.x] = tex1Dfetch<float4>(texture, threadIdx.x);
}

__global__ void fetch_integers(cudaTextureObject_t texture, uint2 *out) {
  out[threadIdx.x] = tex1Dfetch<uint2>(texture, threadIdx.x);
}

__global__ void read_rows(cudaTextureObject_t texture, float *out, int width) {
  out[threadIdx.y * width + threadIdx.x] = tex2D<float>(texture, threadIdx.x + 1.0f, threadIdx.y + 0.5f);
}

int main() {
  uchar4 colors[32];
  for (int i = 0; i < 32; i++) colors[i] = make_uchar4(i, 2 * i, 255 - i, 255);
  void *memory;
  OK(cudaMalloc(&memory, sizeof colors));
  OK(cudaMemcpy(memory, colors, sizeof colors, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.linear.sizeInBytes = sizeof colors;
  cudaTextureDesc fractions = {};
  fractions.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t texture;
  OK(cudaCreateTextureObject(&texture, &resource, &fractions, nullptr));
  float4 *out, found[33];
  OK(cudaMalloc(&out, sizeof found));
  fetch<<<1, 33>>>(texture, out);
  OK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++) {
    EXPECT(std::fabs(found[i].x - i / 255.0f) < 1e-6f && std::fabs(found[i].y - 2 * i / 255.0f) < 1e-6f);
    EXPECT(std::fabs(found[i].z - (255 - i) / 255.0f) < 1e-6f && found[i].w == 1.0f);
  }
  EXPECT(found[32].x == 0 && found[32].w == 0);
  cudaTextureDesc settings;
  OK(cudaGetTextureObjectTextureDesc(&settings, texture));
  EXPECT(settings.readMode == cudaReadModeNormalizedFloat && settings.normalizedCoords == 0);
  cudaResourceDesc description;
  OK(cudaGetTextureObjectResourceDesc(&description, texture));
  EXPECT(description.res.linear.devPtr == memory && description.res.linear.desc.w == 8);
  EXPECT(description.res.linear.sizeInBytes == sizeof colors);
  OK(cudaDestroyTextureObject(texture));

  uint2 pairs[16], *pairs_out, pairs_found[16];
  for (int i = 0; i < 16; i++) pairs[i] = make_uint2(i, ~i);
  OK(cudaMemcpy(memory, pairs, sizeof pairs, cudaMemcpyHostToDevice));
  resource.res.linear.desc = cudaCreateChannelDesc<uint2>();
  cudaTextureDesc elements = {};
  OK(cudaCreateTextureObject(&texture, &resource, &elements, nullptr));
  OK(cudaMalloc(&pairs_out, sizeof pairs));
  fetch_integers<<<1, 16>>>(texture, pairs_out);
  OK(cudaMemcpy(pairs_found, pairs_out, sizeof pairs, cudaMemcpyDeviceToHost));
  EXPECT(std::memcmp(pairs, pairs_found, sizeof pairs) == 0);
  OK(cudaDestroyTextureObject(texture));

  const int width = 20, height = 6;
  float image[height][width], rows[height][width], *image_memory, *rows_out;
  for (int i = 0; i < width * height; i++) (&image[0][0])[i] = i * i;
  size_t pitch;
  OK(cudaMallocPitch(&image_memory, &pitch, width * sizeof(float), height));
  OK(cudaMemcpy2D(image_memory, pitch, image, sizeof image[0], sizeof image[0], height, cudaMemcpyHostToDevice));
  cudaResourceDesc pitched = {};
  pitched.resType = cudaResourceTypePitch2D;
  pitched.res.pitch2D.devPtr = image_memory;
  pitched.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  pitched.res.pitch2D.width = width;
  pitched.res.pitch2D.height = height;
  pitched.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc linear = {};
  linear.filterMode = cudaFilterModeLinear;
  linear.addressMode[0] = cudaAddressModeBorder;
  linear.addressMode[1] = cudaAddressModeClamp;
  OK(cudaCreateTextureObject(&texture, &pitched, &linear, nullptr));
  OK(cudaMalloc(&rows_out, sizeof rows));
  read_rows<<<1, dim3(width, height)>>>(texture, rows_out, width);
  OK(cudaMemcpy(rows, rows_out, sizeof rows, cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      float next = x + 1 < width ? image[y][x + 1] : 0;
      EXPECT(rows[y][x] == (image[y][x] + next) / 2);
    }
  pitched.res.pitch2D.pitchInBytes = 40;
  EXPECT_STATUS(cudaCreateTextureObject(&texture, &pitched, &linear, nullptr), cudaErrorInvalidValue);
  pitched.res.pitch2D.pitchInBytes = pitch;
  pitched.res.pitch2D.desc = cudaCreateChannelDesc<int>();
  EXPECT_STATUS(cudaCreateTextureObject(&texture, &pitched, &linear, nullptr), cudaErrorInvalidFilterSetting);
  cudaArray_t array;
  cudaChannelFormatDesc three = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
  EXPECT_STATUS(cudaMallocArray(&array, &three, 4, 4), cudaErrorInvalidChannelDescriptor);
}
