//! Levels of detail: their sizes, explicit levels, gradients and the filter between levels.

use ptx_vm::{
    Array, ArrayDescription, ChannelType, Extent, FilterMode, Machine, Sampler, TexelFormat,
    TextureDescription,
};

use crate::kernels::{Operands, Read, run, words};

/// A mipmap whose texels are 100 times their level plus the number of the texel in the level.
fn mipmap(machine: &mut Machine<'_>, extent: Extent, layers: Option<u32>, levels: u32) -> Array {
    let mut description =
        ArrayDescription::new(extent, TexelFormat::new(ChannelType::F32, 1)).levels(levels);
    description.layers = layers;
    let array = machine.create_array(&description).unwrap();
    for level in 0..levels {
        let count = description.level_bytes(level) / 4;
        let texels = (0..count).map(|n| (100 * level) as f32 + n as f32);
        let bytes: Vec<u8> = texels.flat_map(f32::to_le_bytes).collect();
        machine.write_array(array, level, &bytes).unwrap();
    }
    array
}

fn level_texture(
    machine: &mut Machine<'_>,
    array: Array,
    change: impl FnOnce(&mut Sampler),
) -> [u64; 2] {
    let mut sampler = Sampler::default().normalized();
    change(&mut sampler);
    let texture = machine
        .create_texture(array, &TextureDescription::new(sampler))
        .unwrap();
    [texture, machine.create_sampler(&sampler).unwrap()]
}

#[test]
fn levels_have_halved_sizes() {
    let extent = Extent::Volume {
        width: 13,
        height: 6,
        depth: 3,
    };
    let description = ArrayDescription::new(extent, TexelFormat::new(ChannelType::U8, 1)).levels(4);
    let bytes: Vec<u64> = (0..5).map(|level| description.level_bytes(level)).collect();
    assert_eq!(bytes, [13 * 6 * 3, 6 * 3, 3, 1, 0]);
}

#[test]
fn explicit_levels_are_read() {
    for geometry in [".1d", ".2d", ".3d", ".a1d", ".a2d", ".cube", ".acube"] {
        let extent = match geometry {
            ".1d" | ".a1d" => Extent::Line { width: 8 },
            ".2d" | ".a2d" => Extent::Image {
                width: 8,
                height: 2,
            },
            ".3d" => Extent::Volume {
                width: 8,
                height: 2,
                depth: 1,
            },
            _ => Extent::Cube { edge: 8 },
        };
        let layers = geometry.starts_with(".a").then_some(2);
        let mut read = Read::new(geometry);
        read.opcode = "tex.level";
        read.further = ", %c4";
        // The nearest level; those outside of the mipmap are the first and the last one.
        let levels = [-3.0f32, 0.0, 0.25, 0.75, 1.25, 2.0, 2.75, 9.0, f32::NAN];
        let expected = [0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 0.0];
        let operands = levels.map(|level| {
            let mut all = words(&[0.0, 0.0, 0.0, 0.0, level]);
            if geometry.contains("cube") {
                // The first texel of face 0.
                let first = usize::from(layers.is_some());
                all[first..first + 3].copy_from_slice(&[1.0f32, 0.99, 0.99].map(f32::to_bits));
            }
            all
        });
        let values = run(&read, &operands, |machine| {
            let array = mipmap(machine, extent, layers, 4);
            level_texture(machine, array, |_| {})
        });
        for (values, expected) in values.iter().zip(expected) {
            assert_eq!(values.numbers()[0], 100.0 * expected, "{geometry}");
        }
    }
}

#[test]
fn coordinates_are_those_of_the_level() {
    let mut read = Read::new(".2d");
    read.opcode = "tex.level";
    read.further = ", %c4";
    let operands: Vec<Operands> = (0..4)
        .map(|level| words(&[0.8, 0.7, 0.0, 0.0, level as f32]))
        .collect();
    let values = run(&read, &operands, |machine| {
        let array = mipmap(
            machine,
            Extent::Image {
                width: 8,
                height: 4,
            },
            None,
            4,
        );
        level_texture(machine, array, |_| {})
    });
    let found: Vec<f32> = values.iter().map(|v| v.numbers()[0]).collect();
    assert_eq!(
        found,
        [2.0 * 8.0 + 6.0, 100.0 + 4.0 + 3.0, 200.0 + 1.0, 300.0]
    );
}

