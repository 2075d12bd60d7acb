// Code that the program loads itself.
#include "check.h"

static const char code[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .u32 number = 5;\n"
    ".visible .entry store(.param .u64 p, .param .u32 v)\n{\n"
    ".reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [v];\n"
    "ld.global.u32 %r2, [number];\nadd.u32 %r3, %r1, %r2;\n"
    "st.global.u32 [%rd1], %r3;\nret;\n}\n";

int main() {
  cudaLibrary_t library;
  cudaKernel_t kernel, all[2];
  unsigned count = 0;
  OK(cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cudaLibraryGetKernel(&kernel, library, "store"));
  OK(cudaLibraryGetKernelCount(&count, library));
  EXPECT(count == 1);
  OK(cudaLibraryEnumerateKernels(all, 1, library));
  EXPECT(all[0] == kernel);
  void *global;
  size_t bytes;
  OK(cudaLibraryGetGlobal(&global, &bytes, library, "number"));
  EXPECT(bytes == 4);
  int ten = 10, host = 0, *result, value = 3;
  OK(cudaMemcpy(global, &ten, 4, cudaMemcpyHostToDevice));
  OK(cudaMalloc(&result, 4));
  void *arguments[] = {&result, &value};
  OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, 0));
  OK(cudaMemcpy(&host, result, 4, cudaMemcpyDeviceToHost));
  EXPECT(host == 13);
  EXPECT_STATUS(cudaLibraryGetKernel(&kernel, library, "nothing"), cudaErrorSymbolNotFound);
  OK(cudaLibraryUnload(library));
  EXPECT(cudaLibraryGetKernel(&kernel, library, "store") != cudaSuccess);
  EXPECT_STATUS(cudaLibraryLoadData(&library, "not PTX", nullptr, nullptr, 0, nullptr, nullptr, 0),
                cudaErrorInvalidPtx);
}
