// Reads and writes of surfaces in all geometries and boundary modes, levels and formats, and reductions by instructions of PTX.
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#ifdef KERNELS
// Thread i of all accesses the coordinates c[4 i], c[4 i + 1], c[4 i + 2] and the layer or face c[4 i + 3].
#define COORDINATES \
  const int i = blockIdx.x * blockDim.x + threadIdx.x, x = 4 * c[4 * i], y = c[4 * i + 1], z = c[4 * i + 2], layer = c[4 * i + 3]
// `name_zero` and `name_clamp` read with a boundary mode; `name_store` doubles what is there, where there is something.
#define GEOMETRY(name, read, write, ...) \
  KERNEL name##_zero(cudaSurfaceObject_t s, const int *c, int *out) { COORDINATES; out[i] = read<int>(s, __VA_ARGS__, cudaBoundaryModeZero) + 0 * (y + z + layer); } \
  KERNEL name##_clamp(cudaSurfaceObject_t s, const int *c, int *out) { COORDINATES; out[i] = read<int>(s, __VA_ARGS__, cudaBoundaryModeClamp) + 0 * (y + z + layer); } \
  KERNEL name##_store(cudaSurfaceObject_t s, const int *c, int *out) { \
    COORDINATES; \
    int old = read<int>(s, __VA_ARGS__, cudaBoundaryModeZero); \
    write(2 * old + i, s, __VA_ARGS__, cudaBoundaryModeZero); \
    out[i] = old + 0 * (y + z + layer); \
  }
