// Graphs and captures through the runtime API.
#include <vector>
#include "check.h"


__global__ void add(int *data, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += value;
}
__global__ void scale(int *data, int factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
__device__ int symbol[4];
static int calls = 0;
static void CUDART_CB on_host(void *data) { calls += *(int *)data; }

int main() {
  const int n = 1000;
  int *data;
  OK(cudaMalloc(&data, n * sizeof(int)));
  std::vector<int> host(n);
  cudaStream_t stream, other;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  // A capture with a fork and a join.
  cudaEvent_t fork, join;
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&join));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(data, 0, n * sizeof(int), stream));
  add<<<(n + 127) / 128, 128, 0, stream>>>(data, 3, n);
  OK(cudaEventRecord(fork, stream));
  OK(cudaStreamWaitEvent(other, fork, 0));
  scale<<<(n + 127) / 128, 128, 0, other>>>(data, 5, n);
  OK(cudaEventRecord(join, other));
  OK(cudaStreamWaitEvent(stream, join, 0));
  OK(cudaMemcpyAsync(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  int one = 1;
  OK(cudaLaunchHostFunc(stream, on_host, &one));
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(stream, &graph));
  size_t count = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 5);
  size_t edges = 0;
#if CUDART_VERSION >= 13000
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
  // The copy follows the kernels of both streams.
  EXPECT(edges == 5);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(calls == 3);
  for (int value : host) EXPECT(value == 15);
  // A built graph.
  cudaGraph_t built;
  OK(cudaGraphCreate(&built, 0));
  cudaGraphNode_t set, added, copied, last;
  cudaMemsetParams fill = {};
  fill.dst = data; fill.value = 7; fill.elementSize = 4; fill.width = n; fill.height = 1;
  OK(cudaGraphAddMemsetNode(&set, built, nullptr, 0, &fill));
  int value = 4, size = n;
  void *arguments[] = {&data, &value, &size};
  cudaKernelNodeParams kernel = {};
  kernel.func = (void *)add; kernel.gridDim = dim3((n + 255) / 256); kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  OK(cudaGraphAddKernelNode(&added, built, &set, 1, &kernel));
  OK(cudaGraphAddMemcpyNode1D(&copied, built, &added, 1, host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
  OK(cudaGraphAddMemcpyNodeToSymbol(&last, built, &added, 1, symbol, data, sizeof symbol, 0, cudaMemcpyDeviceToDevice));
  cudaGraphExec_t second;
  OK(cudaGraphInstantiate(&second, built, 0));
  OK(cudaGraphLaunch(second, stream));
  OK(cudaStreamSynchronize(stream));
  for (int v : host) EXPECT(v == 11);
  int from_symbol[4];
  OK(cudaMemcpyFromSymbol(from_symbol, symbol, sizeof symbol));
  EXPECT(from_symbol[3] == 11);
  value = 100;
  OK(cudaGraphExecKernelNodeSetParams(second, added, &kernel));
  OK(cudaGraphLaunch(second, stream));
  OK(cudaDeviceSynchronize());
  for (int v : host) EXPECT(v == 107);
  cudaKernelNodeParams read = {};
  OK(cudaGraphKernelNodeGetParams(added, &read));
  EXPECT(*(int *)read.kernelParams[1] == 4 && read.blockDim.x == 256);
  OK(cudaGraphKernelNodeSetParams(added, &read));
  cudaMemcpy3DParms copy = {};
  OK(cudaGraphMemcpyNodeGetParams(copied, &copy));
  EXPECT(copy.dstPtr.ptr == host.data() && copy.extent.width == n * sizeof(int));
  // An update with the captured graph is impossible, with a copy of the built one it is not.
  cudaGraphExecUpdateResultInfo info;
  EXPECT(cudaGraphExecUpdate(second, graph, &info) == cudaErrorGraphExecUpdateFailure);
  (void)cudaGetLastError();
  cudaGraph_t clone;
  OK(cudaGraphClone(&clone, built));
  OK(cudaGraphExecUpdate(second, clone, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  OK(cudaGraphLaunch(second, nullptr));
  OK(cudaDeviceSynchronize());
  for (int v : host) EXPECT(v == 11);
  // Memory in a capture.
  int *temporary, result = 0;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  OK(cudaMallocAsync((void **)&temporary, n * sizeof(int), stream));
  OK(cudaMemsetAsync(temporary, 0, n * sizeof(int), stream));
  add<<<8, 128, 0, stream>>>(temporary, 42, n);
  OK(cudaMemcpyAsync(&result, temporary + 999, sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(temporary, stream));
  cudaGraph_t with_memory;
  OK(cudaStreamEndCapture(stream, &with_memory));
  cudaGraphExec_t third;
  OK(cudaGraphInstantiate(&third, with_memory, 0));
  for (int i = 0; i < 2; i++) OK(cudaGraphLaunch(third, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(result == 42);
  // Errors.
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void *memory;
  EXPECT(cudaMalloc(&memory, 16) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
  // Occupancy.
  int blocks, grid, block;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  EXPECT(blocks == 8);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add));
  EXPECT(block == 1024 || block == 768);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphExecDestroy(second));
  OK(cudaGraphExecDestroy(third));
  OK(cudaGraphDestroy(built));
}
