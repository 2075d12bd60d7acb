//! Address modes, filters and coordinates in all geometries with floating-point coordinates.

use ptx_vm::{
    AddressMode, Array, ArrayDescription, ChannelType, Extent, FilterMode, Machine, Sampler,
    TexelFormat, TextureDescription,
};

use crate::kernels::{Operands, Read, run, words};
use crate::reference::Reference;

const MODES: [AddressMode; 5] = [
    AddressMode::Wrap,
    AddressMode::Mirror,
    AddressMode::ClampOgl,
    AddressMode::ClampToEdge,
    AddressMode::ClampToBorder,
];

/// A geometry, and how many layers it has.
const GEOMETRIES: [(&str, usize, bool); 5] = [
    (".1d", 1, false),
    (".2d", 2, false),
    (".3d", 3, false),
    (".a1d", 1, true),
    (".a2d", 2, true),
];

const LAYERS: usize = 3;

fn extent(size: &[usize]) -> Extent {
    let size: Vec<u32> = size.iter().map(|&n| n as u32).collect();
    match size[..] {
        [width] => Extent::Line { width },
        [width, height] => Extent::Image { width, height },
        _ => Extent::Volume {
            width: size[0],
            height: size[1],
            depth: size[2],
        },
    }
}

/// An array of numbers with one level.
pub(crate) fn array_of(
    machine: &mut Machine<'_>,
    size: &[usize],
    layers: Option<u32>,
    texels: &[f32],
) -> Array {
    let mut description =
        ArrayDescription::new(extent(size), TexelFormat::new(ChannelType::F32, 1));
    description.layers = layers;
    let array = machine.create_array(&description).unwrap();
    let bytes: Vec<u8> = texels.iter().flat_map(|t| t.to_le_bytes()).collect();
    machine.write_array(array, 0, &bytes).unwrap();
    array
}

/// A coordinate around the texture, away from the places where rounding decides.
fn coordinate(random: &mut fastrand::Rng, size: usize, is_normalized: bool) -> f32 {
    let texels = size as f32;
    let eighths = random.i32(-24 * size as i32..24 * size as i32) as f32 / 8.0;
    let x = eighths + 1.0 / 64.0;
    if is_normalized { x / texels } else { x }
}

fn check(read: &Read, dimensions: usize, has_layers: bool, filter: FilterMode, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for mode in MODES {
        for is_normalized in [false, true] {
            let size: Vec<usize> = (0..dimensions).map(|_| random.usize(1..9)).collect();
            let layers = if has_layers { LAYERS } else { 1 };
            let count = size.iter().product::<usize>();
            let texels: Vec<f32> = (0..layers * count)
                .map(|_| random.i32(-999..999) as f32)
                .collect();
            let mut modes = [mode; 3];
            modes[1] = MODES[random.usize(..5)];
            let border = 0.5;
            let references: Vec<Reference> = texels
                .chunks(count)
                .map(|texels| Reference {
                    size: size.clone(),
                    texels: texels.to_vec(),
                    modes,
                    is_normalized,
                    border,
                })
                .collect();
            let mut operands: Vec<Operands> = Vec::new();
            let mut expected = Vec::new();
            for _ in 0..96 {
                let coordinates: Vec<f32> = size
                    .iter()
                    .map(|&n| coordinate(&mut random, n, is_normalized))
                    .collect();
                // The last layer is also that of larger indices.
                let layer = random.usize(..LAYERS + 2);
                let reference = &references[layer.min(layers - 1)];
                expected.push(match filter {
                    FilterMode::Linear => reference.linear(&coordinates),
                    _ => reference.nearest(&coordinates),
                });
                let mut words = words(&coordinates);
                if has_layers {
                    words.rotate_right(1);
                    words[0] = layer as u32;
                }
                operands.push(words);
            }
            let values = run(read, &operands, |machine| {
                let layers = has_layers.then_some(LAYERS as u32);
                let array = array_of(machine, &size, layers, &texels);
                let mut sampler = Sampler::default().filter(filter);
                sampler.address_modes = modes;
                sampler.border_color = [border; 4];
                if is_normalized {
                    sampler = sampler.normalized();
                }
                let texture = TextureDescription::new(sampler);
                let texture = machine.create_texture(array, &texture).unwrap();
                let sampler = machine.create_sampler(&sampler).unwrap();
                [texture, sampler]
            });
            for ((values, expected), operands) in values.iter().zip(expected).zip(operands) {
                let [value, rest @ ..] = values.numbers();
                assert_eq!(rest, [0.0; 3]);
                let error = (f64::from(value) - expected).abs();
                let allowed = match filter {
                    FilterMode::Linear => 1e-4,
                    _ => 0.0,
                };
                assert!(
                    error <= allowed,
                    "{} {modes:?} {size:?} normalized {is_normalized}: {value} and not {expected} at {:?}",
                    read.text(),
                    operands.map(f32::from_bits)
                );
            }
        }
    }
}

