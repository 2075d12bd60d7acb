// Streams and events.
#include "check.h"

__global__ void append(int *list, int value) { list[++list[0]] = value; }

int main() {
  cudaStream_t a, b;
  cudaEvent_t start, middle, end;
  int *list, host[8], least, greatest, priority;
  unsigned flags;
  OK(cudaMalloc(&list, 32));
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(least >= greatest);
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, greatest));
  OK(cudaStreamGetPriority(b, &priority));
  EXPECT(priority == greatest);
  OK(cudaStreamGetFlags(b, &flags));
  EXPECT(flags == cudaStreamNonBlocking);
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  OK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
  OK(cudaMemsetAsync(list, 0, 32, a));
  OK(cudaEventRecord(start, a));
  append<<<1, 1, 0, a>>>(list, 10);
  OK(cudaEventRecord(middle, a));
  OK(cudaStreamWaitEvent(b, middle));
  append<<<1, 1, 0, b>>>(list, 20);
  OK(cudaEventRecord(end, b));
  OK(cudaEventSynchronize(end));
  OK(cudaEventQuery(end));
  OK(cudaStreamQuery(b));
  OK(cudaMemcpyAsync(host, list, 32, cudaMemcpyDeviceToHost, b));
  OK(cudaStreamSynchronize(b));
  EXPECT(host[0] == 2 && host[1] == 10 && host[2] == 20);
  float milliseconds = -1;
  OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds >= 0);
  EXPECT_STATUS(cudaEventElapsedTime(&milliseconds, start, middle), cudaErrorInvalidResourceHandle);
  append<<<1, 1, 0, cudaStreamPerThread>>>(list, 30);
  OK(cudaStreamSynchronize(cudaStreamPerThread));
  append<<<1, 1, 0, cudaStreamLegacy>>>(list, 40);
  OK(cudaMemcpy(host, list, 32, cudaMemcpyDeviceToHost));
  EXPECT(host[0] == 4 && host[4] == 40);
  OK(cudaEventDestroy(start));
  EXPECT_STATUS(cudaEventRecord(start, a), cudaErrorInvalidResourceHandle);
  OK(cudaStreamDestroy(a));
  EXPECT_STATUS(cudaStreamSynchronize(a), cudaErrorInvalidResourceHandle);
  OK(cudaStreamDestroy(b));
}
