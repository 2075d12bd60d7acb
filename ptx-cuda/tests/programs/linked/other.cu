// The second file of the program `linked`.
__device__ int scale = 3;
extern __device__ int offset;
__device__ int apply(int value) { return value * scale + offset; }
__global__ static void negate(int *p) { p[threadIdx.x] *= -1; }
void launch_other(int *p) { negate<<<1, 4>>>(p); }
