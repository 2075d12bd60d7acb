// An image in an array: points, linear filters, address modes, normalized coordinates and gathers.
#include "check.h"
#include <cmath>

const int width = 37, height = 23;

__global__ void read(cudaTextureObject_t texture, float *out, float scale, float offset) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = tex2D<float>(texture, x * scale + offset, y * scale + offset);
}

__global__ void gather(cudaTextureObject_t texture, float4 *out) {
  *out = tex2Dgather<float4>(texture, 4.0f, 3.0f, 0);
}

static int wrap(int i, int n) { return ((i % n) + n) % n; }
static int clamp(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

int main() {
  static float image[height][width], back[height][width];
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) image[y][x] = std::sin(0.3f * x) * std::cos(0.2f * y);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  OK(cudaMallocArray(&array, &format, width, height, cudaArrayTextureGather));
  size_t row = width * sizeof(float);
  OK(cudaMemcpy2DToArray(array, 0, 0, image, row, row, height, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DFromArray(back, row, array, 0, 0, row, height, cudaMemcpyDeviceToHost));
  EXPECT(std::memcmp(image, back, sizeof image) == 0);

  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  float *out;
  OK(cudaMalloc(&out, sizeof back));
  dim3 block(8, 8), grid((width + 7) / 8, (height + 7) / 8);

  cudaTextureDesc points = {};
  points.addressMode[0] = points.addressMode[1] = cudaAddressModeClamp;
  points.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture;
  OK(cudaCreateTextureObject(&texture, &resource, &points, nullptr));
  read<<<grid, block>>>(texture, out, 2.0f, -5.5f);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      EXPECT(back[y][x] == image[clamp(2 * y - 6, height)][clamp(2 * x - 6, width)]);
  float4 *four;
  OK(cudaMalloc(&four, sizeof(float4)));
  gather<<<1, 1>>>(texture, four);
  float4 found;
  OK(cudaMemcpy(&found, four, sizeof found, cudaMemcpyDeviceToHost));
  EXPECT(found.x == image[3][3] && found.y == image[3][4]);
  EXPECT(found.z == image[2][4] && found.w == image[2][3]);
  OK(cudaDestroyTextureObject(texture));

  cudaTextureDesc linear = {};
  linear.addressMode[0] = linear.addressMode[1] = cudaAddressModeWrap;
  linear.filterMode = cudaFilterModeLinear;
  linear.normalizedCoords = 1;
  OK(cudaCreateTextureObject(&texture, &resource, &linear, nullptr));
  read<<<grid, block>>>(texture, out, 0.0625f, -0.3125f);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      float u = (x * 0.0625f - 0.3125f), v = (y * 0.0625f - 0.3125f);
      float s = (u - std::floor(u)) * width - 0.5f, t = (v - std::floor(v)) * height - 0.5f;
      int i = (int)std::floor(s), j = (int)std::floor(t);
      float a = s - i, b = t - j;
      float expected = (1 - a) * (1 - b) * image[wrap(j, height)][wrap(i, width)] +
                       a * (1 - b) * image[wrap(j, height)][wrap(i + 1, width)] +
                       (1 - a) * b * image[wrap(j + 1, height)][wrap(i, width)] +
                       a * b * image[wrap(j + 1, height)][wrap(i + 1, width)];
      EXPECT(std::fabs(back[y][x] - expected) < 0.005f);
    }
  OK(cudaDestroyTextureObject(texture));
  OK(cudaFreeArray(array));
  EXPECT_STATUS(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
}
