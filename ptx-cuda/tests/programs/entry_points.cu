// Functions of the driver API by their names.
#include "check.h"

int main() {
  int (*get_count)(int *) = nullptr;
  int (*get_info)(size_t *, size_t *) = nullptr;
  cudaDriverEntryPointQueryResult result;
  OK(cudaFree(nullptr));
  OK(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", (void **)&get_count, 12000, cudaEnableDefault, &result));
  EXPECT(result == cudaDriverEntryPointSuccess && get_count != nullptr);
  int count = 0;
  EXPECT(get_count(&count) == 0 && count == 1);
  OK(cudaGetDriverEntryPointByVersion("cuMemGetInfo", (void **)&get_info, 12000, cudaEnableDefault, &result));
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT(get_info(&free_bytes, &total_bytes) == 0 && total_bytes >= free_bytes && total_bytes > 0);
  OK(cudaGetDriverEntryPointByVersion("cuNoFunction", (void **)&get_count, 12000, cudaEnableDefault, &result));
  EXPECT(result == cudaDriverEntryPointSymbolNotFound && get_count == nullptr);
}
