// Directions of copies, and addresses that do not fit them.
#include "check.h"

int main() {
  int host[4] = {1, 2, 3, 4}, other[4] = {}, *device, *second;
  OK(cudaMalloc(&device, 16));
  OK(cudaMalloc(&second, 16));
  OK(cudaMemcpy(other, host, 16, cudaMemcpyHostToHost));
  EXPECT(other[3] == 4);
  OK(cudaMemcpy(device, host, 16, cudaMemcpyDefault));
  OK(cudaMemcpy(second, device, 16, cudaMemcpyDefault));
  host[0] = 50;
  OK(cudaMemcpy(host, second, 4, cudaMemcpyDefault));
  EXPECT(host[0] == 1);
  EXPECT_STATUS(cudaMemcpy(host, other, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemcpy(host, other, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemcpy(device, host, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemcpy(device, host, 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemcpy(device + 2, second, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_STATUS(cudaMemcpy(device, host, 16, (cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection);
  OK(cudaMemcpy(device, host, 0, cudaMemcpyHostToDevice));
  OK(cudaMemcpyPeer(second, 0, device, 0, 16));
  EXPECT_STATUS(cudaMemcpyPeer(second, 1, device, 0, 16), cudaErrorInvalidDevice);
}
