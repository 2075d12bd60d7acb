// Facts about addresses.
#include "check.h"

__device__ int variable;

int main() {
  cudaPointerAttributes attributes;
  int *device, *managed, *pinned, *symbol, local = 0;
  OK(cudaMalloc(&device, 64));
  OK(cudaMallocManaged(&managed, 64));
  OK(cudaMallocHost(&pinned, 64));
  OK(cudaGetSymbolAddress((void **)&symbol, variable));
  OK(cudaPointerGetAttributes(&attributes, device + 3));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
  EXPECT(attributes.devicePointer == device + 3 && attributes.hostPointer == nullptr);
  OK(cudaPointerGetAttributes(&attributes, managed));
  EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == managed);
  OK(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT(attributes.type == cudaMemoryTypeHost && attributes.devicePointer != nullptr);
  OK(cudaPointerGetAttributes(&attributes, &local));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered && attributes.hostPointer == &local);
  OK(cudaPointerGetAttributes(&attributes, symbol));
  EXPECT(attributes.type == cudaMemoryTypeDevice);
  EXPECT_STATUS(cudaPointerGetAttributes(nullptr, device), cudaErrorInvalidValue);
}
