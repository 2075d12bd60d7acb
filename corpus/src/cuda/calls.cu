// Calls of every kind: by value structures, recursion, virtual functions, tables of functions, variadics, weak functions,
// switch tables, printf, assert, device memory allocation.
#include <cstdio>
#include <cstdarg>
#include <cassert>
struct Vec { double x, y, z; };
struct alignas(16) Packet { int id; char tag[5]; short len; Vec at; float4 color; };
__device__ __noinline__ Vec cross(Vec a, Vec b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
__device__ __noinline__ Packet change(Packet p, int by, bool flip, char c) {
  p.id += by; p.tag[c & 3] = c; if (flip) p.len = -p.len; p.at = cross(p.at, {1, 2, 3}); return p;
}
__global__ void packets(Packet *p) { p[0] = change(p[1], (int)threadIdx.x, threadIdx.x & 1, 'q'); }

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n == 0 ? false : is_even(n - 1); }
__global__ void recursion(unsigned *o) { o[0] = ackermann(o[1], o[2]) + is_even(o[3]); }

struct Animal { int age; __device__ Animal(int a) : age(a) {} __device__ virtual ~Animal() {} __device__ virtual int legs() const = 0; __device__ virtual float speed(float k) { return k * age; } };
struct Dog : Animal { __device__ Dog() : Animal(3) {} __device__ int legs() const override { return 4; } };
struct Bird : Animal { float w; __device__ Bird(float x) : Animal(1), w(x) {} __device__ int legs() const override { return 2; } __device__ float speed(float k) override { return k * w; } };
__global__ void zoo(int *o, float *f, int kind) {
  Animal *a = kind == 0 ? (Animal *)new Dog() : new Bird(f[0]);
  o[0] = a->legs(); f[1] = a->speed(f[2]); delete a;
}

typedef int (*Op)(int, int);
__device__ __noinline__ int add_op(int a, int b) { return a + b; }
__device__ __noinline__ int sub_op(int a, int b) { return a - b; }
__device__ __noinline__ int mul_op(int a, int b) { return a * b; }
__device__ Op ops[4] = {add_op, sub_op, mul_op, nullptr};
struct Named { const char *name; Op op; int arity; };
__constant__ const Named named[2] = {{"add", add_op, 2}, {"mul", mul_op, 2}};
__global__ void table(int *o, int k) { o[0] = ops[k](o[1], o[2]); if (named[k & 1].op) o[3] = named[k & 1].op(o[4], named[k & 1].arity) + named[k & 1].name[0]; }

__device__ __noinline__ int sum_of(int n, ...) { va_list l; va_start(l, n); int s = 0; for (int i = 0; i < n; ++i) s += va_arg(l, int); double d = va_arg(l, double); va_end(l); return s + (int)d; }
__global__ void variadic(int *o) { o[0] = sum_of(3, o[1], o[2], o[3], 2.5); }

extern "C" __device__ __attribute__((weak, noinline)) int hook(int a) { return a; }
extern "C" __global__ void uses_hook(int *o) { o[0] = hook(o[1]); }

__global__ void machine(const unsigned char *code, int *regs, int steps) {
  int a = regs[0], b = regs[1], pc = 0;
  for (int s = 0; s < steps; ++s) {
    switch (code[pc++]) {
      case 0: a += b; break;
      case 1: a -= b; break;
      case 2: a ^= b; break;
      case 3: { int t = a; a = b; b = t; break; }
      case 4: a <<= b & 31; break;
      case 5: if (a) pc = (signed char)code[pc]; else ++pc; break;
      case 6: a = regs[b & 7]; break;
      case 7: regs[b & 7] = a; break;
      case 8: a = __popc(a); break;
      case 9: b = a / (b | 1); break;
      case 12: a = add_op(a, b); break;
      case 13: s = steps; break;
      default: __trap();
    }
  }
  regs[0] = a; regs[1] = b;
}
__global__ void talk(int *o, const char *who) {
  printf("thread %u of %s: %d, %lld, %f, %c\n", threadIdx.x, who, o[0], (long long)o[1], o[2] * 0.5, 'x');
  assert(o[3] > 0 && "needs a positive number");
  int *heap = (int *)malloc(sizeof(int) * o[3]);
  if (heap) { heap[0] = 7; o[4] = heap[0]; free(heap); }
  o[5] = printf("no arguments\n");
}
