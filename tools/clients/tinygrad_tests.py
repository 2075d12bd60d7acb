"""Operators of tinygrad on random tensors, compared with NumPy."""

import math
import os
import unittest

import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes

GENERATOR = np.random.default_rng(1)


def normal(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def softmax(x, axis=-1):
    exponentials = np.exp(x - x.max(axis, keepdims=True))
    return exponentials / exponentials.sum(axis, keepdims=True)


def convolution(x, w, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    height, width = (x.shape[axis] - w.shape[axis] + 1 for axis in (2, 3))
    places = [(r, c) for r in range(w.shape[2]) for c in range(w.shape[3])]
    return sum(np.einsum("nihw,oi->nohw", x[:, :, r : r + height, c : c + width], w[:, :, r, c]) for r, c in places)


# The name, the operator of tinygrad, that of NumPy, and the shapes of the operands.
OPERATORS = [
    ("add", lambda a, b: a + b, np.add, [(45, 65), (45, 65)]),
    ("add_broadcast", lambda a, b: a + b, np.add, [(45, 1), (65,)]),
    ("mul", lambda a, b: a * b, np.multiply, [(45, 65), (45, 65)]),
    ("div", lambda a, b: a / (b * b + 1), lambda a, b: a / (b * b + 1), [(45, 65), (45, 65)]),
    ("maximum", lambda a, b: a.maximum(b), np.maximum, [(45, 65), (45, 65)]),
    ("where", lambda a, b: (a > 0).where(a, b), lambda a, b: np.where(a > 0, a, b), [(9, 65), (9, 65)]),
    ("relu", lambda a: a.relu(), lambda a: np.maximum(a, 0), [(45, 65)]),
    ("exp", lambda a: a.exp(), np.exp, [(45, 65)]),
    ("log", lambda a: (a * a + 1).log(), lambda a: np.log(a * a + 1), [(45, 65)]),
    ("sin", lambda a: a.sin(), np.sin, [(45, 65)]),
    ("cos", lambda a: a.cos(), np.cos, [(45, 65)]),
    ("sqrt", lambda a: a.abs().sqrt(), lambda a: np.sqrt(np.abs(a)), [(45, 65)]),
    ("rsqrt", lambda a: (a.abs() + 1).rsqrt(), lambda a: 1 / np.sqrt(np.abs(a) + 1), [(45, 65)]),
    ("tanh", lambda a: a.tanh(), np.tanh, [(45, 65)]),
    ("sigmoid", lambda a: a.sigmoid(), lambda a: 1 / (1 + np.exp(-a)), [(45, 65)]),
    ("silu", lambda a: a.silu(), lambda a: a / (1 + np.exp(-a)), [(45, 65)]),
    ("gelu", lambda a: a.gelu(), lambda a: 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))), [(45, 65)]),
    ("floor", lambda a: (a * 3).floor(), lambda a: np.floor(a * 3), [(45, 65)]),
    ("trunc", lambda a: (a * 3).trunc(), lambda a: np.trunc(a * 3), [(45, 65)]),
    ("sum", lambda a: a.sum(), np.sum, [(45, 65)]),
    ("sum_axis", lambda a: a.sum(axis=1), lambda a: a.sum(1), [(45, 65)]),
    ("sum_large", lambda a: a.sum(), np.sum, [(300, 300)]),
    ("max", lambda a: a.max(axis=0), lambda a: a.max(0), [(45, 65)]),
    ("min", lambda a: a.min(axis=1), lambda a: a.min(1), [(45, 65)]),
    ("argmax", lambda a: a.argmax(axis=1), lambda a: a.argmax(1), [(20, 65)]),
    ("mean", lambda a: a.mean(axis=(0, 2)), lambda a: a.mean((0, 2)), [(4, 5, 6)]),
    ("std", lambda a: a.std(axis=1), lambda a: a.std(1, ddof=1), [(15, 65)]),
    ("softmax", lambda a: a.softmax(), softmax, [(15, 65)]),
    ("log_softmax", lambda a: a.log_softmax(), lambda a: np.log(softmax(a)), [(15, 65)]),
    ("logsumexp", lambda a: a.logsumexp(axis=1), lambda a: np.log(np.exp(a).sum(1)), [(15, 65)]),
    ("cumsum", lambda a: a.cumsum(axis=1), lambda a: a.cumsum(1), [(15, 65)]),
    ("sort", lambda a: a.sort(dim=1)[0], lambda a: np.sort(a, 1), [(4, 16)]),
    ("topk", lambda a: a.topk(3, dim=1)[0], lambda a: np.sort(a, 1)[:, :-4:-1], [(4, 16)]),
    ("matmul", lambda a, b: a @ b, np.matmul, [(64, 64), (64, 64)]),
    ("matmul_odd", lambda a, b: a @ b, np.matmul, [(45, 35), (35, 65)]),
    ("matmul_batch", lambda a, b: a @ b, np.matmul, [(3, 16, 24), (3, 24, 8)]),
    ("dot_vector", lambda a, b: a.dot(b), np.dot, [(65,), (65,)]),
    ("einsum", lambda a, b: Tensor.einsum("ij,kj->ik", a, b), lambda a, b: a @ b.T, [(20, 30), (10, 30)]),
    ("transpose", lambda a: a.transpose(0, 1).contiguous(), lambda a: a.T, [(45, 65)]),
    ("permute", lambda a: a.permute(2, 0, 1).contiguous(), lambda a: a.transpose(2, 0, 1), [(4, 5, 6)]),
    ("flip", lambda a: a.flip(1).contiguous(), lambda a: a[:, ::-1], [(4, 5, 6)]),
    ("pad", lambda a: a.pad(((1, 2), (3, 4))).contiguous(), lambda a: np.pad(a, ((1, 2), (3, 4))), [(4, 5)]),
    ("slice", lambda a: (a[1:3, ::2] + 1), lambda a: a[1:3, ::2] + 1, [(4, 15)]),
    ("cat", lambda a, b: a.cat(b, dim=1).contiguous(), lambda a, b: np.concatenate([a, b], 1), [(4, 5), (4, 7)]),
    ("repeat", lambda a: a.repeat((2, 3)).contiguous(), lambda a: np.tile(a, (2, 3)), [(4, 5)]),
    ("tril", lambda a: a.tril(), np.tril, [(15, 15)]),
    ("conv2d", lambda a, w: a.conv2d(w, padding=1), lambda a, w: convolution(a, w, 1), [(1, 4, 9, 9), (4, 4, 3, 3)]),
    ("conv2d_1x1", lambda a, w: a.conv2d(w), lambda a, w: convolution(a, w, 0), [(2, 8, 6, 6), (4, 8, 1, 1)]),
    ("max_pool2d", lambda a: a.max_pool2d((2, 2)), lambda a: a.reshape(2, 3, 4, 2, 5, 2).max((3, 5)), [(2, 3, 8, 10)]),
    ("avg_pool2d", lambda a: a.avg_pool2d((2, 2)), lambda a: a.reshape(2, 3, 4, 2, 5, 2).mean((3, 5)), [(2, 3, 8, 10)]),
    ("layernorm", lambda a: a.layernorm(), lambda a: (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5), [(15, 65)]),
    (
        "attention",
        lambda q, k, v: q.scaled_dot_product_attention(k, v),
        lambda q, k, v: softmax(q @ k.transpose(0, 2, 1) / math.sqrt(16)) @ v,
        [(2, 24, 16), (2, 24, 16), (2, 24, 16)],
    ),
]


