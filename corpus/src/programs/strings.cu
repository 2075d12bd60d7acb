// Texts: search, edit distance, longest common subsequence, Base64, UTF-8, numbers as text, runs.
#include "program.h"
#ifdef KERNELS
KERNEL search(const char *text, int n, const char *pattern, int m, int *matches, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + m > n) return;
  for (int j = 0; j < m; ++j)
    if (pattern[j] != '?' && pattern[j] != text[i + j]) return;
  matches[atomicAdd(count, 1)] = i;
}
// Knuth, Morris and Pratt: a thread per text.
KERNEL kmp(const char *texts, int stride, const char *pattern, int m, int *counts) {
  int next[16];
  next[0] = -1;
  for (int i = 0, j = -1; i < m;) {
    while (j >= 0 && pattern[i] != pattern[j]) j = next[j];
    next[++i] = ++j;
  }
  int found = 0;
  const char *t = texts + stride * threadIdx.x;
  for (int i = 0, j = 0; t[i]; ++i) {
    while (j >= 0 && t[i] != pattern[j]) j = next[j];
    if (++j == m) ++found, j = next[j];
  }
  counts[threadIdx.x] = found;
}
// A diagonal at a time.
KERNEL distance(const char *a, int n, const char *b, int m, int *out) {
  __shared__ short rows[3][64];
  int i = threadIdx.x;
  for (int d = 0; d <= n + m; ++d) {
    int j = d - i;
    short *now = rows[d % 3], *last = rows[(d + 2) % 3], *before = rows[(d + 1) % 3];
    if (i <= n && j >= 0 && j <= m)
      now[i] = i == 0 ? j : j == 0 ? i : min(min(last[i - 1] + 1, last[i] + 1), before[i - 1] + (a[i - 1] != b[j - 1]));
    __syncthreads();
  }
  if (i == 0) *out = rows[(n + m) % 3][n];
}
__device__ const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
KERNEL base64(const unsigned char *in, int n, char *out) {
  int i = threadIdx.x;
  if (3 * i >= n) return;
  unsigned v = in[3 * i] << 16;
  if (3 * i + 1 < n) v |= in[3 * i + 1] << 8;
  if (3 * i + 2 < n) v |= in[3 * i + 2];
  for (int k = 0; k < 4; ++k) out[4 * i + k] = 3 * i + k <= n ? digits[v >> (18 - 6 * k) & 63] : '=';
}
__device__ char *write(char *to, long long v) {
  char reversed[24];
  int n = 0;
  if (v < 0) *to++ = '-';
  unsigned long long u = v < 0 ? -(unsigned long long)v : v;
  do reversed[n++] = '0' + u % 10;
  while (u /= 10);
  while (n) *to++ = reversed[--n];
  return to;
}
KERNEL decimal(const long long *in, char *out, int stride) {
  char *end = write(out + stride * threadIdx.x, in[threadIdx.x]);
  *end = 0;
}
KERNEL decode(const unsigned char *text, int n, unsigned *out, int *count) {
  int at = 0;
  for (int i = 0; i < n;) {
    unsigned c = text[i], v;
    int more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    v = more ? c & (0x3f >> more) : c;
    for (++i; more; --more, ++i) v = v << 6 | (text[i] & 0x3f);
    out[at++] = v;
  }
  *count = at;
}
#else
Buffer text(std::string s) { s.push_back(0); return buffer(std::vector<char>(s.begin(), s.end())); }
void program() {
  std::string t = "the cat sat on the mat with that hat; cut the cot and cat";
  auto matches = zeros<int>(8), count = zeros<int>(1);
  launch("search", {2, 32}, text(t), int(t.size()), text("c?t"), 3, matches, count);
  std::vector<int> found;
  for (int i = 0; i + 3 <= t.size(); ++i)
    if (t[i] == 'c' && t[i + 2] == 't') found.push_back(i);
  expect(count, std::vector<int>{int(found.size())});
  expect(matches, found);

  std::string three("abababcabab\0\0\0aaaaaaaaaab\0\0\0xyz\0", 32);
  auto counts = zeros<int>(3);
  three.insert(28, 0, 'x');
  std::vector<char> bytes(42);
  strcpy(&bytes[0], "abababcabab"), strcpy(&bytes[14], "ababababab"), strcpy(&bytes[28], "xyz");
  launch("kmp", {1, 3}, buffer(bytes), 14, text("abab"), 4, counts);
  expect(counts, std::vector<int>{3, 4, 0});

  std::string a = "intention of the kernel", b = "execution on a machine";
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (int i = 0; i <= a.size(); ++i)
    for (int j = 0; j <= b.size(); ++j)
      d[i][j] = !i ? j : !j ? i : std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
  auto out = zeros<int>(1);
  launch("distance", {1, 64}, text(a), int(a.size()), text(b), int(b.size()), out);
  expect(out, std::vector<int>{d[a.size()][b.size()]});

  auto encoded = zeros<char>(16);
  launch("base64", {1, 8}, text("any carnal"), 10, encoded);
  std::string e = "YW55IGNhcm5hbA==";
  expect(encoded, std::vector<char>(e.begin(), e.end()));

  std::vector<long long> numbers{0, -1, 1234567890123456789, INT64_MIN, INT64_MAX, 42};
  std::vector<char> texts(6 * 24);
  for (int i = 0; i < 6; ++i) strcpy(&texts[24 * i], std::to_string(numbers[i]).c_str());
  auto written = zeros<char>(6 * 24);
  launch("decimal", {1, 6}, buffer(numbers), written, 24);
  expect(written, texts);

  auto points = zeros<unsigned>(6), n = zeros<int>(1);
  launch("decode", {1, 1}, text("a\u00e9\u20ac\U0001f600z"), 11, points, n);
  expect(points, std::vector<unsigned>{'a', 0xe9, 0x20ac, 0x1f600, 'z', 0});
  expect(n, std::vector<int>{5});
}
#endif
