//! Textures of parts of arrays, and the memory of rows.

use ptx_vm::{
    ArrayDescription, ArrayPart, ChannelType, Device, Extent, Machine, Sampler, TexelBox,
    TexelFormat, TextureDescription,
};

use crate::kernels::{Operands, Read, run};

const WIDTH: u32 = 9;
const HEIGHT: u32 = 6;
const LAYERS: u32 = 5;
const LEVELS: u32 = 4;

/// The texel of a level.
fn code(level: u32, layer: u32, [x, y]: [u32; 2]) -> u32 {
    ((level + 1) << 24) | (layer << 16) | (y << 8) | x
}

const fn size(level: u32) -> [u32; 2] {
    let [width, height] = [WIDTH >> level, HEIGHT >> level];
    [
        if width == 0 { 1 } else { width },
        if height == 0 { 1 } else { height },
    ]
}

/// An array of images whose texels are their codes, written row by row.
fn array(device: &mut Device<'_>) -> ptx_vm::Array {
    let extent = Extent::Image {
        width: WIDTH,
        height: HEIGHT,
    };
    let format = TexelFormat::new(ChannelType::U32, 1);
    let description = ArrayDescription::new(extent, format)
        .layers(LAYERS)
        .levels(LEVELS);
    let array = device.create_array(&description).unwrap();
    let (start, bytes) = device.array_memory(array).unwrap();
    assert_eq!(bytes, description.memory_bytes().unwrap());
    for level in 0..LEVELS {
        let [width, height] = size(level);
        let mut all = Vec::new();
        for layer in 0..LAYERS {
            for y in 0..height {
                let texels: Vec<u32> = (0..width).map(|x| code(level, layer, [x, y])).collect();
                let row = device.array_row(array, level, layer, [y, 0]).unwrap();
                assert!(row >= start && row + 4 * u64::from(width) <= start + bytes);
                device.write_slice(row, &texels).unwrap();
                all.extend(texels);
            }
        }
        let found = device.read_array(array, level).unwrap();
        let expected: Vec<u8> = all.into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(found, expected);
        assert_eq!(device.array_row(array, level, LAYERS, [0, 0]), None);
        assert_eq!(device.array_row(array, level, 0, [height, 0]), None);
        assert_eq!(device.array_row(array, level, 0, [0, 1]), None);
    }
    assert_eq!(device.array_row(array, LEVELS, 0, [0, 0]), None);
    array
}

fn texture(machine: &mut Machine<'_>, array: ptx_vm::Array, part: &ArrayPart) -> [u64; 2] {
    let description = TextureDescription::new(Sampler::default().normalized());
    let texture = machine.create_texture_of_part(array, part, &description);
    [texture.unwrap(), 0]
}

/// The reads of texels of an array of images: the level, the layer, x and y.
fn operands(places: &[[u32; 4]]) -> Vec<Operands> {
    let each = places.iter();
    each.map(|&[level, layer, x, y]| [layer, x, y, 0, level, 0, 0, 0])
        .collect()
}

fn reader() -> Read {
    let mut read = Read::new(".a2d");
    read.opcode = "tex.level";
    read.result = ".u32";
    read.coordinates = ".s32";
    read.further = ", %c4";
    read
}

#[test]
fn levels_and_layers_of_a_part_begin_at_zero() {
    for levels in [0..4, 1..3, 2..3, 3..4] {
        for layers in [None, Some(0..1), Some(2..5), Some(4..5)] {
            let mut part = ArrayPart::levels(levels.clone());
            part.layers.clone_from(&layers);
            let layers = layers.clone().unwrap_or(0..LAYERS);
            let mut places = Vec::new();
            for level in 0..LEVELS + 1 {
                for layer in 0..LAYERS + 1 {
                    places.extend((0..10).map(|n| [level, layer, n, n % 7]));
                }
            }
            let read = operands(&places);
            let found = run(&reader(), &read, |machine| {
                let array = array(machine);
                texture(machine, array, &part)
            });
            for ([level, layer, x, y], found) in places.into_iter().zip(found) {
                let level = level + levels.start;
                let layer = layer + layers.start;
                let [width, height] = size(level);
                let exists = level < levels.end && layer < layers.end && x < width && y < height;
                let expected = if exists {
                    code(level, layer, [x, y])
                } else {
                    0
                };
                assert_eq!(found.bits[0], expected, "{part:?} {level} {layer} {x} {y}");
            }
        }
    }
}

