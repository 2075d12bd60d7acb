// Reads of textures in all geometries and addressing modes, compared with the formulas of the section "Texture Fetching" of the CUDA programming guide.
// nvcc: -arch=sm_80
// variants: O3
#include "program.h"
#ifdef KERNELS
// Thread i reads with the coordinates c[4 i], c[4 i + 1], c[4 i + 2], in the layer i mod 3.
#define COORDINATES const float x = c[4 * threadIdx.x], y = c[4 * threadIdx.x + 1], z = c[4 * threadIdx.x + 2]; const int layer = threadIdx.x % 3
#define READ(name, call) \
  KERNEL name(cudaTextureObject_t t, const float *c, float *out) { COORDINATES; out[threadIdx.x] = call + 0 * (x + y + z + layer); }
READ(read_1d, (tex1D<float>(t, x)))
READ(read_2d, (tex2D<float>(t, x, y)))
READ(read_3d, (tex3D<float>(t, x, y, z)))
READ(read_1d_layers, (tex1DLayered<float>(t, x, layer)))
READ(read_2d_layers, (tex2DLayered<float>(t, x, y, layer)))
READ(read_cube, (texCubemap<float>(t, x, y, z)))
READ(read_cubes, (texCubemapLayered<float>(t, x, y, z, layer)))
READ(read_1d_lod, (tex1DLod<float>(t, x, c[4 * threadIdx.x + 3])))
READ(read_2d_lod, (tex2DLod<float>(t, x, y, c[4 * threadIdx.x + 3])))
READ(read_3d_lod, (tex3DLod<float>(t, x, y, z, c[4 * threadIdx.x + 3])))
// The rates of change in x are 2^c and 0, those in y are smaller.
KERNEL read_2d_grad(cudaTextureObject_t t, const float *c, float *out, float width, float height) {
  COORDINATES;
  float rate = exp2f(c[4 * threadIdx.x + 3]);
  out[threadIdx.x] = tex2DGrad<float>(t, x, y, make_float2(rate / width, 0), make_float2(0, rate / 4 / height)) + 0 * (z + layer);
}
KERNEL gather(cudaTextureObject_t t, const float *c, float4 *out) {
  COORDINATES;
  int i = threadIdx.x;
  out[4 * i] = tex2Dgather<float4>(t, x, y, 0);
  out[4 * i + 1] = tex2Dgather<float4>(t, x, y, 1);
  out[4 * i + 2] = tex2Dgather<float4>(t, x, y, 2);
  out[4 * i + 3] = tex2Dgather<float4>(t, x, y, 3);
  if (z > 1e30f) out[i].x = layer;
}
KERNEL read_colors(cudaTextureObject_t t, const float *c, float4 *out) { COORDINATES; out[threadIdx.x] = tex2D<float4>(t, x + 0 * (z + layer), y); }
KERNEL read_bytes(cudaTextureObject_t t, const float *c, uchar4 *out) { COORDINATES; out[threadIdx.x] = tex2D<uchar4>(t, x + 0 * (z + layer), y); }
KERNEL read_shorts(cudaTextureObject_t t, const float *c, short2 *out) { COORDINATES; out[threadIdx.x] = tex2D<short2>(t, x + 0 * (z + layer), y); }
#else
constexpr int THREADS = 32;
enum Mode { WRAP, MIRROR, CLAMP, BORDER };
const char *const MODES[] = {"wrap", "mirror", "clamp_to_edge", "clamp_to_border"};

// A texture with up to three dimensions.
struct Image {
  std::vector<int> size;  // x, y, z
  Mode mode;
  bool normalized, linear;
  const float *data;

  // The coordinate in texels after the formula of the mode.
  double texels(float x, int n) const {
    if (!normalized) return x;
    double f = double(x) - std::floor(double(x));
    if (mode == WRAP) return f * n;
    if (mode == MIRROR) return (int64_t(std::floor(x)) % 2 == 0 ? f : 1 - f) * n;
    return double(x) * n;
  }
  // The texel i of a dimension; -1 for the border.
  int index(int64_t i, int n) const {
    if (mode == BORDER) return i < 0 || i >= n ? -1 : int(i);
    if (mode == WRAP && normalized) return int(((i % n) + n) % n);
    return int(std::min<int64_t>(std::max<int64_t>(i, 0), n - 1));
  }
  double read(const float *x) const {
    double sum = 0;
    for (int corner = 0; corner < 1 << (linear ? size.size() : 0); ++corner) {
      double weight = 1;
      int at = 0, stride = 1;
      bool border = false;
      for (size_t d = 0; d < size.size(); ++d) {
        double u = texels(x[d], size[d]) - (linear ? 0.5 : 0), i = std::floor(u), alpha = std::round((u - i) * 256) / 256;
        int upper = corner >> d & 1;
        if (linear) weight *= upper ? alpha : 1 - alpha;
        int k = index(int64_t(i) + upper, size[d]);
        border |= k < 0;
        at += k * stride, stride *= size[d];
      }
      if (!border && weight) sum += weight * data[at];
    }
    return sum;
  }
};

