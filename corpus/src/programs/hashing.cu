// Hashes: SHA-256, MurmurHash3, FNV-1a in 64 bits, CRC-32 with a table in constant memory, SipHash, and a table with open addresses.
#include "program.h"
#ifdef KERNELS
#include <cstdint>
__constant__ uint32_t rounds[64];
__device__ __forceinline__ uint32_t ror(uint32_t x, int n) { return __funnelshift_r(x, x, n); }
// One block of a message: each thread has its own message of 55 bytes at most.
KERNEL sha256(const uint8_t *text, int stride, const int *lengths, uint32_t *out) {
  uint32_t w[64], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  int n = lengths[threadIdx.x];
  for (int i = 0; i < 16; ++i) {
    w[i] = 0;
    for (int j = 0; j < 4; ++j) {
      int at = 4 * i + j;
      uint32_t byte = at < n ? text[threadIdx.x * stride + at] : at == n ? 0x80 : 0;
      w[i] = w[i] << 8 | byte;
    }
  }
  w[15] = n * 8;
  for (int i = 16; i < 64; ++i)
    w[i] = w[i - 16] + w[i - 7] + (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3) + (ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10);
  uint32_t v[8];
  for (int i = 0; i < 8; ++i) v[i] = h[i];
#pragma unroll 8
  for (int i = 0; i < 64; ++i) {
    uint32_t a = v[0], e = v[4];
    uint32_t t = v[7] + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + (e & v[5] ^ ~e & v[6]) + rounds[i] + w[i];
    uint32_t u = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + (a & v[1] ^ a & v[2] ^ v[1] & v[2]);
    for (int k = 7; k; --k) v[k] = v[k - 1];
    v[4] += t;
    v[0] = t + u;
  }
  for (int i = 0; i < 8; ++i) out[8 * threadIdx.x + i] = h[i] + v[i];
}
KERNEL murmur(const uint32_t *words, int n, uint32_t *out) {
  uint32_t h = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    uint32_t k = words[i] * 0xcc9e2d51u;
    k = (k << 15 | k >> 17) * 0x1b873593u;
    h ^= k;
    h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
  }
  h ^= n * 4;
  h = (h ^ h >> 16) * 0x85ebca6bu;
  h = (h ^ h >> 13) * 0xc2b2ae35u;
  out[threadIdx.x] = h ^ h >> 16;
}
KERNEL fnv(const char *text, const int *starts, uint64_t *out) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (int i = starts[threadIdx.x]; i < starts[threadIdx.x + 1]; ++i) h = (h ^ (uint8_t)text[i]) * 0x100000001b3ull;
  out[threadIdx.x] = h;
}
__constant__ uint32_t table[256];
KERNEL crc32(const uint8_t *text, int n, uint32_t *out) {
  uint32_t crc = ~0u;
  for (int i = 0; i <= threadIdx.x && i < n; ++i) crc = table[(crc ^ text[i]) & 255] ^ crc >> 8;
  out[threadIdx.x] = ~crc;
}
KERNEL insert(unsigned *slots, int mask, const unsigned *keys, int n, unsigned *failed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned key = keys[i], at = key * 2654435769u >> 20;
  for (int probe = 0; probe <= mask; ++probe, ++at) {
    unsigned old = atomicCAS(&slots[at & mask], 0u, key);
    if (old == 0 || old == key) return;
  }
  atomicAdd(failed, 1);
}
KERNEL lookup(const unsigned *slots, int mask, const unsigned *keys, int n, unsigned char *found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned at = keys[i] * 2654435769u >> 20;
  while (slots[at & mask] && slots[at & mask] != keys[i]) ++at;
  found[i] = slots[at & mask] == keys[i];
}
#else
const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
void program() {
  // The digests of "" and "abc" are published examples.
  set_variable("rounds", std::vector<uint32_t>(K, K + 64));
  std::vector<uint8_t> text = {'a', 'b', 'c'};
  text.resize(128);
  auto out = zeros<uint32_t>(16);
  launch("sha256", {1, 2}, buffer(text), 64, buffer(std::vector<int>{3, 0}), out);
  expect(out, std::vector<uint32_t>{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad,
                                    0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924, 0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855});

  auto words = random_words<uint32_t>(20);
  std::vector<uint32_t> hashes;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    uint32_t h = seed;
    for (uint32_t k : words) {
      k *= 0xcc9e2d51;
      k = ((k << 15) | (k >> 17)) * 0x1b873593;
      h ^= k;
      h = ((h << 13) | (h >> 19)) * 5 + 0xe6546b64;
    }
    h ^= 80;
    h ^= h >> 16, h *= 0x85ebca6b, h ^= h >> 13, h *= 0xc2b2ae35, h ^= h >> 16;
    hashes.push_back(h);
  }
  auto murmur = zeros<uint32_t>(8);
  launch("murmur", {1, 8}, buffer(words), 20, murmur);
  expect(murmur, hashes);

  std::string names = "foobarbazquux";
  auto fnv = zeros<uint64_t>(3);
  launch("fnv", {1, 3}, buffer(std::vector<char>(names.begin(), names.end())), buffer(std::vector<int>{0, 0, 6, 13}), fnv);
  std::vector<uint64_t> sums{0xcbf29ce484222325, 0x85944171f73967e8, 0xcbf29ce484222325};
  for (char c : names.substr(6)) sums[2] = (sums[2] ^ uint8_t(c)) * 0x100000001b3;
  expect(fnv, sums);

  std::vector<uint32_t> table(256), crcs;
  for (uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int k = 0; k < 8; ++k) table[i] = table[i] & 1 ? 0xedb88320 ^ table[i] >> 1 : table[i] >> 1;
  }
  set_variable("table", table);
  std::string digits = "123456789";
  for (int n = 1; n <= 9; ++n) {
    uint32_t crc = ~0u;
    for (int i = 0; i < n; ++i) {
      crc ^= uint8_t(digits[i]);
      for (int k = 0; k < 8; ++k) crc = crc & 1 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
    }
    crcs.push_back(~crc);
  }
  auto crc = zeros<uint32_t>(9);
  launch("crc32", {1, 9}, buffer(std::vector<char>(digits.begin(), digits.end())), 9, crc);
  expect(crc, crcs);

  auto keys = random<unsigned>(200, 1, 300), wanted = random<unsigned>(200, 1, 300);
  auto slots = zeros<unsigned>(512), failed = zeros<unsigned>(1), found = zeros<uint8_t>(200);
  launch("insert", {7, 32}, slots, 511, buffer(keys), 200, failed);
  expect(failed, std::vector<unsigned>{0});
  launch("lookup", {7, 32}, slots, 511, buffer(wanted), 200, found);
  std::set<unsigned> all(keys.begin(), keys.end());
  std::vector<uint8_t> member;
  for (auto k : wanted) member.push_back(all.count(k));
  expect(found, member);
}
#endif