GEOMETRY(line, surf1Dread, surf1Dwrite, x)
GEOMETRY(image, surf2Dread, surf2Dwrite, x, y)
GEOMETRY(volume, surf3Dread, surf3Dwrite, x, y, z)
GEOMETRY(lines, surf1DLayeredread, surf1DLayeredwrite, x, layer)
GEOMETRY(images, surf2DLayeredread, surf2DLayeredwrite, x, y, layer)
GEOMETRY(cube, surfCubemapread, surfCubemapwrite, x, y, layer)
GEOMETRY(cubes, surfCubemapLayeredread, surfCubemapLayeredwrite, x, y, layer)
// The word of thread 0, beyond all edges.
KERNEL clamp_store(cudaSurfaceObject_t s, int value) { surf2Dwrite(value, s, 4000, -7, cudaBoundaryModeClamp); }
KERNEL trap_store(cudaSurfaceObject_t s, int value) { surf2Dwrite(value, s, 4000, 0, cudaBoundaryModeTrap); }
// Elements of 1, 2, 4, 8 and 16 bytes.
KERNEL copy_elements(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  int t = threadIdx.x;
  unsigned char b = surf2Dread<unsigned char>(from, t, 0);
  unsigned short h = surf2Dread<unsigned short>(from, 2 * t, 1);
  ushort2 p = surf2Dread<ushort2>(from, 4 * t, 2);
  uint2 q = surf2Dread<uint2>(from, 8 * t, 3);
  float4 v = surf2Dread<float4>(from, 16 * t, 4);
  surf2Dwrite((unsigned char)(b + 1), to, t, 0);
  surf2Dwrite((unsigned short)(h + 1), to, 2 * t, 1);
  surf2Dwrite(make_ushort2(p.y, p.x), to, 4 * t, 2);
  surf2Dwrite(make_uint2(q.y, q.x), to, 8 * t, 3);
  surf2Dwrite(make_float4(v.w, v.z, v.y, v.x), to, 16 * t, 4);
}
// Reductions of the bins v[i].x by v[i].y: rows 0 to 7 of the surface.
KERNEL reduce(cudaSurfaceObject_t s, const int2 *v) {
  int2 a = v[blockIdx.x * blockDim.x + threadIdx.x];
  int x = 4 * a.x;
  asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(0), "r"(a.y));
  asm volatile("sured.b.min.2d.s32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(1), "r"(a.y));
  asm volatile("sured.b.max.2d.s32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(2), "r"(a.y));
  asm volatile("sured.b.min.2d.u32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(3), "r"(a.y));
  asm volatile("sured.b.max.2d.u32.clamp [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(4), "r"(a.y));
  asm volatile("sured.b.and.2d.b32.clamp [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(5), "r"(a.y));
  asm volatile("sured.b.or.2d.b32.zero [%0, {%1, %2}], %3;" ::"l"(s), "r"(x), "r"(6), "r"(a.y));
  asm volatile("sured.b.add.2d.u32.zero [%0, {%1, %2}], %3;" ::"l"(s), "r"(-4), "r"(7), "r"(a.y));
  asm volatile("sured.p.add.2d.b32.trap [%0, {%1, %2}], %3;" ::"l"(s), "r"(a.x), "r"(7), "r"(a.y));
}
// A store with conversion: components that are kept in a range, numbers and halves.
KERNEL formatted(cudaSurfaceObject_t bytes, cudaSurfaceObject_t halves, const int4 *integers, const float4 *numbers) {
  int t = threadIdx.x;
  int4 i = integers[t];
  float4 f = numbers[t];
  asm volatile("sust.p.1d.v4.b32.trap [%0, {%1}], {%2, %3, %4, %5};" ::"l"(bytes), "r"(t), "r"(i.x), "r"(i.y), "r"(i.z), "r"(i.w));
  asm volatile("sust.p.1d.v4.b32.trap [%0, {%1}], {%2, %3, %4, %5};" ::"l"(halves), "r"(t), "f"(f.x), "f"(f.y), "f"(f.z), "f"(f.w));
}
#else
// A surface of words with sizes in x, y, z and layers or faces.
struct Words {
  int size[4];
  std::vector<int> data;
  int *at(const int *c, bool clamp) {
    int k = 0;
    for (int d = 3; d >= 0; --d) {
      int n = size[d], i = c[d];
      if (i < 0 || i >= n) {
        if (!clamp) return nullptr;
        i = i < 0 ? 0 : n - 1;
      }
      k = k * n + i;
    }
    return &data[k];
  }
};

void accesses(const char *name, const char *geometry, const char *shape, std::array<int, 4> size, bool layers, int dimensions) {
  Words words{{size[0], size[1], size[2], size[3]}, {}};
  int count = size[0] * size[1] * size[2] * size[3], outside = 21;
  words.data = random<int>(count, -1000000, 1000000);
  // All texels once in a random order, and places outside of the surface.
  std::vector<std::array<int, 4>> places;
  for (int k = 0; k < count; ++k)
    places.push_back({k % size[0], k / size[0] % size[1], k / size[0] / size[1] % size[2], k / size[0] / size[1] / size[2]});
  for (int k = 0; k < outside; ++k) {
    std::array<int, 4> p;
    for (int d = 0; d < 4; ++d) p[d] = d < dimensions ? int(random_bits() % (3 * size[d])) - size[d] : d < 3 ? 0 : int(random_bits() % size[3]);
    p[k % dimensions] = k & 1 ? -1 - k : size[k % dimensions] + k;
    places.push_back(p);
  }
  for (size_t k = places.size(); --k;) std::swap(places[k], places[random_bits() % (k + 1)]);
  std::vector<int> c;
  for (auto &p : places) c.insert(c.end(), p.begin(), p.end());
  unsigned threads = unsigned(places.size());
  while (threads % 3) ++threads, c.insert(c.end(), {-100, 0, 0, 0});
  auto array = texels(geometry, shape, "s32", 1, words.data);
  auto handle = surface(array);
  auto b = buffer(c);
  for (const char *mode : {"_zero", "_clamp", "_store"}) {
    std::vector<int> out(threads);
    Words old = words;
    for (unsigned i = 0; i < threads; ++i) {
      int *word = old.at(&c[4 * i], !strcmp(mode, "_clamp"));
      out[i] = word ? *word : 0;
      if (word && !strcmp(mode, "_store")) *words.at(&c[4 * i], false) = 2 * *word + int(i);
    }
    auto o = zeros<int>(threads);
    launch((std::string(name) + mode).c_str(), {3, threads / 3}, handle, b, o);
    expect(o, out);
  }
  expect(array, 0, words.data);
}

void elements() {
  auto data = random_words<unsigned char>(5 * 128), to = random_words<unsigned char>(5 * 128);
  auto from = texels("2d", "5,128", "u8", 1, data), array = texels("2d", "5,128", "u8", 1, to);
  launch("copy_elements", {1, 8}, surface(from), surface(array));
  for (int t = 0; t < 8; ++t) {
    to[t] = (unsigned char)(data[t] + 1);
    uint16_t h;
    memcpy(&h, &data[128 + 2 * t], 2), ++h, memcpy(&to[128 + 2 * t], &h, 2);
    for (int row = 2; row < 5; ++row) {
      int width = row == 4 ? 4 : 2, bytes = row == 2 ? 2 : 4;
      for (int k = 0; k < width; ++k)
        memcpy(&to[row * 128 + (t * width + k) * bytes], &data[row * 128 + (t * width + width - 1 - k) * bytes], bytes);
    }
  }
  expect(array, 0, to);
}

void reductions() {
  const int bins = 5, threads = 96;
  std::vector<int> v, rows(8 * bins);
  for (int i = 0; i < threads; ++i) v.push_back(int(random_bits() % bins)), v.push_back(int(random_bits()));
  for (int k = 0; k < bins; ++k) rows[bins + k] = INT32_MAX, rows[2 * bins + k] = INT32_MIN, rows[3 * bins + k] = rows[5 * bins + k] = -1;
  auto array = texels("2d", "8,5", "u32", 1, rows);
  for (int i = 0; i < threads; ++i) {
    int a = v[2 * i + 1], *bin = &rows[v[2 * i]];
    auto u = [](int n) { return unsigned(n); };
    bin[0] = int(u(bin[0]) + u(a)), bin[bins] = std::min(bin[bins], a), bin[2 * bins] = std::max(bin[2 * bins], a);
    bin[3 * bins] = int(std::min(u(bin[3 * bins]), u(a))), bin[4 * bins] = int(std::max(u(bin[4 * bins]), u(a)));
    bin[5 * bins] &= a, bin[6 * bins] |= a, bin[7 * bins] = int(u(bin[7 * bins]) + u(a));
  }
  launch("reduce", {3, 32}, surface(array), buffer(v));
  expect(array, 0, rows);
}

// Small integers are kept in the range of the format. The halves are exact.
void formats() {
  const int n = 16;
  auto integers = random<int>(4 * n, -300, 300);
  auto numbers = random<float>(4 * n, -8, 8);
  std::vector<signed char> bytes(4 * n);
  std::vector<uint16_t> halves(4 * n);
  for (int i = 0; i < 4 * n; ++i) {
    bytes[i] = (signed char)std::min(std::max(integers[i], -128), 127);
    float f = numbers[i];
    int exponent;
    float fraction = std::frexp(std::fabs(f), &exponent);
    halves[i] = f == 0 ? 0 : uint16_t((f < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | (int(fraction * 2048) & 1023));
  }
  auto a = texels("1d", "16,4", "s8", 1, std::vector<signed char>(4 * n)), b = texels("1d", "16,4", "f16", 1, std::vector<uint16_t>(4 * n));
  launch("formatted", {1, n}, surface(a), surface(b), buffer(integers), buffer(numbers));
  expect(a, 0, bytes);
  expect(b, 0, halves);
}

void program() {
  accesses("line", "1d", "11", {11, 1, 1, 1}, false, 1);
  accesses("image", "2d", "4,5", {5, 4, 1, 1}, false, 2);
  accesses("volume", "3d", "2,3,5", {5, 3, 2, 1}, false, 3);
  accesses("lines", "a1d", "3,6", {6, 1, 1, 3}, true, 1);
  accesses("images", "a2d", "2,3,4", {4, 3, 1, 2}, true, 2);
  accesses("cube", "cube", "6,2,2", {2, 2, 1, 6}, true, 2);
  accesses("cubes", "acube", "2,6,2,2", {2, 2, 1, 12}, true, 2);
  // A level of detail.
  auto array = texels("2d", "6,7", "s32", 2, std::vector<int>(42, 1));
  set_level(array, 1, std::vector<int>(9, 2));
  launch("clamp_store", {1, 1}, surface(array, 1), 77);
  expect(array, 0, std::vector<int>(42, 1));
  expect(array, 1, std::vector<int>{2, 2, 77, 2, 2, 2, 2, 2, 2});
  expect_error("outside of the surface");
  launch("trap_store", {1, 1}, surface(array, 1), 77);
  expect(array, 1, std::vector<int>{2, 2, 77, 2, 2, 2, 2, 2, 2});
  elements();
  reductions();
  formats();
}
#endif