// Coordinates from two sizes below a dimension to two above, between the texels and between the weights of 8 bits.
std::vector<float> coordinates(const std::vector<int> &size, bool normalized) {
  std::vector<float> c(4 * THREADS);
  for (int i = 0; i < 4 * THREADS; ++i) {
    int n = i % 4 < int(size.size()) ? size[i % 4] : 1;
    double u = (int64_t(random_bits() % (5 * 64 * n)) - 2 * 64 * n) / 64.0 + 1 / 128.0;
    c[i] = float(normalized ? u / n : u);
  }
  return c;
}
std::vector<float> numbers(int n) { return random<float>(n, -100, 100); }
std::string properties(Mode mode, bool normalized, bool linear) {
  return std::string("address=") + MODES[mode] + ":coordinates=" + (normalized ? "normalized" : "texels") + ":filter=" + (linear ? "linear" : "nearest");
}

void addressing(const char *kernel, const char *geometry, const char *shape, std::vector<int> size, int layers) {
  int each = 1;
  for (int n : size) each *= n;
  auto data = numbers(each * layers);
  auto array = texels(geometry, shape, "f32", 1, data);
  for (int mode = WRAP; mode <= BORDER; ++mode)
    for (bool linear : {false, true})
      for (bool normalized : {true, false}) {
        auto c = coordinates(size, normalized);
        std::vector<float> out(THREADS);
        for (int i = 0; i < THREADS; ++i)
          out[i] = float(Image{size, Mode(mode), normalized, linear, &data[i % 3 % layers * each]}.read(&c[4 * i]));
        auto b = buffer(c), o = zeros<float>(THREADS);
        launch(kernel, {1, THREADS}, texture(array, properties(Mode(mode), normalized, linear)), b, o);
        expect(o, out, linear ? absolute(1e-4) : exact());
      }
}

// A direction to a place of a face with the coordinates s, t from 0 to 1: the table of OpenGL, solved for the direction.
void direction(int face, double s, double t, double length, float *d) {
  double a = 2 * s - 1, b = 2 * t - 1;
  const double all[6][3] = {{1, -b, -a}, {-1, -b, a}, {a, 1, b}, {a, -1, -b}, {a, -b, 1}, {-a, -b, -1}};
  for (int i = 0; i < 3; ++i) d[i] = float(all[face][i] * length);
}
void cubes(const char *kernel, const char *geometry, const char *shape, int cubes) {
  const int n = 5;
  auto data = numbers(6 * n * n * cubes);
  auto array = texels(geometry, shape, "f32", 1, data);
  for (bool linear : {false, true}) {
    std::vector<float> c(4 * THREADS), out(THREADS);
    for (int i = 0; i < THREADS; ++i) {
      int face = int(random_bits() % 6);
      // With linear filtering, not beyond the centers of the outermost texels.
      double s[2];
      for (double &v : s) v = ((linear ? 32 + int(random_bits() % (64 * (n - 1))) : int(random_bits() % (64 * n))) / 64.0 + 1 / 128.0) / n;
      direction(face, s[0], s[1], 0.5 + double(random_bits() % 64) / 16, &c[4 * i]);
      float x[2] = {float(s[0]), float(s[1])};
      out[i] = float(Image{{n, n}, CLAMP, true, linear, &data[(i % 3 % cubes * 6 + face) * n * n]}.read(x));
    }
    auto b = buffer(c), o = zeros<float>(THREADS);
    launch(kernel, {1, THREADS}, texture(array, properties(CLAMP, true, linear)), b, o);
    expect(o, out, linear ? absolute(1e-3) : exact());
  }
}

// Levels of detail: with the filter `nearest`, the nearest level; with `linear`, two levels with weights of 8 bits.
void levels(const char *kernel, const char *geometry, std::vector<const char *> shapes, std::vector<int> size) {
  std::vector<std::vector<float>> data;
  std::vector<std::vector<int>> sizes;
  for (size_t l = 0; l < shapes.size(); ++l) {
    std::vector<int> s;
    int each = 1;
    for (int n : size) s.push_back(std::max(n >> l, 1)), each *= s.back();
    sizes.push_back(s), data.push_back(numbers(each));
  }
  auto array = texels(geometry, shapes[0], "f32", int(shapes.size()), data[0]);
  for (size_t l = 1; l < shapes.size(); ++l) set_level(array, int(l), data[l]);
  bool gradients = !strcmp(kernel, "read_2d_grad");
  for (bool between : {false, true}) {
    auto c = coordinates(sizes.back(), true);
    std::vector<float> out(THREADS);
    for (int i = 0; i < THREADS; ++i) {
      float &level = c[4 * i + 3] = (gradients ? float(random_bits() % 4) : (int(random_bits() % 40) - 4) / 8.0f + 1 / 16.0f);
      double limited = std::min(std::max(double(level), 0.0), double(shapes.size() - 1));
      auto read = [&](int l) { return Image{sizes[l], WRAP, true, false, data[l].data()}.read(&c[4 * i]); };
      int l = int(std::floor(limited));
      double weight = limited - l;
      if (!between) out[i] = float(read(int(std::floor(limited + 0.5))));
      else out[i] = float((1 - weight) * read(l) + (weight ? weight * read(l + 1) : 0));
    }
    auto b = buffer(c), o = zeros<float>(THREADS);
    auto t = texture(array, properties(WRAP, true, false) + ":level_filter=" + (between ? "linear" : "nearest"));
    if (gradients) launch(kernel, {1, THREADS}, t, b, o, float(size[0]), float(size[1]));
    else launch(kernel, {1, THREADS}, t, b, o);
    expect(o, out, between ? absolute(1e-4) : exact());
  }
}

