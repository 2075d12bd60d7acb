// A loop of a graph whose condition a kernel sets.
#include "check.h"

#if CUDART_VERSION >= 13000
#define ADD_NODE(node, graph, parameters)                                      \
  OK(cudaGraphAddNode(node, graph, nullptr, nullptr, 0, parameters))
#else
#define ADD_NODE(node, graph, parameters)                                      \
  OK(cudaGraphAddNode(node, graph, nullptr, 0, parameters))
#endif
__global__ void step(int *count, cudaGraphConditionalHandle handle) {
  *count += 1;
  cudaGraphSetConditional(handle, *count < 10);
}
int main() {
  int *count;
  OK(cudaMalloc(&count, 4));
  OK(cudaMemset(count, 0, 4));
  cudaGraph_t graph;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = cudaGraphCondTypeWhile;
  parameters.conditional.size = 1;
  cudaGraphNode_t node;
  ADD_NODE(&node, graph, &parameters);
  cudaGraph_t body = parameters.conditional.phGraph_out[0];
  void *arguments[] = {&count, &handle};
  cudaGraphNodeParams kernel = {};
  kernel.type = cudaGraphNodeTypeKernel;
  kernel.kernel.func = (void *)step;
  kernel.kernel.gridDim = dim3(1);
  kernel.kernel.blockDim = dim3(1);
  kernel.kernel.kernelParams = arguments;
  ADD_NODE(&node, body, &kernel);
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, 0));
  int result;
  OK(cudaMemcpy(&result, count, 4, cudaMemcpyDeviceToHost));
  EXPECT(result == 10);
}
