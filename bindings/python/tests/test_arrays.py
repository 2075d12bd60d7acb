"""Arrays as arguments of kernels: elements that are refused, arrays that overlap, and arrays that cannot be changed."""

import array
import ctypes
import random

import numpy as np
import pytest

import ptxkit

# y[i] = a * x[i] + y[i]
SAXPY = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<3>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p exit;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.f32 %f2, [%rd1];
    ld.global.f32 %f3, [%rd2];
    fma.rn.f32 %f3, %f2, %f1, %f3;
    st.global.f32 [%rd2], %f3;
    ret;
}
// out[i] = in[i], 16 bytes each, where the addresses are in a struct.
.visible .entry copy(.param .align 8 .b8 arrays[16])
{
    .reg .b32 %r; .reg .f32 %f<5>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [arrays];
    ld.param.u64 %rd2, [arrays+8];
    mov.u32 %r, %tid.x;
    mul.wide.u32 %rd3, %r, 16;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
    st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};
    ret;
}
"""


# The array that is written is the first parameter.
REVERSED = SAXPY.replace("saxpy(.param .u64 x, .param .u64 y,", "saxpy(.param .u64 y, .param .u64 x,")


def machine(text=SAXPY):
    return ptxkit.Machine(ptxkit.parse(text))


def numbers(count):
    return np.arange(count, dtype=np.float32)


def contents(values):
    return values.tobytes() if isinstance(values, np.ndarray) else bytes(values)


def big_structure():
    class Structure(ctypes.BigEndianStructure):
        _fields_ = [("count", ctypes.c_uint8), ("value", ctypes.c_uint32)]

    return (Structure * 4)()


class Pointers(ctypes.Structure):
    _fields_ = [("value", ctypes.c_float), ("text", ctypes.c_char_p)]


class PackedObjects(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("number", ctypes.c_uint8), ("object", ctypes.py_object)]


class DerivedObjects(PackedObjects):
    _fields_ = [("more", ctypes.c_float)]


class Choice(ctypes.Union):
    _fields_ = [("number", ctypes.c_uint64), ("pointers", ctypes.POINTER(ctypes.c_int) * 2)]


class Choices(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint32), ("choices", Choice * 2)]


class PackedNumbers(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("first", ctypes.c_uint8 * 3), ("flags", ctypes.c_uint8, 4), ("value", ctypes.c_float * 7)]


REFUSED = {
    "objects": (np.array([{"a": 1}, [2], "s", "t"], dtype=object), TypeError, "Python objects"),
    "objects in records": (np.zeros(3, dtype=[("a", "<f4"), ("b", [("c", "O", (2,))])]), TypeError, "Python objects"),
    "no objects": (np.zeros(0, dtype=object), TypeError, "Python objects"),
    "objects of ctypes": ((ctypes.py_object * 2)(1, 2), TypeError, "Python objects"),
    "pointers": ((ctypes.POINTER(ctypes.c_int) * 2)(), TypeError, "pointers"),
    "pointers in records": ((Pointers * 2)(), TypeError, "pointers"),
    "packed objects": ((PackedObjects * 2)(), TypeError, "Python objects"),
    "derived objects": (memoryview((DerivedObjects * 2)()).cast("B"), TypeError, "Python objects"),
    "unions": ((Choices * 2)(), TypeError, "pointers"),
    "text": (np.array(["abc", "de"]), TypeError, "text"),
    "bytes": (np.array([b"abc", b"de"]), TypeError, "text"),
    "characters": ((ctypes.c_wchar * 4)(), TypeError, "text"),
    "dates": (np.zeros(2, dtype="M8[s]"), TypeError, "view"),
    "big-endian": (numbers(8).astype(">f4"), ValueError, "newbyteorder"),
    "complex": (np.zeros(2, dtype=">c8"), ValueError, "newbyteorder"),
    "big-endian records": (np.zeros(3, dtype=[(">a", "<f4"), ("b", ">u2")]), ValueError, "newbyteorder"),
    "big-endian structures": (big_structure(), ValueError, "big-endian"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_elements_that_are_refused(name):
    refused, error, message = REFUSED[name]
    before = contents(refused)
    runs = machine()
    with pytest.raises(error, match=f"parameter `y`: expected .*{message}"):
        runs.launch("saxpy", [numbers(8), refused, 2.0, 8], block=8)
    with pytest.raises(error, match=f"parameter `x`: expected .*{message}"):
        runs.launch("saxpy", [refused, numbers(8), 2.0, 8], block=8)
    for struct in [(refused, numbers(8)), (("bytes", refused), numbers(2)), refused]:
        with pytest.raises(error, match=f"parameter `arrays`: .*{message}"):
            runs.launch("copy", [struct])
    with pytest.raises(error, match=f"`data`: expected .*{message}"):
        runs.write(runs.allocate(1024), refused)
    for element_format in [None, "u32"]:
        with pytest.raises(error, match=f"`data`: expected .*{message}"):
            runs.create_array("1d", refused, format=element_format)
    image = runs.create_array("1d", np.zeros(8, dtype=np.float32))
    with pytest.raises(error, match=f"`data`: expected .*{message}"):
        image.write(refused)
    assert contents(refused) == before


@pytest.mark.parametrize(
    "accepted",
    [
        np.zeros(8, dtype="<f4"),
        np.zeros(8, dtype=[("O", "<f4")]),
        np.zeros(8, dtype=[(">s", "u1", (4,))]),
        np.zeros(4, dtype="c8"),
        np.zeros(32, dtype=">u1"),
        np.zeros(32, dtype="?"),
        np.zeros(8, dtype="V4"),
        np.zeros((2, 4), dtype="f4"),
        np.zeros(8, dtype=np.dtype([("a", "u1"), ("b", "<u2")], align=True)),
        (ctypes.c_float * 8)(),
        (PackedNumbers * 1)(),
        (ctypes.c_char * 32)(),
        (ctypes.c_void_p * 4)(),
        bytearray(32),
        array.array("f", [0] * 8),
    ],
)
def test_elements_that_are_accepted(accepted):
    machine().launch("saxpy", [numbers(8), accepted, 2.0, 8], block=8)
    assert np.frombuffer(bytes(accepted), dtype=np.float32).tolist() == (2 * numbers(8)).tolist()


def test_converted_byte_order():
    big = numbers(8).astype(">f4")
    little = big.astype(big.dtype.newbyteorder("="))
    machine().launch("saxpy", [little, little, 1.0, 8], block=8)
    assert little.tolist() == (2 * numbers(8)).tolist()


@pytest.mark.parametrize("text", [SAXPY, REVERSED], ids=["last", "first"])
def test_one_array_for_two_parameters(text):
    runs = machine(text)
    both = numbers(8)
    runs.launch("saxpy", [both, both, 2.0, 8], block=8)
    assert both.tolist() == (3 * numbers(8)).tolist()
    # The order of the arguments does not matter.
    both = bytearray(numbers(8))
    runs.launch("saxpy", [memoryview(both), both, 2.0, 8], block=8)
    assert np.frombuffer(both, dtype=np.float32).tolist() == (3 * numbers(8)).tolist()
    both = numbers(8)
    runs.launch("copy", [(both[:4], both[4:])])
    assert both.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(40))
def test_arrays_that_overlap(seed):
    """All threads of a warp read before one of them writes."""
    choose = random.Random(seed)
    for text in [SAXPY, REVERSED] * 3:
        runs = machine(text)
        whole = np.array([choose.randrange(100) for _ in range(64)], dtype=np.float32)
        count, x, y = choose.randrange(1, 32), choose.randrange(32), choose.randrange(32)
        expected = whole.copy()
        expected[y : y + count] += 2 * whole[x : x + count]
        # More than the kernel reads, and also arrays that do not overlap.
        first, second = whole[x : x + count + choose.randrange(4)], whole[y : y + count]
        arrays = [first, second] if text == SAXPY else [second, first]
        runs.launch("saxpy", [*arrays, 2.0, count], block=32, checks=["memcheck", "initcheck"])
        assert whole.tolist() == expected.tolist()
        assert runs.findings == []


def test_overlapping_arrays_are_aligned_as_in_memory_of_the_host():
    whole = np.zeros(64, dtype=np.float32)
    whole = whole[-whole.ctypes.data // 4 % 4 :]
    whole[:32] = range(32)
    # The first one begins at an odd element, which changes the address of the second one.
    runs = machine()
    runs.launch("copy", [(whole[4:20], whole[8:24])], block=3)
    assert whole[:24].tolist() == [*range(8), *range(4, 16), 20, 21, 22, 23]
    runs.launch("saxpy", [whole[1:9], whole[4:12], 1.0, 0])
    with pytest.raises(ptxkit.PtxError, match="align"):
        runs.launch("copy", [(whole[4:20], whole[9:24])])


def test_an_empty_array_overlaps_with_none():
    both = numbers(8)
    machine().launch("saxpy", [both, both[4:4], 2.0, 0])
    assert both.tolist() == numbers(8).tolist()


def test_read_only_arrays_are_inputs():
    runs = machine()
    constant, result = numbers(8), numbers(8)
    constant.flags.writeable = False
    runs.launch("saxpy", [constant, result, 1.0, 8], block=8)
    assert result.tolist() == (2 * numbers(8)).tolist()
    with pytest.raises(ValueError, match="parameter `y`: .*read-only.*numpy.array"):
        runs.launch("saxpy", [result, constant, 1.0, 8], block=8)
    assert constant.tolist() == numbers(8).tolist()
    with pytest.raises(ValueError, match="parameter `arrays`: .*read-only"):
        runs.launch("copy", [(result, bytes(16))])
    # The machine can be used afterwards.
    runs.launch("saxpy", [bytes(32), result, 1.0, 8], block=8)


def test_a_read_only_view_of_an_array_that_can_be_changed():
    runs = machine()
    both = numbers(8)
    view = both[:]
    view.flags.writeable = False
    runs.launch("saxpy", [view, both, 1.0, 8], block=8)
    assert view.tolist() == (2 * numbers(8)).tolist()
    with pytest.raises(ValueError, match="parameter `y`"):
        runs.launch("saxpy", [both[:4], view, 1.0, 8], block=8)


def test_arrays_that_are_not_contiguous():
    fortran = np.asfortranarray(np.ones((4, 2), dtype=np.float32))
    for other in [fortran, numbers(16)[::2], numbers(8)[::-1]]:
        with pytest.raises(ValueError, match="parameter `y`: expected a contiguous .* copy the result back"):
            machine().launch("saxpy", [numbers(8), other, 1.0, 8], block=8)
