// What all programs share. nvcc compiles their kernels (KERNELS is defined), a C++ compiler what the CPU computes: a function `program`
// that describes buffers, launches and the expected results. It is run once, by build.py, and writes these as text: see ../../README.md.
#pragma once
#ifdef __CUDACC__
#define KERNELS
#define KERNEL extern "C" __global__ void
#endif
#if defined(RECORDED) || !defined(__CUDACC__)
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <vector>

// A buffer in global memory; its value is converted to a pointer where the machine has one.
struct Buffer {
  uint64_t address;
  Buffer operator+(uint64_t bytes) const { return {address + bytes}; }
  // For libraries that are given pointers.
  template <class T> T *pointer() const { return (T *)address; }
};
constexpr uint64_t FIRST = 0xb0ffe00000000000, EACH = uint64_t(1) << 32;

// The handle of a texture or of a surface.
struct Handle {
  uint64_t value;
};
constexpr uint64_t HANDLES = 0xb0ffd00000000000;

struct Size {
  unsigned x, y, z;
  Size(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct Shape {
  Size grid, block;
  unsigned shared = 0;
  Size cluster = {};
};

// How far results may be from those of the CPU.
struct Allowed {
  std::string text;
};
inline Allowed exact() { return {"exact"}; }
inline std::string decimal(double number) { char text[40]; snprintf(text, sizeof text, "%g", number); return text; }
inline Allowed relative(double error) { return {"relative:" + decimal(error)}; }
inline Allowed absolute(double error) { return {"absolute:" + decimal(error)}; }
inline Allowed ulps(int n) { return {"ulps:" + std::to_string(n)}; }

inline uint64_t &state() { static uint64_t s = 1; return s; }
inline uint64_t random_bits() {
  uint64_t z = state() += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
// Numbers from low to high: integers with both ends, floats on a grid that is exact in all formats of 11 bits and more.
template <class T> std::vector<T> random(size_t n, double low, double high) {
  std::vector<T> all(n);
  for (T &v : all) {
    if (std::is_floating_point<T>::value) v = T(low + (high - low) * double(random_bits() % 1024) / 1024);
    else v = T(int64_t(low) + int64_t(random_bits() % uint64_t(int64_t(high) - int64_t(low) + 1)));
  }
  return all;
}
template <class T> std::vector<T> random_words(size_t n) {
  std::vector<T> all(n);
  for (T &v : all) { uint64_t bits = random_bits(); memcpy(&v, &bits, sizeof(T)); }
  return all;
}

inline int &buffers() { static int n = 0; return n; }
inline int &arrays() { static int n = 0; return n; }
inline int &handles() { static int n = 0; return n; }
inline std::string hex(const void *data, size_t bytes, bool pointers) {
  std::string text;
  char two[40];
  auto at = (const unsigned char *)data;
  for (size_t i = 0; i < bytes; ++i) {
    uint64_t word = 0;
    if (pointers && i % 8 == 0 && i + 8 <= bytes) memcpy(&word, at + i, 8);
    if (word >= FIRST && word < FIRST + EACH * buffers()) {
      uint64_t offset = word - FIRST;
      snprintf(two, sizeof two, "@%llu+%llu;", (unsigned long long)(offset / EACH), (unsigned long long)(offset % EACH));
      i += 7;
    } else if (word >= HANDLES && word < HANDLES + handles()) {
      snprintf(two, sizeof two, "#%llu;", (unsigned long long)(word - HANDLES));
      i += 7;
    } else snprintf(two, sizeof two, "%02x", at[i]);
    text += two;
  }
  return text;
}
inline size_t without_zeros(const void *data, size_t bytes) {
  while (bytes && !((const char *)data)[bytes - 1]) --bytes;
  return bytes;
}
// A buffer with this content, whose pointers to buffers are kept.
template <class T> Buffer buffer(const std::vector<T> &data) {
  size_t bytes = data.size() * sizeof(T);
  printf("buffer %zu %s\n", bytes, hex(data.data(), without_zeros(data.data(), bytes), true).c_str());
  return {FIRST + EACH * buffers()++};
}
template <class T> Buffer zeros(size_t n) { return buffer(std::vector<T>(n)); }
// An array of texels: its geometry is the modifier of the instructions that access it, and the sizes are those of an array of NumPy.
struct Texels {
  int number;
};
template <class T> Texels texels(const char *geometry, const char *shape, const char *format, int levels, const std::vector<T> &data) {
  printf("array %s %s %s %d %s\n", geometry, shape, format, levels, hex(data.data(), data.size() * sizeof(T), false).c_str());
  return {arrays()++};
}
// The texels of a further level of detail.
template <class T> void set_level(Texels t, int level, const std::vector<T> &data) {
  printf("level %d %d %s\n", t.number, level, hex(data.data(), data.size() * sizeof(T), false).c_str());
}
// A texture with properties such as `filter=linear:address=wrap`.
inline Handle texture(Texels t, const std::string &properties) {
  printf("texture %d %s\n", t.number, properties.c_str());
  return {HANDLES + handles()++};
}
inline Handle surface(Texels t, int level = 0) {
  printf("surface %d %d\n", t.number, level);
  return {HANDLES + handles()++};
}
// Writes a variable of the module before what follows.
template <class T> void set_variable(const char *name, const std::vector<T> &data) {
  printf("variable %s %s\n", name, hex(data.data(), data.size() * sizeof(T), true).c_str());
}
template <class... T> void launch(const char *kernel, Shape s, const T &...arguments) {
  printf("launch %s %u,%u,%u %u,%u,%u %u %u,%u,%u", kernel, s.grid.x, s.grid.y, s.grid.z, s.block.x, s.block.y, s.block.z, s.shared,
         s.cluster.x, s.cluster.y, s.cluster.z);
  (printf(" %s", hex(&arguments, sizeof(T), true).c_str()), ...);
  printf("\n");
}
template <class T> const char *type_name() {
  if (std::is_same<T, float>::value) return "f32";
  if (std::is_same<T, double>::value) return "f64";
  if (!std::is_integral<T>::value && sizeof(T) == 2) return "f16";
  return "bytes";
}
// What a buffer has after the launches.
template <class T> void expect(Buffer b, const std::vector<T> &data, Allowed allowed = exact()) {
  uint64_t at = b.address - FIRST;
  printf("expect @%llu+%llu %s %s %s\n", (unsigned long long)(at / EACH), (unsigned long long)(at % EACH), type_name<T>(),
         allowed.text.c_str(), hex(data.data(), data.size() * sizeof(T), true).c_str());
}
template <class T> void expect_variable(const char *name, const std::vector<T> &data, Allowed allowed = exact()) {
  printf("expect %s %s %s %s\n", name, type_name<T>(), allowed.text.c_str(), hex(data.data(), data.size() * sizeof(T), true).c_str());
}
// The texels of a level after the launches.
template <class T> void expect(Texels t, int level, const std::vector<T> &data, Allowed allowed = exact()) {
  printf("expect #%d+%d %s %s %s\n", t.number, level, type_name<T>(), allowed.text.c_str(), hex(data.data(), data.size() * sizeof(T), false).c_str());
}
// What the last launch printed; the lines may be in another order.
inline void expect_output(const std::string &text) { printf("output %s\n", hex(text.data(), text.size(), false).c_str()); }
// The next launch ends with an error with these words.
inline void expect_error(const char *words) { printf("error %s\n", words); }
// A file of ../../compiled to run, for kernels of other sources.
inline void module_file(const char *path) { printf("module %s\n", path); }

// A buffer for a library.
inline Buffer scratch(size_t bytes) {
  printf("buffer %zu \n", bytes);
  return {FIRST + EACH * buffers()++};
}
// What the host reads from the device next: a recorded program says it before, since nothing is run.
inline std::vector<std::string> &answers() { static std::vector<std::string> all; return all; }
template <class T> void will_read(const T &value) { answers().insert(answers().begin(), std::string((const char *)&value, sizeof(T))); }

#ifndef RECORDER
void program();
int main() { program(); }
#endif
#endif
