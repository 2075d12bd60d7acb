// Relocatable code: external variables and functions, weak symbols, launches from the device.
extern "C" __device__ int provided_elsewhere(int, const char *); extern __device__ float table_elsewhere[]; extern __constant__ int limit; extern __shared__ double scratch[];
__device__ __attribute__((weak)) int maybe = 3; __device__ int exported[4] = {1, 2, 3, 4}; static __device__ int internal_only = 5;
inline __device__ int shared_inline(int a) { static __device__ int n; return a + n++; }
__device__ int (*chosen)(int, const char *) = provided_elsewhere;
__device__ __noinline__ int helper(int a) { return a * limit + exported[a & 3] + internal_only + maybe; }
__global__ void child(int *o, int depth);
__global__ void parent(int *o, int depth) { if (threadIdx.x == 0 && depth > 0) child<<<2, 64, 128>>>(o, depth - 1); }
__global__ void child(int *o, int depth) { scratch[threadIdx.x] = table_elsewhere[depth]; __syncthreads(); o[threadIdx.x] = helper(o[threadIdx.x]) + shared_inline(depth) + provided_elsewhere(depth, "text") + chosen(3, nullptr) + (int)scratch[63 - threadIdx.x]; parent<<<1, 1>>>(o, depth); }
