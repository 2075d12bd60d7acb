// What the programs of this folder share: checks that end the program with status 1.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition);     \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

#define EXPECT_STATUS(call, expected)                                          \
  do {                                                                         \
    cudaError_t status_ = (call);                                                \
    if (status_ != (expected)) {                                                 \
      std::printf("%s:%d: %s: expected %d, found %d (%s)\n", __FILE__,         \
                  __LINE__, #call, (int)(expected), (int)status_,                \
                  cudaGetErrorName(status_));                                    \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

#define OK(call) EXPECT_STATUS(call, cudaSuccess)
