//! Reads with integer coordinates, offsets, comparisons, linear memory, several samples and texels that are not resident; errors.

use ptx_vm::{
    AddressMode, ArrayDescription, ChannelType, Comparison, Extent, FilterMode, Machine, Sampler,
    StopReason, TexelBox, TexelFormat, TextureDescription,
};

use crate::addressing::array_of;
use crate::kernels::{Operands, Read, run, try_run, words};

const NUMBERS: TexelFormat = TexelFormat::new(ChannelType::F32, 1);

/// Operands from integers.
fn integers(numbers: &[i32]) -> Operands {
    let mut words = [0; 8];
    for (word, number) in words.iter_mut().zip(numbers) {
        *word = number.cast_unsigned();
    }
    words
}

/// A geometry, whose array has at most 5 × 4 × 3 texels in a layer.
struct Geometry {
    name: &'static str,
    dimensions: usize,
    samples: i32,
    layers: Option<u32>,
}

impl Geometry {
    fn size(&self) -> [i32; 3] {
        let size = [5, 4, 3];
        std::array::from_fn(|dimension| {
            if dimension < self.dimensions {
                size[dimension]
            } else {
                1
            }
        })
    }

    fn description(&self) -> ArrayDescription {
        let [width, height, depth] = self.size().map(i32::cast_unsigned);
        let extent = match self.dimensions {
            1 => Extent::Line { width },
            2 => Extent::Image { width, height },
            _ => Extent::Volume {
                width,
                height,
                depth,
            },
        };
        let mut description =
            ArrayDescription::new(extent, NUMBERS).samples(self.samples.cast_unsigned());
        description.layers = self.layers;
        description
    }

    /// The operands of a read with random coordinates and offsets, and its result: the texels are numbered from 1.
    fn random_read(&self, random: &mut fastrand::Rng) -> ([u32; 8], f32) {
        let size = self.size();
        let images = self.layers.unwrap_or(1).cast_signed();
        let coordinates = size.map(|n| random.i32(-2..n + 2));
        let offsets = [0; 3].map(|_: i32| random.i32(-8..8) / 4);
        let layer = random.i32(0..images + 1);
        let sample = random.i32(0..self.samples + 1);
        let [x, y, z] = coordinates;
        let coordinates = match self.name {
            ".a1d" => vec![layer, x],
            ".a2d" => vec![layer, x, y],
            ".2dms" => vec![sample, x, y],
            ".a2dms" => vec![sample, layer, x, y],
            _ => vec![x, y, z],
        };
        let mut operands = integers(&coordinates);
        for (word, offset) in operands[4..].iter_mut().zip(offsets) {
            *word = offset.cast_unsigned();
        }
        let sums = [x + offsets[0], y + offsets[1], z + offsets[2]];
        let [x, y, z] = std::array::from_fn(|dimension| {
            if dimension < self.dimensions {
                sums[dimension]
            } else {
                0
            }
        });
        let layer = if self.layers.is_some() { layer } else { 0 };
        let sample = if self.samples > 1 { sample } else { 0 };
        let is_inside = [x, y, z, layer, sample]
            .into_iter()
            .zip([size[0], size[1], size[2], images, self.samples])
            .all(|(number, count)| (0..count).contains(&number));
        let index = (((layer * size[2] + z) * size[1] + y) * size[0] + x) * self.samples + sample;
        (operands, if is_inside { index as f32 + 1.0 } else { 0.0 })
    }
}

#[test]
fn integer_coordinates_are_numbers_of_texels() {
    let mut random = fastrand::Rng::with_seed(6);
    for (name, dimensions, samples, layers) in [
        (".1d", 1, 1, None),
        (".2d", 2, 1, None),
        (".3d", 3, 1, None),
        (".a1d", 1, 1, Some(3)),
        (".a2d", 2, 1, Some(3)),
        (".2dms", 2, 4, None),
        (".a2dms", 2, 2, Some(3)),
    ] {
        let geometry = Geometry {
            name,
            dimensions,
            samples,
            layers,
        };
        let description = geometry.description();
        let texels: Vec<u8> = (0..description.level_bytes(0) / 4)
            .flat_map(|n| (n as f32 + 1.0).to_le_bytes())
            .collect();
        let reads: Vec<_> = (0..192)
            .map(|_| geometry.random_read(&mut random))
            .collect();
        let operands: Vec<_> = reads.iter().map(|(operands, _)| *operands).collect();
        let mut read = Read::new(name);
        read.coordinates = ".s32";
        read.further = match dimensions {
            1 => ", {%c4}",
            2 => ", {%c4, %c5}",
            _ => ", {%c4, %c5, %c6, %c7}",
        };
        let values = run(&read, &operands, |machine| {
            let array = machine.create_array(&description).unwrap();
            machine.write_array(array, 0, &texels).unwrap();
            // Neither the address mode nor the unit of coordinates matters.
            let texture = TextureDescription::new(Sampler::default().normalized());
            [machine.create_texture(array, &texture).unwrap(), 0]
        });
        for (values, (operands, expected)) in values.iter().zip(reads) {
            assert_eq!(values.numbers()[0], expected, "{name} {operands:?}");
        }
    }
}

