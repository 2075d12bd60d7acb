// Module-scope data: constants, initialised tables, pointers, strings, structures, managed memory, packed bytes.
#include <cstdint>
struct Leaf { char c; short s; int i; double d; const char *name; };
struct Tree { Leaf leaf[2]; const Tree *next; float m[2][3]; };
__device__ int counter = -5, uninit; __device__ unsigned char blob[7] = {1, 2, 250, 0, 9}; __device__ short shorts[3] = {-1, 32767, -32768};
__device__ float floats[4] = {1.f, -0.f, 3.4e38f, 1e-45f}; __device__ double doubles[2] = {0.1, -1e300}; __device__ long long big = 0x7fffffffffffffffll;
__device__ bool flag = true; __device__ const char text[] = "tab\t quote\" slash\\ end\n"; __device__ const char *const lines[3] = {"one", "two", text + 4};
__device__ int *into[3] = {&counter, (int *)&big + 1, nullptr}; __device__ int **chain = &into[1];
__device__ const Tree twig = {{{'x', -1, -2, -3.5, nullptr}}, nullptr, {{9}}}; __device__ const Tree root = {{{'a', 1, 2, 3.5, "left"}, {'b', 4, 5, 6.5, text}}, &twig, {{1, 2, 3}, {4, 5, 6}}};
__device__ struct __attribute__((packed)) { char c; int *p; short s; } packed_one = {'z', &counter, 77};
__constant__ float4 lut[3] = {{1, 2, 3, 4}, {5, 6, 7, 8}}; __constant__ int cpad; __managed__ double shared_by_host = 2.5; __managed__ int marr[10];
union U { float f; unsigned u; }; __device__ U un = {.f = 1.0f}; __device__ int matrix[2][2][3] = {{{1, 2, 3}, {4}}, {{7, 8}}};
__shared__ int not_initialised[33];
template <int N> __device__ int per_template[N] = {N, N + 1};
namespace outer { namespace { __device__ int hidden = 9; } __device__ int seen = 8; }
__global__ void touch(double *o, int k) {
  __shared__ double tile[64]; static __device__ int calls = 0; static __shared__ int ss;
  tile[threadIdx.x] = floats[k & 3] + doubles[k & 1] + lut[k].z + shared_by_host + marr[k]; ss = calls++; __syncthreads();
  const Tree *t = &root;
  while (k-- > 0) t = t->next;
  o[0] = t->leaf[1].d + t->m[1][k & 1] + lines[k % 3][0] + *into[0] + blob[k % 7] + shorts[k % 3] + big + flag + un.u + matrix[1][k & 1][2] + packed_one.s + *packed_one.p + (double)**chain;
  o[1] = tile[63 - threadIdx.x] + per_template<3>[1] + per_template<5>[k & 1] + outer::hidden++ + outer::seen + uninit + cpad + text[k] + ss; not_initialised[threadIdx.x] = k;
}
