// Memory of a pool of another process.
#include "check.h"
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

struct Message {
  int descriptor;
  cudaMemPoolPtrExportData pointer;
};

__global__ void add(int *values) { values[threadIdx.x] += 10; }

// Uses the memory that the parent process allocated.
static void child(int from_parent) {
  Message message;
  EXPECT(read(from_parent, &message, sizeof message) == sizeof message);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", int(getppid()), message.descriptor);
  intptr_t descriptor = open(path, O_RDWR);
  EXPECT(descriptor >= 0);
  cudaMemPool_t pool;
  void *none;
  OK(cudaMemPoolImportFromShareableHandle(&pool, (void *)descriptor, cudaMemHandleTypePosixFileDescriptor, 0));
  close(int(descriptor));
  EXPECT(cudaMallocFromPoolAsync(&none, 4, pool, 0) == cudaErrorInvalidValue);
  int *values;
  OK(cudaMemPoolImportPointer((void **)&values, pool, &message.pointer));
  add<<<1, 4>>>(values);
  OK(cudaStreamSynchronize(0));
  OK(cudaFreeAsync(values, 0));
  OK(cudaMemPoolDestroy(pool));
}

int main() {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  pid_t process = fork();
  if (process == 0) {
    child(ends[0]);
    return 0;
  }
  cudaMemPool_t pool, plain, imported;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  OK(cudaMemPoolCreate(&plain, &properties));
  properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  OK(cudaMemPoolCreate(&pool, &properties));
  int values[4] = {1, 2, 3, 4}, *device;
  OK(cudaMallocFromPoolAsync((void **)&device, sizeof values, pool, 0));
  OK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));

  Message message;
  auto kind = cudaMemHandleTypePosixFileDescriptor;
  EXPECT(cudaMemPoolExportToShareableHandle(&message.descriptor, plain, kind, 0) == cudaErrorInvalidValue);
  EXPECT(cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)ends[0], kind, 0) == cudaErrorInvalidValue);
  OK(cudaMemPoolExportToShareableHandle(&message.descriptor, pool, kind, 0));
  OK(cudaMemPoolExportPointer(&message.pointer, device));
  void *again;
  EXPECT(cudaMemPoolImportPointer(&again, pool, &message.pointer) == cudaErrorInvalidValue);
  EXPECT(write(ends[1], &message, sizeof message) == sizeof message);

  int status = 1;
  EXPECT(waitpid(process, &status, 0) == process && status == 0);
  OK(cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost));
  EXPECT(values[0] == 11 && values[3] == 14);
  OK(cudaFreeAsync(device, 0));
  close(message.descriptor);
}
