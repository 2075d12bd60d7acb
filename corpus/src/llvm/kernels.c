/* Freestanding C for clang --target=nvptx64: no CUDA headers. */
#define KERNEL __attribute__((nvptx_kernel))
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define CONSTANT __attribute__((address_space(4)))
typedef float f4 __attribute__((ext_vector_type(4)));
typedef unsigned long long u64;
CONSTANT const double roots[4] = {1.0, 1.4142135623730951, 1.7320508075688772, 2.0};
GLOBAL int total = 12; GLOBAL short many[9]; GLOBAL const char hello[] = "hello, \"ptx\"\n";
SHARED int scratch[256];
static unsigned me(void) { return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x(); }
KERNEL void scale(GLOBAL float *x, float k, int n) { unsigned i = me(); if (i < n) x[i] *= k; }
KERNEL void reverse(GLOBAL int *x) { unsigned t = __nvvm_read_ptx_sreg_tid_x(); scratch[t] = x[t]; __syncthreads(); x[t] = scratch[255 - t]; }
struct point { int x; double y; char tag[5]; short z; };
__attribute__((noinline)) struct point move(struct point p, int by) { p.x += by; p.y *= by; p.tag[1] = by; p.z -= 1; return p; }
KERNEL void points(GLOBAL struct point *o, struct point in) { struct point r = move(in, 3); o->x = r.x; o->y = r.y; o->tag[1] = r.tag[1]; o->z = r.z; }
__attribute__((noinline)) double series(double x, int n) { return n < 2 ? x : series(x * 0.5, n - 1) + series(x, n - 2) * roots[n & 3]; }
KERNEL void sums(GLOBAL double *o, int n) { o[0] = series(o[1], n); total += n; o[2] = hello[n] + many[n]; }
typedef int (*fn)(int); __attribute__((noinline)) int inc(int a) { return a + 1; } __attribute__((noinline)) int triple(int a) { return a * 3; }
GLOBAL fn const both[2] = {inc, triple};
KERNEL void pick(GLOBAL int *o, int k) { o[0] = both[k & 1](o[1]); }
KERNEL void interpret(GLOBAL int *o, int k) {
  int r;
  switch (k) { case 0: r = o[1]; break; case 1: r = o[2] * 7; break; case 2: r = o[3] / 9; break; case 3: r = o[4] ^ o[5]; break; case 4: r = o[6] << 3; break; case 5: r = o[k] - 2; break; case 6: r = __nvvm_read_ptx_sreg_laneid(); break; default: r = -1; }
  o[0] = r;
}
KERNEL void wide(GLOBAL unsigned __int128 *o, GLOBAL u64 *q) { o[0] = o[1] * o[2] + (o[3] >> 5); q[0] = q[1] / q[2] + q[3] % 11 + __builtin_popcountll(q[4]) + __builtin_ctzll(q[5]); }
KERNEL void swizzle(GLOBAL f4 *o) { unsigned i = me(); o[i] = o[i].wxyz * o[i].xxyy + (f4)(0.5f); }
KERNEL void reals(GLOBAL float *f, GLOBAL double *d) { f[0] = __builtin_sqrtf(f[1]) + __builtin_fmaf(f[2], f[3], f[4]) + __builtin_fabsf(f[5]) + __builtin_floorf(f[6]) + (int)d[1]; d[0] = __builtin_sqrt(d[1]) / d[2] + (float)d[3]; f[7] = (unsigned char)f[8] + (short)(int)f[9]; }
KERNEL void bins(GLOBAL int *a, GLOBAL u64 *q) { __atomic_fetch_add(a, 1, __ATOMIC_RELAXED); __atomic_exchange_n(a + 1, 2, __ATOMIC_RELAXED); __atomic_fetch_max(q, 9, __ATOMIC_RELAXED); int e = 3; __atomic_compare_exchange_n(a + 2, &e, 4, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); a[3] = e; __nvvm_membar_gl(); }
KERNEL void private_array(GLOBAL int *o, int n) { int a[24]; for (int i = 0; i < 24; ++i) a[i] = o[i] + n; o[0] = a[n % 24] - a[(n >> 3) % 24]; }
KERNEL void inlined(GLOBAL int *o) { int r; __asm__ volatile("{\n\t.reg .pred p;\n\tsetp.gt.s32 p, %1, 0; // positive\n\t@p bra done;\n\tmov.b32 %0, -1;\ndone:\n\t}" : "=r"(r) : "r"(o[0])); o[1] = r; }
extern int elsewhere(int, float); KERNEL void imports(GLOBAL int *o) { o[0] = elsewhere(o[1], 2.0f); if (!o[0]) __builtin_trap(); }