#[test]
fn nearest_texels_are_those_of_the_formulas() {
    for (geometry, dimensions, has_layers) in GEOMETRIES {
        let read = Read::new(geometry);
        check(&read, dimensions, has_layers, FilterMode::Nearest, 1);
        check(&read, dimensions, has_layers, FilterMode::Nearest, 2);
    }
}

#[test]
fn linear_filtering_has_weights_of_eight_bits() {
    for (geometry, dimensions, has_layers) in GEOMETRIES {
        let read = Read::new(geometry);
        check(&read, dimensions, has_layers, FilterMode::Linear, 3);
    }
}

#[test]
fn separate_samplers_decide_in_independent_mode() {
    for (geometry, dimensions, has_layers) in GEOMETRIES {
        for filter in [FilterMode::Nearest, FilterMode::Linear] {
            let mut read = Read::new(geometry);
            read.target = "sm_90, texmode_independent";
            check(&read, dimensions, has_layers, filter, 4);
        }
    }
}

#[test]
fn weights_are_rounded_to_the_nearest_of_256() {
    let read = Read::new(".1d");
    let operands: Vec<Operands> = (0..1024)
        .map(|n| words(&[0.5 + n as f32 / 1024.0]))
        .collect();
    let values = run(&read, &operands, |machine| {
        let array = array_of(machine, &[2], None, &[0.0, 256.0]);
        let sampler = Sampler::default().filter(FilterMode::Linear);
        let texture = TextureDescription::new(sampler);
        [machine.create_texture(array, &texture).unwrap(), 0]
    });
    for (n, values) in values.iter().enumerate() {
        assert_eq!(values.numbers()[0], ((n + 2) / 4) as f32);
    }
}

#[test]
fn coordinates_that_are_not_numbers_select_a_texel() {
    let read = Read::new(".1d");
    for (mode, expected) in [
        (AddressMode::Wrap, [1.0, 1.0, 1.0, 1.0]),
        (AddressMode::Mirror, [1.0, 1.0, 1.0, 1.0]),
        (AddressMode::ClampToEdge, [1.0, 3.0, 1.0, 3.0]),
        (AddressMode::ClampToBorder, [1.0, 9.0, 9.0, 9.0]),
    ] {
        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e38];
        let operands = special.map(|x| words(&[x]));
        let values = run(&read, &operands, |machine| {
            let array = array_of(machine, &[4], None, &[1.0, 2.0, 2.0, 3.0]);
            let mut sampler = Sampler::default().address_mode(mode).normalized();
            sampler.border_color = [9.0; 4];
            let texture = TextureDescription::new(sampler);
            [machine.create_texture(array, &texture).unwrap(), 0]
        });
        let found: Vec<f32> = values.iter().map(|v| v.numbers()[0]).collect();
        assert_eq!(found, expected, "{mode:?}");
    }
}