#[test]
fn a_part_may_have_another_format_of_the_same_size() {
    let part = ArrayPart::levels(1..2)
        .layers(3..4)
        .format(TexelFormat::new(ChannelType::U8, 4));
    let found = run(&reader(), &operands(&[[0, 0, 2, 1]]), |machine| {
        let array = array(machine);
        texture(machine, array, &part)
    });
    assert_eq!(found[0].bits, [2, 1, 3, 2]);
}

#[test]
fn texels_that_are_absent_are_absent_in_parts() {
    let absent = TexelBox {
        level: 1,
        layer: Some(3),
        start: [1, 0, 0],
        size: [1, 2, 1],
    };
    let places = [[0, 1, 1, 0], [0, 1, 2, 0], [0, 0, 1, 0], [0, 1, 1, 2]];
    let found = run(&reader(), &operands(&places), |machine| {
        let array = array(machine);
        machine.set_absent(array, absent).unwrap();
        texture(machine, array, &ArrayPart::levels(1..2).layers(2..4))
    });
    let resident: Vec<bool> = found.iter().map(|values| values.is_resident).collect();
    assert_eq!(resident, [false, true, true, true]);
}

#[test]
fn faces_of_parts_of_cubes_are_those_of_the_cube() {
    let format = TexelFormat::new(ChannelType::F32, 1);
    let description = ArrayDescription::new(Extent::Cube { edge: 2 }, format)
        .layers(3)
        .levels(2);
    let mut read = Read::new(".acube");
    read.opcode = "tex.level";
    read.further = ", %c4";
    // The direction -y, which is face 3.
    let direction = [0.0f32, -1.0, 0.0].map(f32::to_bits);
    let mut all = [0; 8];
    all[1..4].copy_from_slice(&direction);
    let found = run(&read, &[all], |machine| {
        let array = machine.create_array(&description).unwrap();
        let texels: Vec<u8> = (0..18u16)
            .flat_map(|n| f32::from(n).to_le_bytes())
            .collect();
        machine.write_array(array, 1, &texels).unwrap();
        texture(machine, array, &ArrayPart::levels(1..2).layers(1..3))
    });
    assert_eq!(found[0].numbers()[0], 9.0);
}

#[test]
fn parts_that_do_not_exist_are_refused() {
    let mut device = Device::new();
    let array = array(&mut device);
    let format = TexelFormat::new(ChannelType::U8, 4);
    let description = TextureDescription::new(Sampler::default().normalized());
    for (part, expected) in [
        (
            ArrayPart::levels(0..5),
            "expected a range of levels in 0..4, found 0..5",
        ),
        (
            ArrayPart::levels(2..2),
            "expected a range of levels in 0..4, found 2..2",
        ),
        (
            ArrayPart::levels(0..1).layers(4..6),
            "expected a range of layers in 0..5, found 4..6",
        ),
        (
            ArrayPart::levels(0..1).format(TexelFormat::new(ChannelType::U8, 2)),
            "expected a format of 4 bytes",
        ),
    ] {
        let error = device.create_texture_of_part(array, &part, &description);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let plain = ArrayDescription::new(Extent::Line { width: 4 }, format);
    let plain = device.create_array(&plain).unwrap();
    let part = ArrayPart::levels(0..1).layers(0..1);
    let error = device.create_texture_of_part(plain, &part, &description);
    assert_eq!(error.unwrap_err().to_string(), "the array has no layers");
    // Two images of 2^31 bytes.
    let most = ArrayDescription::new(
        Extent::Image {
            width: 1 << 17,
            height: 1 << 12,
        },
        format,
    );
    assert_eq!(most.layers(2).memory_bytes().unwrap(), 1 << 32);
    assert!(most.layers(0).memory_bytes().is_err());
}
