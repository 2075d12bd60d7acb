// Functions that call themselves and each other: Ackermann, Hanoi, queens, permutations, a tree, determinants.
#include "program.h"
#ifdef KERNELS
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ void hanoi(int n, int from, int to, int via, int *moves, int *count) {
  if (n == 0) return;
  hanoi(n - 1, from, via, to, moves, count);
  moves[(*count)++] = from * 10 + to;
  hanoi(n - 1, via, to, from, moves, count);
}
__device__ int queens(int n, unsigned columns, unsigned left, unsigned right) {
  unsigned all = (1u << n) - 1;
  if (columns == all) return 1;
  int sum = 0;
  for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
    unsigned bit = free & -free;
    sum += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return sum;
}
struct Node {
  int key, left, right;
};
__device__ __noinline__ void depth(const Node *tree, int at, int level, int *out) {
  if (at < 0) return;
  out[tree[at].key] = level;
  depth(tree, tree[at].left, level + 1, out);
  depth(tree, tree[at].right, level + 1, out);
}
__device__ long long determinant(const int *m, int n, unsigned used, int row) {
  if (row == n) return 1;
  long long sum = 0;
  int sign = 1;
  for (int j = 0; j < n; ++j)
    if (!(used >> j & 1)) {
      sum += sign * m[row * n + j] * determinant(m, n, used | 1u << j, row + 1);
      sign = -sign;
    }
  return sum;
}
__device__ __noinline__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 || is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n != 0 && is_even(n - 1); }
KERNEL numbers(unsigned *out) {
  unsigned t = threadIdx.x;
  out[t] = ackermann(t % 3, t / 3) + 1000 * is_even(t);
}
KERNEL towers(int n, int *moves, int *count) { hanoi(n, 1, 3, 2, moves, count); }
KERNEL place_queens(int *out) { out[threadIdx.x] = queens(threadIdx.x + 1, 0, 0, 0); }
KERNEL depths(const Node *tree, int *out) { depth(tree, 0, 1, out); }
KERNEL determinants(const int *m, int n, long long *out) { out[threadIdx.x] = determinant(m + n * n * threadIdx.x, n, 0, 0); }
#else
unsigned ackermann(unsigned m, unsigned n) { return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3; }
struct Node { int key, left, right; };
void program() {
  std::vector<unsigned> expected;
  for (unsigned t = 0; t < 18; ++t) expected.push_back(ackermann(t % 3, t / 3) + 1000 * (t % 2 == 0));
  auto out = zeros<unsigned>(18);
  launch("numbers", {1, 18}, out);
  expect(out, expected);

  // Each move takes the disc that the number of trailing zeros says; the smallest goes round.
  std::vector<int> moves;
  std::vector<std::vector<int>> pegs(4);
  for (int d = 5; d; --d) pegs[1].push_back(d);
  std::function<void(int, int, int, int)> hanoi = [&](int n, int from, int to, int via) {
    if (n > 1) hanoi(n - 1, from, via, to);
    moves.push_back(from * 10 + to);
    if (n > 1) hanoi(n - 1, via, to, from);
  };
  hanoi(5, 1, 3, 2);
  auto m = zeros<int>(31), count = zeros<int>(1);
  launch("towers", {1, 1}, 5, m, count);
  expect(m, moves);
  expect(count, std::vector<int>{31});

  auto q = zeros<int>(6);
  launch("place_queens", {1, 6}, q);
  expect(q, std::vector<int>{1, 0, 0, 2, 10, 4});

  std::vector<Node> tree{{0, -1, -1}};
  std::vector<int> depth(20);
  depth[0] = 1;
  for (int i = 1; i < 20; ++i) {
    int at = 0, level = 1;
    for (;;) {
      int &next = random_bits() & 1 ? tree[at].left : tree[at].right;
      ++level;
      if (next < 0) { next = i; break; }
      at = next;
    }
    tree.push_back({i, -1, -1});
    depth[i] = level;
  }
  auto d = zeros<int>(20);
  launch("depths", {1, 1}, buffer(tree), d);
  expect(d, depth);

  const int n = 4;
  auto mats = random<int>(n * n * 6, -9, 9);
  std::vector<int64_t> dets;
  for (int k = 0; k < 6; ++k) {
    int order[n] = {0, 1, 2, 3};
    int64_t sum = 0;
    do {
      int64_t product = 1;
      for (int i = 0; i < n; ++i) {
        product *= mats[k * n * n + i * n + order[i]];
        for (int j = 0; j < i; ++j) if (order[j] > order[i]) product = -product;
      }
      sum += product;
    } while (std::next_permutation(order, order + n));
    dets.push_back(sum);
  }
  auto det = zeros<int64_t>(6);
  launch("determinants", {1, 6}, buffer(mats), n, det);
  expect(det, dets);
}
#endif
