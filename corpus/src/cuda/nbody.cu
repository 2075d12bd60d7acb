// A small n-body step and a Mandelbrot image, used with debug information and without optimisation.
struct Body { float3 pos; float mass; float3 vel; int id; };
__device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 operator*(float3 a, float k) { return make_float3(a.x * k, a.y * k, a.z * k); }
__device__ float3 attract(const Body &a, const Body &b, float soft) {
  float3 d = b.pos + a.pos * -1.0f;
  float r2 = d.x * d.x + d.y * d.y + d.z * d.z + soft;
  float inv = rsqrtf(r2);
  return d * (b.mass * inv * inv * inv);
}
__global__ void step(Body *bodies, int n, float dt) {
  __shared__ Body cache[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float3 force = make_float3(0, 0, 0);
  Body self = bodies[i < n ? i : 0];
  for (int base = 0; base < n; base += 64) {
    if (threadIdx.x < 64 && base + threadIdx.x < n) cache[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 64 && base + j < n; ++j)
      if (cache[j].id != self.id) force = force + attract(self, cache[j], 1e-6f);
    __syncthreads();
  }
  if (i < n) { self.vel = self.vel + force * dt; self.pos = self.pos + self.vel * dt; bodies[i] = self; }
}
enum class Colour : unsigned char { Inside, Near, Far };
__device__ Colour classify(int steps) { switch (steps) { case 256: return Colour::Inside; case 0: case 1: case 2: return Colour::Far; default: return Colour::Near; } }
__global__ void mandelbrot(unsigned char *image, int width, int height, double cx, double cy, double scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  double re = cx + (x - width / 2) * scale, im = cy + (y - height / 2) * scale, a = 0, b = 0;
  int steps = 0;
  while (steps < 256 && a * a + b * b < 4.0) { double t = a * a - b * b + re; b = 2 * a * b + im; a = t; ++steps; }
  image[y * width + x] = static_cast<unsigned char>(classify(steps)) * 64 + (steps & 63);
}
