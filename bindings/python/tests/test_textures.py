"""Textures, samplers and surfaces of a machine."""

import array
import struct

import pytest

import ptxkit

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"

# out[i] is the first channel at (x[i], y[i]); then the surface has the byte i in column i.
READ = HEADER + """
.global .texref image = { addr_mode_0 = wrap };
.visible .entry read(.param .u64 texture, .param .u64 points, .param .u64 out, .param .u64 surface)
{
    .reg .b32 %r<3>; .reg .f32 %f<8>; .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [texture];
    ld.param.u64 %rd2, [points];
    ld.param.u64 %rd3, [out];
    ld.param.u64 %rd4, [surface];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd5, %r1, 8;
    add.s64 %rd2, %rd2, %rd5;
    ld.global.v2.f32 {%f1, %f2}, [%rd2];
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd3, %rd3, %rd5;
    st.global.f32 [%rd3], %f3;
    sust.b.1d.b8.trap [%rd4, {%r1}], %r1;
    ret;
}
.visible .entry read_variable(.param .u64 out)
{
    .reg .b32 %r<6>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [image, {%r1}];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


def machine(text=READ):
    return ptxkit.Machine(ptxkit.parse(text))


def numbers(code, values, shape):
    """A memory view with several dimensions, as an array of NumPy has."""
    return memoryview(array.array(code, values)).cast("B").cast(code, shape)


def read(runs, texture, points, surface=None):
    """The values of a texture at points."""
    if surface is None:
        surface = runs.create_surface(runs.create_array("1d", bytes(len(points))))
    out = array.array("f", [0] * len(points))
    flat = array.array("f", [number for point in points for number in point])
    runs.launch("read", [texture, flat, out, surface], block=len(points), checks=["memcheck", "initcheck"])
    return out.tolist()


def test_textures_read_arrays():
    runs = machine()
    image = runs.create_array("2d", numbers("f", range(12), [3, 4]))
    assert (image.shape, image.format, image.levels) == ((3, 4), "f32", 1)
    assert repr(image) == "<TexelArray: f32 [3, 4]>"
    nearest = runs.create_texture(image)
    assert read(runs, nearest, [(0, 0), (1.5, 0.5), (3.9, 2.9), (-4, 9)]) == [0, 1, 11, 8]
    linear = runs.create_texture(image, filter="linear", coordinates="normalized", address=("wrap", "clamp_to_border"), border=(8, 0, 0, 0))
    # The center of a texel, halfway to the next one, between the last and the first one, and between the first row and the border.
    assert read(runs, linear, [(0.125, 0.5), (0.25, 0.5), (0, 0.5), (0.125, 0)]) == [4, 4.5, 5.5, 4]
    bordered = runs.create_texture(image, address="clamp_to_border", border=[2, 0, 0, 0])
    assert read(runs, bordered, [(-1, 1), (1, 1)]) == [2, 5]


def test_surfaces_write_arrays():
    runs = machine()
    image = runs.create_array("2d", numbers("f", range(4), [2, 2]))
    row = runs.create_array("1d", bytes(8), levels=2)
    surface = runs.create_surface(row)
    read(runs, runs.create_texture(image), [(0, 0), (1, 0), (1, 1)], surface)
    assert list(row.read()) == [0, 1, 2, 0, 0, 0, 0, 0] and row.read(1) == bytes(4)
    row.write(b"abcd", 1)
    read(runs, runs.create_texture(image), [(0, 0)] * 2, runs.create_surface(row, 1))
    assert row.read(level=1) == b"\0\1cd"
    with pytest.raises(ValueError, match="expected a level below 2, found 2"):
        runs.create_surface(row, 2)
    with pytest.raises(ptxkit.PtxError, match="outside of the surface"):
        runs.launch("read", [runs.create_texture(image), bytes(8 * 9), bytearray(36), surface], block=9)


def test_formats():
    runs = machine()
    colors = runs.create_array("2d", numbers("B", [51, 255, 102, 0], [1, 2, 2]), format="unorm8")
    texture = runs.create_texture(colors)
    assert read(runs, texture, [(0, 0), (1, 0)]) == pytest.approx([0.2, 0.4])
    shorts = runs.create_array("2d", numbers("h", [-32767, 0], [1, 2]))
    assert shorts.format == "s16"
    assert read(runs, runs.create_texture(shorts, read="normalized"), [(0, 0), (1, 0)]) == [-1, 0]
    memory = runs.allocate(64)
    runs.write(memory, struct.pack("<16f", *range(16)))
    pitched = runs.create_pitch_texture(memory, 3, 2, 32, format="f32")
    assert read(runs, pitched, [(2, 0), (2, 1)]) == [2, 10]
    for code, values, geometry, shape, options, why in [
        ("d", [1, 2], "1d", [2], {}, "found elements of the format `d`"),
        ("B", [1, 2], "1d", [2], {"format": "f16"}, "expected elements of 16 bits for the format `f16`, found 8 bits"),
        ("B", [1, 2], "4d", [2], {}, "expected a geometry such as `1d`"),
        ("B", [1, 2], "2d", [2], {}, r"expected the shape \[height, width\]"),
        ("B", [1, 2], "1d", [2], {"levels": 3}, "expected 1 to 2 levels"),
    ]:
        with pytest.raises((TypeError, ValueError), match=why):
            runs.create_array(geometry, numbers(code, values, shape), **options)


def test_variables_are_bound():
    runs = machine()
    data = runs.create_array("1d", numbers("I", [7, 8, 9], [3]))
    runs.bind("image", runs.create_texture(data))
    out = array.array("I", [0] * 3)
    runs.launch("read_variable", [out], block=3)
    assert out.tolist() == [7, 8, 9]
    memory = runs.allocate(12)
    runs.write(memory, struct.pack("<3H", 500, 600, 700))
    runs.bind("image", runs.create_linear_texture(memory, 3, format="u16"))
    runs.launch("read_variable", [out], block=3)
    assert out.tolist() == [500, 600, 700]
    with pytest.raises(ValueError, match="`image` is a variable for a texture, found a sampler"):
        runs.bind("image", runs.create_sampler(address="wrap"))
    with pytest.raises(ValueError, match="no variable `picture`"):
        runs.bind("picture", 0)


def test_samplers_are_separate_in_independent_mode():
    text = HEADER.replace("sm_90", "sm_90, texmode_independent") + """
    .visible .entry read(.param .u64 out, .param .texref image, .param .samplerref sampler)
    {
        .reg .f32 %f<6>; .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [out];
        mov.f32 %f1, 0fBF800000;
        tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [image, sampler, {%f1}];
        st.global.f32 [%rd1], %f2;
        ret;
    }"""
    runs = machine(text)
    image = runs.create_texture(runs.create_array("1d", numbers("f", [3, 4, 5, 6], [4])), coordinates="normalized")
    out = array.array("f", [0])
    for properties, value in [({}, 3), ({"address": "clamp_to_border", "border": (9, 0, 0, 0), "coordinates": "texels"}, 9)]:
        runs.launch("read", [out, image, runs.create_sampler(**properties)])
        assert out.tolist() == [value]


def test_mistakes_in_properties():
    runs = machine()
    image = runs.create_array("2d", numbers("f", range(4), [2, 2]))
    for properties, why in [
        ({"filter": "cubic"}, "`filter`: expected `nearest`, `linear`, found `cubic`"),
        ({"wrap": True}, "found `wrap`"),
        ({"border": (1, 2)}, "expected 4 numbers separated by commas, found `1,2`"),
        ({"address": ["wrap"] * 4}, "expected 1 to 3 modes, found 4"),
    ]:
        with pytest.raises(ValueError, match=why):
            runs.create_texture(image, **properties)
    with pytest.raises(ValueError, match="expected `address`"):
        runs.create_sampler(read="normalized")
    with pytest.raises(ValueError, match="belongs to another machine"):
        machine().create_texture(image)
    with pytest.raises(ptxkit.PtxError, match="has 16 bytes, found 3"):
        image.write(b"abc")


def test_arrays_of_numpy():
    numpy = pytest.importorskip("numpy")
    runs = machine()
    volume = numpy.arange(24, dtype=numpy.float16).reshape(2, 3, 4)
    assert runs.create_array("3d", volume).shape == (2, 3, 4)
    colors = runs.create_array("2d", volume.astype(numpy.uint8))
    assert (colors.shape, colors.format) == ((2, 3, 4), "u8")
    image = runs.create_array("2d", volume.astype(numpy.float32)[1])
    assert read(runs, runs.create_texture(image), [(0, 0), (3, 2)]) == [12, 23]
    assert numpy.frombuffer(image.read(), numpy.float32).reshape(image.shape)[1, 2] == 18
    with pytest.raises(ValueError, match="ascontiguousarray"):
        runs.create_array("2d", volume[0].T)


def test_destroyed_objects():
    machine = ptxkit.Machine(ptxkit.parse(".version 8.0\n.target sm_90\n.address_size 64\n"))
    texels = array.array("f", [1, 2, 3, 4])
    image = machine.create_array("1d", texels)
    texture, sampler, surface = machine.create_texture(image), machine.create_sampler(), machine.create_surface(image)
    with pytest.raises(ValueError, match="expected the handle of a sampler, found .* that of a texture"):
        machine.destroy_sampler(texture)
    machine.destroy_texture(texture)
    machine.destroy_sampler(sampler)
    machine.destroy_surface(surface)
    for destroy, handle in [(machine.destroy_texture, texture), (machine.destroy_sampler, sampler), (machine.destroy_surface, surface)]:
        with pytest.raises(ValueError, match="whose object was destroyed"):
            destroy(handle)
    other = ptxkit.Machine(machine.module)
    with pytest.raises(ValueError, match="another machine"):
        other.destroy_array(image)
    machine.destroy_array(image)
    with pytest.raises(ptxkit.PtxError, match="the array was destroyed"):
        image.read()
    with pytest.raises(ptxkit.PtxError, match="the array was destroyed"):
        machine.destroy_array(image)