class OperatorTests(unittest.TestCase):
    def test_renderer(self):
        self.assertEqual(type(Device[Device.DEFAULT].renderer).__name__, os.environ["RENDERER"])

    def test_half_matmul(self):
        a, b = (GENERATOR.integers(-3, 4, (32, 32)).astype(np.float16) for _ in range(2))
        np.testing.assert_equal((Tensor(a) @ Tensor(b)).numpy(), a @ b)

    def test_integers(self):
        a = GENERATOR.integers(-1000, 1000, 300).astype(np.int32)
        x = Tensor(a)
        np.testing.assert_equal(((x * 7 + 3) // 5).numpy(), (a * 7 + 3) // 5)
        np.testing.assert_equal((x & 255).numpy(), a & 255)
        np.testing.assert_equal((x % 13).numpy(), a % 13)

    def test_casts(self):
        a = normal(300) * 100
        np.testing.assert_equal(Tensor(a).cast(dtypes.int32).numpy(), a.astype(np.int32))
        np.testing.assert_equal(Tensor(a).cast(dtypes.float16).numpy(), a.astype(np.float16))
        np.testing.assert_allclose(Tensor(a).cast(dtypes.float64).numpy(), a.astype(np.float64))

    def test_gather(self):
        table, index = normal(20, 8), GENERATOR.integers(0, 20, 11).astype(np.int32)
        np.testing.assert_equal(Tensor(table)[Tensor(index)].numpy(), table[index])

    def test_gradients(self):
        a, b = normal(8, 9), normal(9, 5)
        x, y = Tensor(a), Tensor(b)
        dx, dy = (x @ y).relu().sum().gradient(x, y)
        mask = (a @ b > 0).astype(np.float32)
        np.testing.assert_allclose(dx.numpy(), mask @ b.T, atol=1e-5)
        np.testing.assert_allclose(dy.numpy(), a.T @ mask, atol=1e-5)

    def test_random(self):
        Tensor.manual_seed(3)
        values = Tensor.rand(4000).numpy()
        self.assertTrue((values >= 0).all() and (values < 1).all())
        self.assertLess(abs(values.mean() - 0.5), 0.05)

    def test_jit(self):
        @TinyJit
        def step(x):
            return (x * 2 + 1).realize()

        for number in range(5):
            np.testing.assert_equal(step(Tensor(np.full(64, number, np.float32))).numpy(), np.full(64, 2 * number + 1))


def add_test(name, operator, reference, shapes):
    def test(self):
        operands = [normal(*shape) for shape in shapes]
        values = operator(*(Tensor(operand) for operand in operands)).numpy()
        np.testing.assert_allclose(values, reference(*operands), atol=2e-4, rtol=1e-4)

    setattr(OperatorTests, f"test_{name}", test)


for row in OPERATORS:
    add_test(*row)