#[test]
fn separate_samplers_convert_integer_coordinates() {
    let mut read = Read::new(".1d");
    read.coordinates = ".s32";
    read.target = "sm_90, texmode_independent";
    let operands = [-1, 0, 1, 2, 5].map(|x| integers(&[x]));
    let found = |sampler: Sampler| {
        let values = run(&read, &operands, |machine| {
            let array = array_of(machine, &[3], None, &[1.0, 2.0, 4.0]);
            let texture = machine
                .create_texture(array, &TextureDescription::default())
                .unwrap();
            [texture, machine.create_sampler(&sampler).unwrap()]
        });
        values.iter().map(|v| v.numbers()[0]).collect::<Vec<_>>()
    };
    assert_eq!(found(Sampler::default()), [1.0, 1.0, 2.0, 4.0, 4.0]);
    let border = Sampler::default().address_mode(AddressMode::ClampToBorder);
    assert_eq!(found(border), [0.0, 1.0, 2.0, 4.0, 0.0]);
    let linear = Sampler::default().filter(FilterMode::Linear);
    assert_eq!(found(linear), [1.0, 1.0, 1.5, 3.0, 4.0]);
}

#[test]
fn offsets_are_added_to_coordinates_in_texels() {
    for is_normalized in [false, true] {
        let mut read = Read::new(".2d");
        read.further = ", {%c4, %c5}";
        let mut operands = Vec::new();
        let mut expected = Vec::new();
        for (x, y, dx, dy) in [(0, 0, 3, 1), (4, 2, -2, -2), (1, 1, -8, 7), (4, 0, 1, 0)] {
            let center = [x as f32 + 0.5, y as f32 + 0.5];
            let unit = if is_normalized {
                [5.0, 3.0]
            } else {
                [1.0, 1.0]
            };
            let mut all = words(&[center[0] / unit[0], center[1] / unit[1]]);
            all[4] = i32::cast_unsigned(dx);
            all[5] = i32::cast_unsigned(dy);
            operands.push(all);
            let [x, y] = [(x + dx).clamp(0, 4), (y + dy).clamp(0, 2)];
            expected.push((y * 5 + x) as f32);
        }
        let values = run(&read, &operands, |machine| {
            let texels: Vec<f32> = (0..15).map(|n| n as f32).collect();
            let array = array_of(machine, &[5, 3], None, &texels);
            let mut sampler = Sampler::default();
            if is_normalized {
                sampler = sampler.normalized();
            }
            [
                machine
                    .create_texture(array, &TextureDescription::new(sampler))
                    .unwrap(),
                0,
            ]
        });
        let found: Vec<f32> = values.iter().map(|v| v.numbers()[0]).collect();
        assert_eq!(found, expected);
    }
    let mut read = Read::new(".1d");
    read.further = ", {%c4}";
    let error = try_run(&read, &[integers(&[0, 0, 0, 0, 8])], |machine| {
        let array = array_of(machine, &[1], None, &[0.0]);
        [
            machine
                .create_texture(array, &TextureDescription::default())
                .unwrap(),
            0,
        ]
    });
    let reason = error.unwrap_err().reason;
    assert_eq!(
        reason,
        StopReason::Invalid("expected an offset from -8 to 7, found 8".into())
    );
}

