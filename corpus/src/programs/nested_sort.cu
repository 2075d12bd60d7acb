// Launches from kernels: quicksort, merge sort and a search that launch themselves.
// nvcc: -rdc=true -arch=sm_90
#include "program.h"
#ifdef KERNELS
__device__ void sort_few(int *data, int left, int right) {
  for (int i = left + 1; i <= right; ++i) {
    int value = data[i], j = i - 1;
    for (; j >= left && data[j] > value; --j) data[j + 1] = data[j];
    data[j + 1] = value;
  }
}
KERNEL quicksort(int *data, int left, int right, int depth) {
  if (right - left < 12 || depth >= 20) return sort_few(data, left, right);
  int pivot = data[(left + right) / 2], i = left, j = right;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) { int t = data[i]; data[i++] = data[j]; data[j--] = t; }
  }
  cudaStream_t one, two;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  if (left < j) quicksort<<<1, 1, 0, one>>>(data, left, j, depth + 1);
  if (i < right) quicksort<<<1, 1, 0, two>>>(data, i, right, depth + 1);
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
}
// Merges two sorted halves: each thread finds the place of an element.
KERNEL merge_halves(const unsigned *from, unsigned *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, half = n / 2;
  if (i >= n) return;
  bool first = i < half;
  unsigned value = from[i];
  int low = first ? half : 0, high = first ? n : half, start = low;
  while (low < high) {
    int middle = (low + high) / 2;
    bool before = first ? from[middle] < value : from[middle] <= value;
    if (before) low = middle + 1; else high = middle;
  }
  to[(first ? i : i - half) + low - start] = value;
}
// The halves are sorted by children, then merged in the tail stream: it begins after all of them.
KERNEL merge_sort(unsigned *data, unsigned *other, int n) {
  if (n <= 8) {
    for (int i = 1; i < n; ++i)
      for (int j = i; j > 0 && data[j - 1] > data[j]; --j) { unsigned t = data[j]; data[j] = data[j - 1]; data[j - 1] = t; }
    return;
  }
  merge_sort<<<1, 1, 0, cudaStreamFireAndForget>>>(data, other, n / 2);
  merge_sort<<<1, 1, 0, cudaStreamFireAndForget>>>(data + n / 2, other + n / 2, n - n / 2);
  merge_halves<<<(n + 31) / 32, 32, 0, cudaStreamTailLaunch>>>(data, other, n);
  cudaMemcpyAsync(data, other, n * sizeof(unsigned), cudaMemcpyDeviceToDevice, cudaStreamTailLaunch);
}
// Queens on a board: each thread tries a column of the next row.
KERNEL queens(int n, int row, unsigned columns, unsigned left, unsigned right, unsigned *count) {
  unsigned bit = 1u << threadIdx.x;
  if ((columns | left | right) & bit) return;
  if (row + 1 == n) atomicAdd(count, 1);
  else queens<<<1, n, 0, cudaStreamFireAndForget>>>(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1, count);
}
#else
int place_queens(int n, int row, unsigned columns, unsigned left, unsigned right) {
  int count = row == n;
  for (int c = 0; row < n && c < n; ++c)
    if (unsigned bit = 1u << c; !((columns | left | right) & bit)) count += place_queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  return count;
}
void program() {
  for (int n : {5, 100, 777}) {
    auto data = random<int>(n, -1000, 1000);
    auto b = buffer(data);
    launch("quicksort", {1, 1}, b, 0, n - 1, 0);
    std::sort(data.begin(), data.end());
    expect(b, data);
  }
  for (int n : {8, 61, 500}) {
    auto data = random_words<unsigned>(n);
    auto b = buffer(data), other = scratch(4 * n);
    launch("merge_sort", {1, 1}, b, other, n);
    std::sort(data.begin(), data.end());
    expect(b, data);
  }
  for (int n : {4, 6, 7}) {
    auto count = zeros<unsigned>(1);
    launch("queens", {1, unsigned(n)}, n, 0, 0u, 0u, 0u, count);
    expect(count, std::vector<unsigned>{unsigned(place_queens(n, 0, 0, 0, 0))});
  }
}
#endif