#[test]
fn integer_levels_are_numbers_of_levels() {
    let mut read = Read::new(".2d");
    read.opcode = "tex.level";
    read.coordinates = ".s32";
    read.further = ", %c4";
    // A texel that exists in the first two levels; there is nothing outside of them.
    let operands: Vec<Operands> = (-1..6)
        .map(|level: i32| [3, 1, 0, 0, level.cast_unsigned(), 0, 0, 0])
        .collect();
    let values = run(&read, &operands, |machine| {
        let array = mipmap(
            machine,
            Extent::Image {
                width: 8,
                height: 4,
            },
            None,
            4,
        );
        level_texture(machine, array, |_| {})
    });
    let found: Vec<f32> = values.iter().map(|v| v.numbers()[0]).collect();
    assert_eq!(found, [0.0, 11.0, 107.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn linear_filtering_mixes_two_levels() {
    let mut read = Read::new(".1d");
    read.opcode = "tex.level";
    read.further = ", %c4";
    let operands: Vec<Operands> = (0..40)
        .map(|n| words(&[0.0, 0.0, 0.0, 0.0, n as f32 / 13.0]))
        .collect();
    for (bias, range) in [(0.0, [0.0, 16.0]), (0.5, [0.0, 16.0]), (-0.25, [0.75, 2.5])] {
        let values = run(&read, &operands, |machine| {
            let array = mipmap(machine, Extent::Line { width: 8 }, None, 4);
            level_texture(machine, array, |sampler| {
                sampler.level_filter = FilterMode::Linear;
                sampler.level_bias = bias;
                sampler.level_range = range;
            })
        });
        for (n, values) in values.iter().enumerate() {
            let level = (n as f32 / 13.0 + bias)
                .max(range[0])
                .min(range[1])
                .clamp(0.0, 3.0);
            let expected = (level * 256.0).round() / 256.0 * 100.0;
            assert!((values.numbers()[0] - expected).abs() < 1e-3, "{n}");
        }
    }
}

#[test]
fn gradients_select_a_level() {
    for (geometry, extent) in [
        (".1d", Extent::Line { width: 64 }),
        (
            ".2d",
            Extent::Image {
                width: 64,
                height: 64,
            },
        ),
        (
            ".3d",
            Extent::Volume {
                width: 64,
                height: 64,
                depth: 64,
            },
        ),
        (
            ".a2d",
            Extent::Image {
                width: 64,
                height: 64,
            },
        ),
    ] {
        let mut read = Read::new(geometry);
        read.opcode = "tex.grad";
        read.further = match geometry {
            ".1d" => ", {%c4}, {%c5}",
            ".3d" => ", {%c4, %c5, %c6, %c6}, {%c6, %c7, %c6, %c6}",
            _ => ", {%c4, %c5}, {%c6, %c7}",
        };
        let dimensions = match geometry {
            ".1d" => 1,
            ".3d" => 3,
            _ => 2,
        };
        let mut random = fastrand::Rng::with_seed(10);
        let operands: Vec<Operands> = (0..64)
            .map(|_| {
                let mut gradient = || random.f32() * 2f32.powi(random.i32(-7..1));
                words(&[
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                    gradient(),
                    gradient(),
                    gradient(),
                    gradient(),
                ])
            })
            .collect();
        let layers = (geometry == ".a2d").then_some(1);
        let values = run(&read, &operands, |machine| {
            let array = mipmap(machine, extent, layers, 7);
            level_texture(machine, array, |sampler| {
                sampler.level_filter = FilterMode::Linear
            })
        });
        for (values, operands) in values.iter().zip(operands) {
            let [a, b, c, d] = [4, 5, 6, 7].map(|n| 64.0 * f32::from_bits(operands[n]));
            let lengths = match dimensions {
                1 => [a, b],
                2 => [a.hypot(b), c.hypot(d)],
                _ => [a.hypot(b).hypot(c), c.hypot(d).hypot(c)],
            };
            let level = lengths[0].max(lengths[1]).log2().clamp(0.0, 6.0);
            let error = (values.numbers()[0] / 100.0 - level).abs();
            assert!(error < 1.0 / 256.0, "{geometry} {lengths:?}");
        }
    }
}

#[test]
fn gradients_of_directions_select_a_level() {
    let mut read = Read::new(".cube");
    read.opcode = "tex.grad";
    read.further = ", {%c4, %c5, %c6, %c6}, {%c7, %c7, %c7, %c7}";
    // In face 0 the coordinates are (1 - z / x) / 2 and (1 - y / x) / 2; there are 64 texels in a row.
    let operands = [
        words(&[1.0, 0.9, 0.9, 0.0, 0.0, 0.125, 0.0, 0.0]),
        words(&[2.0, 1.8, 1.8, 0.0, 0.0, 0.0, 0.5, 0.0]),
        words(&[1.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0]),
    ];
    let values = run(&read, &operands, |machine| {
        let array = mipmap(machine, Extent::Cube { edge: 64 }, None, 7);
        level_texture(machine, array, |_| {})
    });
    let levels: Vec<u32> = values.iter().map(|v| v.numbers()[0] as u32 / 100).collect();
    // The texel in the middle of face 0 has a number above 100 in level 0.
    assert_eq!(levels[..2], [2, 3]);
    assert_eq!(values[2].numbers()[0], 32.0 * 64.0 + 32.0);
}
