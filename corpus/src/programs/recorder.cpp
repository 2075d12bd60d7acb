// The runtime of CUDA for programs that begin with `// recorded`: it runs nothing, but writes the launches and copies of the host as lines of
// a case. Libraries that choose kernels and their arguments on the host, as CUB and Thrust, become cases this way.
#define RECORDER
#include "program.h"
#include <cuda_runtime_api.h>
#include <fstream>

// The sizes of the parameters of kernels, from the text that nvcc made of this program: its path is in KERNELS_PTX.
std::vector<size_t> parameter_sizes(const std::string &kernel) {
  static std::map<std::string, std::vector<size_t>> all;
  if (all.empty()) {
    std::ifstream file(getenv("KERNELS_PTX"));
    std::string line, name;
    while (std::getline(file, line)) {
      size_t entry = line.find(".entry "), param = line.find(".param ");
      if (entry != std::string::npos) {
        name = line.substr(entry + 7, line.find('(') - entry - 7);
        all[name];
      } else if (line[0] == ')' || line[0] == '{') name.clear();
      else if (param != std::string::npos && !name.empty()) {
        size_t type = line.find_first_of("bfsu", param + 7), count = line.find('[');
        while (!isdigit(line[type + 1])) type = line.find_first_of("bfsu", type + 1);
        size_t bytes = std::stoul(line.substr(type + 1)) / 8;
        all[name].push_back(count == std::string::npos ? bytes : bytes * std::stoul(line.substr(count + 1)));
      }
    }
  }
  return all.at(kernel);
}

std::map<const void *, std::string> &kernels() { static std::map<const void *, std::string> all; return all; }

void record_launch(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, dim3 cluster = {}) {
  const std::string &name = kernels().at(kernel);
  printf("launch %s %u,%u,%u %u,%u,%u %zu %u,%u,%u", name.c_str(), grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, cluster.x,
         cluster.y, cluster.z);
  for (size_t bytes : parameter_sizes(name)) printf(" %s", hex(*arguments++, bytes, true).c_str());
  printf("\n");
}

std::string place(const void *address) {
  uint64_t at = uint64_t(address) - FIRST;
  return "@" + std::to_string(at / EACH) + "+" + std::to_string(at % EACH);
}

// The functions that the host part calls.
struct Configuration { dim3 grid, block; size_t shared; };
Configuration &configuration() { static Configuration c; return c; }
#define RUNTIME extern "C"
RUNTIME void **__cudaRegisterFatBinary(void *) { static void *handle; return &handle; }
RUNTIME void __cudaRegisterFatBinaryEnd(void **) {}
RUNTIME void __cudaUnregisterFatBinary(void **) {}
RUNTIME void __cudaRegisterFunction(void **, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
  kernels()[host] = name;
}
RUNTIME void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
RUNTIME unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st *) {
  configuration() = {grid, block, shared};
  return 0;
}
RUNTIME cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *) {
  *grid = configuration().grid, *block = configuration().block, *shared = configuration().shared;
  return cudaSuccess;
}
RUNTIME cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) { *kernel = (cudaKernel_t)host; return cudaSuccess; }
RUNTIME cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t) {
  record_launch(kernel, grid, block, arguments, shared);
  return cudaSuccess;
}
RUNTIME cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t) {
  record_launch(kernel, grid, block, arguments, shared);
  return cudaSuccess;
}
RUNTIME cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *kernel, void **arguments) {
  record_launch(kernel, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes);
  return cudaSuccess;
}
RUNTIME cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  *pointer = scratch(bytes).pointer<void>();
  return cudaSuccess;
}
RUNTIME cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
RUNTIME cudaError_t cudaFree(void *) { return cudaSuccess; }
RUNTIME cudaError_t cudaFreeAsync(void *, cudaStream_t) { return cudaSuccess; }
RUNTIME cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  bool to_device = uint64_t(to) >= FIRST, from_device = uint64_t(from) >= FIRST;
  if (to_device && from_device) printf("copy %s %s %zu\n", place(to).c_str(), place(from).c_str(), bytes);
  else if (to_device) printf("write %s %s\n", place(to).c_str(), hex(from, bytes, true).c_str());
  else if (from_device) {
    std::string answer = answers().back();
    answers().pop_back();
    memcpy(to, answer.data(), bytes);
    printf("expect %s bytes exact %s\n", place(from).c_str(), hex(to, bytes, true).c_str());
  } else memcpy(to, from, bytes);
  return cudaSuccess;
}
RUNTIME cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) { return cudaMemcpyAsync(to, from, bytes, kind, 0); }
RUNTIME cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
  printf("fill %s %zu %d\n", place(to).c_str(), bytes, value & 255);
  return cudaSuccess;
}
RUNTIME cudaError_t cudaMemset(void *to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, 0); }
// A device with two multiprocessors of compute capability 8.0.
RUNTIME cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 2; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 8; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrMaxGridDimX: *value = 0x7fffffff; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 163 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 164 << 10; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1 << 10; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    default: *value = 0;
  }
  return cudaSuccess;
}
RUNTIME cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *all, const void *) {
  *all = {};
  all->ptxVersion = all->binaryVersion = 80;
  all->maxThreadsPerBlock = 1024;
  all->maxDynamicSharedSizeBytes = 48 << 10;
  return cudaSuccess;
}
RUNTIME cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
RUNTIME cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int, size_t, unsigned) {
  *blocks = 2;
  return cudaSuccess;
}
RUNTIME cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
RUNTIME cudaError_t cudaSetDevice(int) { return cudaSuccess; }
RUNTIME cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
RUNTIME cudaError_t cudaGetLastError() { return cudaSuccess; }
RUNTIME cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
RUNTIME const char *cudaGetErrorString(cudaError_t) { return ""; }
RUNTIME const char *cudaGetErrorName(cudaError_t) { return ""; }
RUNTIME cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
RUNTIME cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
RUNTIME cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus *status, unsigned long long *, cudaGraph_t *, const cudaGraphNode_t **, const cudaGraphEdgeData **, size_t *) { *status = cudaStreamCaptureStatusNone; return cudaSuccess; }