#[test]
fn comparisons_happen_before_filtering() {
    let mut read = Read::new(".2d");
    read.further = ", %depth";
    let depths = [0.25, 0.5, 0.75, 1.0];
    let all = [
        (Comparison::Never, [0.0, 0.0, 0.0, 0.0]),
        (Comparison::Less, [0.0, 0.0, 1.0, 1.0]),
        (Comparison::Equal, [0.0, 1.0, 0.0, 0.0]),
        (Comparison::LessEqual, [0.0, 1.0, 1.0, 1.0]),
        (Comparison::Greater, [1.0, 0.0, 0.0, 0.0]),
        (Comparison::NotEqual, [1.0, 0.0, 1.0, 1.0]),
        (Comparison::GreaterEqual, [1.0, 1.0, 0.0, 0.0]),
        (Comparison::Always, [1.0, 1.0, 1.0, 1.0]),
    ];
    for (comparison, passes) in all {
        // The centers of the texels, and the middle between the first two.
        let mut operands: Vec<Operands> = (0..4)
            .map(|x| words(&[x as f32 + 0.5, 0.5, 0.0, 0.0, 0.5]))
            .collect();
        operands.push(words(&[1.0, 0.5, 0.0, 0.0, 0.5]));
        let values = run(&read, &operands, |machine| {
            let array = array_of(machine, &[4, 1], None, &depths);
            let mut sampler = Sampler::default().filter(FilterMode::Linear);
            sampler.comparison = comparison;
            [
                machine
                    .create_texture(array, &TextureDescription::new(sampler))
                    .unwrap(),
                0,
            ]
        });
        let found: Vec<f32> = values.iter().map(|v| v.numbers()[0]).collect();
        assert_eq!(found[..4], passes, "{comparison:?}");
        assert_eq!(found[4], (passes[0] + passes[1]) / 2.0, "{comparison:?}");
    }
}

#[test]
fn gathers_return_four_texels_counterclockwise() {
    let mut random = fastrand::Rng::with_seed(7);
    for (component, letter) in ["tld4.r", "tld4.g", "tld4.b", "tld4.a"]
        .into_iter()
        .enumerate()
    {
        for layers in [None, Some(2)] {
            let mut read = Read::new(if layers.is_some() { ".a2d" } else { ".2d" });
            read.opcode = letter;
            read.result = ".s32";
            let [width, height] = [6, 5];
            let texel = |layer: i32, x: i32, y: i32| {
                let [x, y] = [x.clamp(0, width - 1), y.clamp(0, height - 1)];
                1000 * layer + 100 * x + 10 * y + component as i32
            };
            let mut operands = Vec::new();
            let mut expected = Vec::new();
            for _ in 0..64 {
                let [x, y, layer] = [
                    random.i32(-1..width),
                    random.i32(-1..height),
                    random.i32(0..2),
                ];
                // A place between the centers of the four texels.
                let coordinates = [
                    x as f32 + 0.5 + random.i32(1..16) as f32 / 16.0,
                    y as f32 + 0.5 + random.i32(1..16) as f32 / 16.0,
                ];
                let mut all = words(&coordinates);
                let mut layer_of_result = 0;
                if layers.is_some() {
                    all.rotate_right(1);
                    all[0] = layer.cast_unsigned();
                    layer_of_result = layer;
                }
                operands.push(all);
                expected.push(
                    [[x, y + 1], [x + 1, y + 1], [x + 1, y], [x, y]]
                        .map(|[x, y]| texel(layer_of_result, x, y)),
                );
            }
            let values = run(&read, &operands, |machine| {
                let extent = Extent::Image {
                    width: 6,
                    height: 5,
                };
                let mut description =
                    ArrayDescription::new(extent, TexelFormat::new(ChannelType::S32, 4));
                description.layers = layers;
                let array = machine.create_array(&description).unwrap();
                let texels: Vec<u8> = (0..layers.unwrap_or(1) as i32 * 30)
                    .flat_map(|n| {
                        (0..4).map(move |c| 1000 * (n / 30) + 100 * (n % 6) + 10 * (n / 6 % 5) + c)
                    })
                    .flat_map(i32::to_le_bytes)
                    .collect();
                machine.write_array(array, 0, &texels).unwrap();
                [
                    machine
                        .create_texture(array, &TextureDescription::default())
                        .unwrap(),
                    0,
                ]
            });
            for (values, expected) in values.iter().zip(expected) {
                assert_eq!(values.bits.map(u32::cast_signed), expected);
            }
        }
    }
}