void channels() {
  const int w = 6, h = 5;
  auto data = random_words<unsigned char>(w * h * 4);
  auto array = texels("2d", "5,6,4", "u8", 1, data);
  auto c = coordinates({w, h}, true);
  auto b = buffer(c);
  std::vector<float> plain(w * h);
  auto channel = [&](int k, bool fractions) {
    for (int i = 0; i < w * h; ++i) plain[i] = fractions ? float(data[4 * i + k] / 255.0) : data[4 * i + k];
    return Image{{w, h}, MIRROR, true, fractions, plain.data()};
  };
  std::vector<float> colors(4 * THREADS);
  std::vector<unsigned char> bytes(4 * THREADS);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < THREADS; ++i) {
      colors[4 * i + k] = float(channel(k, true).read(&c[4 * i]));
      bytes[4 * i + k] = (unsigned char)channel(k, false).read(&c[4 * i]);
    }
  auto o = zeros<float>(4 * THREADS), p = zeros<unsigned char>(4 * THREADS);
  launch("read_colors", {1, THREADS}, texture(array, properties(MIRROR, true, true) + ":read=normalized"), b, o);
  expect(o, colors, absolute(1e-6));
  launch("read_bytes", {1, THREADS}, texture(array, properties(MIRROR, true, false)), b, p);
  expect(p, bytes);
  auto shorts = random_words<short>(w * h * 2);
  std::vector<short> pairs(2 * THREADS);
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < THREADS; ++i) {
      std::vector<float> plain(w * h);
      for (int j = 0; j < w * h; ++j) plain[j] = shorts[2 * j + k];
      pairs[2 * i + k] = short(Image{{w, h}, BORDER, true, false, plain.data()}.read(&c[4 * i]));
    }
  auto q = zeros<short>(2 * THREADS);
  launch("read_shorts", {1, THREADS}, texture(texels("2d", "5,6,2", "s16", 1, shorts), properties(BORDER, true, false)), b, q);
  expect(q, pairs);
}

// The four texels that linear filtering would mix, counterclockwise from the lower left one.
void gathers() {
  const int w = 7, h = 4;
  auto data = numbers(w * h * 4);
  auto array = texels("2d", "4,7,4", "f32", 1, data);
  for (int mode = WRAP; mode <= BORDER; ++mode) {
    auto c = coordinates({w, h}, true);
    std::vector<float> out(16 * THREADS);
    for (int i = 0; i < THREADS; ++i) {
      Image image{{w, h}, Mode(mode), true, true, data.data()};
      int64_t x = int64_t(std::floor(image.texels(c[4 * i], w) - 0.5)), y = int64_t(std::floor(image.texels(c[4 * i + 1], h) - 0.5));
      const int corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
      for (int k = 0; k < 4; ++k)
        for (int corner = 0; corner < 4; ++corner) {
          int a = image.index(x + corners[corner][0], w), b = image.index(y + corners[corner][1], h);
          out[16 * i + 4 * k + corner] = a < 0 || b < 0 ? 0 : data[4 * (b * w + a) + k];
        }
    }
    auto b = buffer(c), o = zeros<float>(16 * THREADS);
    launch("gather", {1, THREADS}, texture(array, properties(Mode(mode), true, false)), b, o);
    expect(o, out);
  }
}

void program() {
  addressing("read_1d", "1d", "7", {7}, 1);
  addressing("read_2d", "2d", "4,5", {5, 4}, 1);
  addressing("read_3d", "3d", "3,4,5", {5, 4, 3}, 1);
  addressing("read_1d_layers", "a1d", "3,6", {6}, 3);
  addressing("read_2d_layers", "a2d", "3,4,5", {5, 4}, 3);
  cubes("read_cube", "cube", "6,5,5", 1);
  cubes("read_cubes", "acube", "3,6,5,5", 3);
  levels("read_1d_lod", "1d", {"11", "5", "2", "1"}, {11});
  levels("read_2d_lod", "2d", {"12,9", "6,4", "3,2", "1,1"}, {9, 12});
  levels("read_3d_lod", "3d", {"5,6,7", "2,3,3", "1,1,1"}, {7, 6, 5});
  levels("read_2d_grad", "2d", {"12,9", "6,4", "3,2", "1,1"}, {9, 12});
  channels();
  gathers();
}
#endif
