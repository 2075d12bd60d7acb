// Volumes, layers and cubes, which cudaMemcpy3D fills.
#include "check.h"

__global__ void read_volume(cudaTextureObject_t texture, float *out) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  int i = (z * blockDim.y + y) * blockDim.x + x;
  out[i] = tex3D<float>(texture, x + 0.5f, y + 0.5f, z + 0.5f);
}

__global__ void read_layers(cudaTextureObject_t texture, short4 *out) {
  int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
  int i = (layer * blockDim.y + y) * blockDim.x + x;
  out[i] = tex2DLayered<short4>(texture, x + 0.5f, y + 0.5f, layer);
}

__global__ void read_lines(cudaTextureObject_t texture, int *out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = tex1DLayered<int>(texture, threadIdx.x + 0.5f, blockIdx.x);
}

__global__ void read_cube(cudaTextureObject_t texture, float *out) {
  const float directions[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  const float *d = directions[threadIdx.x];
  out[threadIdx.x] = texCubemap<float>(texture, d[0], d[1], d[2]);
}

template <typename T>
static cudaArray_t create(cudaExtent extent, unsigned flags, const T *host) {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t array;
  OK(cudaMalloc3DArray(&array, &format, extent, flags));
  size_t rows = extent.height ? extent.height : 1;
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr((void *)host, extent.width * sizeof(T), extent.width, rows);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(extent.width, rows, extent.depth);
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  return array;
}

static cudaTextureObject_t texture_of(cudaArray_t array, int normalized) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc points = {};
  for (int i = 0; i < 3; i++) points.addressMode[i] = cudaAddressModeClamp;
  points.normalizedCoords = normalized;
  cudaTextureObject_t texture;
  OK(cudaCreateTextureObject(&texture, &resource, &points, nullptr));
  return texture;
}

template <typename T>
static void check(const T *device, const T *host, size_t bytes) {
  static char back[1 << 16];
  OK(cudaMemcpy(back, device, bytes, cudaMemcpyDeviceToHost));
  EXPECT(std::memcmp(back, host, bytes) == 0);
}

int main() {
  static float volume[5][6][7], *volume_out;
  for (int i = 0; i < 210; i++) (&volume[0][0][0])[i] = i * 0.25f;
  cudaArray_t array = create(make_cudaExtent(7, 6, 5), 0, &volume[0][0][0]);
  OK(cudaMalloc(&volume_out, sizeof volume));
  read_volume<<<5, dim3(7, 6)>>>(texture_of(array, 0), volume_out);
  check(volume_out, &volume[0][0][0], sizeof volume);
  // A part of the array, from the second element of each row on.
  static float part[2][3][4];
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array;
  copy.srcPos = make_cudaPos(1, 2, 3);
  copy.dstPtr = make_cudaPitchedPtr(part, 16, 4, 3);
  copy.extent = make_cudaExtent(4, 3, 2);
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&copy));
  for (int z = 0; z < 2; z++)
    for (int y = 0; y < 3; y++)
      for (int x = 0; x < 4; x++) EXPECT(part[z][y][x] == volume[z + 3][y + 2][x + 1]);
  copy.extent.width = 7;
  EXPECT_STATUS(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue);

  static short4 layers[4][3][5], *layers_out;
  for (int i = 0; i < 60; i++)
    (&layers[0][0][0])[i] = make_short4(i, -i, 3 * i, -7 * i);
  array = create(make_cudaExtent(5, 3, 4), cudaArrayLayered, &layers[0][0][0]);
  OK(cudaMalloc(&layers_out, sizeof layers));
  read_layers<<<4, dim3(5, 3)>>>(texture_of(array, 0), layers_out);
  check(layers_out, &layers[0][0][0], sizeof layers);

  static int lines[6][9], *lines_out;
  for (int i = 0; i < 54; i++) (&lines[0][0])[i] = -i * i;
  array = create(make_cudaExtent(9, 0, 6), cudaArrayLayered, &lines[0][0]);
  OK(cudaMalloc(&lines_out, sizeof lines));
  read_lines<<<6, 9>>>(texture_of(array, 0), lines_out);
  check(lines_out, &lines[0][0], sizeof lines);

  static float cube[6][2][2], faces[6] = {0, 1, 2, 3, 4, 5}, *cube_out;
  for (int i = 0; i < 24; i++) (&cube[0][0][0])[i] = i / 4;
  array = create(make_cudaExtent(2, 2, 6), cudaArrayCubemap, &cube[0][0][0]);
  OK(cudaMalloc(&cube_out, sizeof faces));
  read_cube<<<1, 6>>>(texture_of(array, 1), cube_out);
  check(cube_out, faces, sizeof faces);
  cudaExtent extent;
  unsigned flags;
  cudaChannelFormatDesc format;
  OK(cudaArrayGetInfo(&format, &extent, &flags, array));
  EXPECT(format.x == 32 && format.y == 0 && format.f == cudaChannelFormatKindFloat);
  EXPECT(extent.width == 2 && extent.height == 2 && extent.depth == 6 && flags == cudaArrayCubemap);
}