#[test]
fn linear_memory_is_read_by_numbers_of_texels() {
    let mut read = Read::new(".1d");
    read.coordinates = ".s32";
    let operands = [-1, 0, 1, 9, 10].map(|x| integers(&[x]));
    let set_up = |machine: &mut Machine<'_>| {
        let data = machine.allocate(160).unwrap();
        let numbers: Vec<f32> = (0..40).map(|n| n as f32).collect();
        machine.write_slice(data, &numbers).unwrap();
        let format = TexelFormat::new(ChannelType::F32, 4);
        let texture = TextureDescription::default();
        [
            machine
                .create_linear_texture(data, 10, format, &texture)
                .unwrap(),
            0,
        ]
    };
    let values = run(&read, &operands, set_up);
    let found: Vec<[f32; 4]> = values.iter().map(|v| v.numbers()).collect();
    assert_eq!(found[..2], [[0.0; 4], [0.0, 1.0, 2.0, 3.0]]);
    assert_eq!(
        found[2..],
        [[4.0, 5.0, 6.0, 7.0], [36.0, 37.0, 38.0, 39.0], [0.0; 4]]
    );
    read.coordinates = ".f32";
    let error = try_run(&read, &operands, set_up).unwrap_err().reason;
    assert!(error.to_string().contains("integer coordinates"), "{error}");
}

#[test]
fn images_in_linear_memory_have_a_pitch() {
    let mut read = Read::new(".2d");
    read.result = ".u32";
    let operands: Vec<Operands> = (0..12)
        .map(|n| words(&[(n % 4) as f32 + 0.5, (n / 4) as f32 + 0.5]))
        .collect();
    let values = run(&read, &operands, |machine| {
        let data = machine.allocate(96).unwrap();
        let bytes: Vec<u8> = (0..96).collect();
        machine.write(data, &bytes).unwrap();
        let format = TexelFormat::new(ChannelType::U8, 1);
        let texture = TextureDescription::default();
        [
            machine
                .create_pitch_texture(data, [4, 3], 32, format, &texture)
                .unwrap(),
            0,
        ]
    });
    let found: Vec<u32> = values.iter().map(|v| v.bits[0]).collect();
    assert_eq!(found, [0, 1, 2, 3, 32, 33, 34, 35, 64, 65, 66, 67]);
}

#[test]
fn texels_that_are_not_resident_are_zero() {
    let mut read = Read::new(".2d");
    let operands: Vec<Operands> = (0..16)
        .map(|n| words(&[(n % 4) as f32 + 0.5, (n / 4) as f32 + 0.5]))
        .collect();
    for opcode in ["tex", "tex.base"] {
        read.opcode = opcode;
        let values = run(&read, &operands, |machine| {
            let array = array_of(machine, &[4, 4], None, &[7.0; 16]);
            let texture = machine
                .create_texture(array, &TextureDescription::default())
                .unwrap();
            let absent = TexelBox {
                level: 0,
                layer: None,
                start: [1, 2, 0],
                size: [2, 2, 1],
            };
            machine.set_absent(array, absent).unwrap();
            [texture, 0]
        });
        for (n, values) in values.iter().enumerate() {
            let is_absent = (1..3).contains(&(n % 4)) && n / 4 >= 2;
            assert_eq!(values.is_resident, !is_absent);
            assert_eq!(values.numbers()[0], if is_absent { 0.0 } else { 7.0 });
        }
    }
}

#[test]
fn wrong_objects_end_the_run() {
    let read = Read::new(".2d");
    let fails = |set_up: &dyn Fn(&mut Machine<'_>) -> u64| {
        let error = try_run(&read, &[words(&[0.0])], |machine| [set_up(machine), 0]);
        let StopReason::Invalid(description) = error.unwrap_err().reason else {
            panic!("another error");
        };
        description
    };
    let error = fails(&|_| 5);
    assert!(error.contains("found 0x5"), "{error}");
    let error = fails(&|machine| machine.create_sampler(&Sampler::default()).unwrap());
    assert!(
        error.contains("expected a texture, found a sampler"),
        "{error}"
    );
    let error = fails(&|machine| {
        let array = array_of(machine, &[2, 2, 2], None, &[0.0; 8]);
        machine
            .create_texture(array, &TextureDescription::default())
            .unwrap()
    });
    assert!(
        error.contains("`.2d`") && error.contains("Volume"),
        "{error}"
    );
    let error = fails(&|machine| {
        let array = array_of(machine, &[2, 2], Some(2), &[0.0; 8]);
        machine
            .create_texture(array, &TextureDescription::default())
            .unwrap()
    });
    assert!(error.contains("2 layers"), "{error}");
}
