//! Cubes: the face and the texel that a direction selects.

use ptx_vm::{
    Array, ArrayDescription, ChannelType, CubeEdges, Extent, FilterMode, Machine, Sampler,
    TexelFormat, TextureDescription,
};

use crate::kernels::{Operands, Read, run, words};

const EDGE: usize = 4;

/// The table of the guide: the face, and the coordinates from -1 to 1.
fn face([x, y, z]: [f32; 3]) -> (usize, [f64; 2]) {
    let (x, y, z) = (f64::from(x), f64::from(y), f64::from(z));
    let (face, m, s, t) = if x.abs() > y.abs() && x.abs() > z.abs() {
        if x >= 0.0 {
            (0, x, -z, -y)
        } else {
            (1, -x, z, -y)
        }
    } else if y.abs() > z.abs() {
        if y >= 0.0 {
            (2, y, x, z)
        } else {
            (3, -y, x, -z)
        }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [s / m, t / m])
}

fn texel(cube: usize, face: usize, [x, y]: [usize; 2]) -> f32 {
    (((cube * 6 + face) * EDGE + y) * EDGE + x) as f32
}

fn cubes(machine: &mut Machine<'_>, count: Option<u32>) -> Array {
    let extent = Extent::Cube { edge: EDGE as u32 };
    let mut description = ArrayDescription::new(extent, TexelFormat::new(ChannelType::F32, 1));
    description.layers = count;
    let array = machine.create_array(&description).unwrap();
    let texels = count.unwrap_or(1) as usize * 6 * EDGE * EDGE;
    let bytes: Vec<u8> = (0..texels).flat_map(|n| (n as f32).to_le_bytes()).collect();
    machine.write_array(array, 0, &bytes).unwrap();
    array
}

fn directions(count: usize, seed: u64) -> Vec<[f32; 3]> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut directions = Vec::new();
    while directions.len() < count {
        let direction: [f32; 3] = core::array::from_fn(|_| random.f32() * 4.0 - 2.0);
        let mut magnitudes = direction.map(f32::abs);
        magnitudes.sort_by(f32::total_cmp);
        // Not near an edge of the cube.
        if magnitudes[2] > magnitudes[1] * 1.001 {
            directions.push(direction);
        }
    }
    directions
}

#[test]
fn directions_select_faces_and_texels() {
    for (geometry, count) in [(".cube", None), (".acube", Some(3))] {
        for opcode in ["tex", "tex.base"] {
            let mut read = Read::new(geometry);
            read.opcode = opcode;
            let mut operands: Vec<Operands> = Vec::new();
            let mut expected = Vec::new();
            for (index, direction) in directions(256, 8).into_iter().enumerate() {
                let mut all = words(&direction);
                let cube = if count.is_some() { index % 4 } else { 0 };
                if count.is_some() {
                    all.rotate_right(1);
                    all[0] = cube as u32;
                }
                operands.push(all);
                let (face, coordinates) = face(direction);
                let position = coordinates.map(|c| ((c + 1.0) / 2.0 * EDGE as f64) as usize);
                // An index beyond the last cube selects the last one.
                expected.push(texel(cube.min(2), face, position));
            }
            let values = run(&read, &operands, |machine| {
                let array = cubes(machine, count);
                [
                    machine
                        .create_texture(array, &TextureDescription::default())
                        .unwrap(),
                    0,
                ]
            });
            let found: Vec<f32> = values.iter().map(|v| v.numbers()[0]).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn gathers_stay_in_a_face() {
    let mut read = Read::new(".cube");
    read.opcode = "tld4.r";
    let directions = directions(128, 9);
    let operands: Vec<Operands> = directions.iter().map(|d| words(d)).collect();
    let values = run(&read, &operands, |machine| {
        let array = cubes(machine, None);
        [
            machine
                .create_texture(array, &TextureDescription::default())
                .unwrap(),
            0,
        ]
    });
    for (values, direction) in values.iter().zip(directions) {
        let (face, coordinates) = face(direction);
        let [x, y] =
            coordinates.map(|c| ((c + 1.0) / 2.0 * EDGE as f64 - 0.5 + 1.0 / 512.0).floor() as i64);
        let inside = |n: i64| n.clamp(0, EDGE as i64 - 1) as usize;
        let expected = [[x, y + 1], [x + 1, y + 1], [x + 1, y], [x, y]]
            .map(|position| texel(0, face, position.map(inside)));
        assert_eq!(values.numbers(), expected);
    }
}

#[test]
fn seamless_edges_continue_in_the_adjacent_face() {
    // A function of the direction that is linear on the cube is continuous across its edges.
    let read = Read::new(".cube");
    let mut operands = Vec::new();
    for (a, b) in [(0, 1), (0, 2), (1, 2), (2, 1), (1, 0), (2, 0)] {
        for signs in 0..4 {
            for step in -3..=3 {
                let mut direction = [0.1f32, 0.1, 0.1];
                let sign = |bit: i32| if signs >> bit & 1 == 1 { -1.0 } else { 1.0 };
                direction[a] = sign(0);
                direction[b] = sign(1) * (1.0 - step as f32 / 1000.0);
                operands.push(words(&direction));
            }
        }
    }
    let found = |edges: CubeEdges| {
        let values = run(&read, &operands, |machine| {
            let extent = Extent::Cube { edge: 16 };
            let description = ArrayDescription::new(extent, TexelFormat::new(ChannelType::F32, 1));
            let array = machine.create_array(&description).unwrap();
            let mut bytes = Vec::new();
            for face in 0..6 {
                for n in 0..256 {
                    let [s, t] = [n % 16, n / 16].map(|n| (n as f32 + 0.5) / 8.0 - 1.0);
                    let [x, y, z] = match face {
                        0 => [1.0, -t, -s],
                        1 => [-1.0, -t, s],
                        2 => [s, 1.0, t],
                        3 => [s, -1.0, -t],
                        4 => [s, -t, 1.0],
                        _ => [-s, -t, -1.0],
                    };
                    bytes.extend((x * 100.0 + y * 10.0 + z).to_le_bytes());
                }
            }
            machine.write_array(array, 0, &bytes).unwrap();
            let mut sampler = Sampler::default().filter(FilterMode::Linear);
            sampler.cube_edges = edges;
            [
                machine
                    .create_texture(array, &TextureDescription::new(sampler))
                    .unwrap(),
                0,
            ]
        });
        values.iter().map(|v| v.numbers()[0]).collect::<Vec<f32>>()
    };
    let largest_step = |values: Vec<f32>| {
        let steps = values.chunks(7).flat_map(|v| {
            v.windows(2)
                .map(|w| (w[0] - w[1]).abs())
                .collect::<Vec<_>>()
        });
        steps.fold(0.0, f32::max)
    };
    let seamless = largest_step(found(CubeEdges::Seamless));
    let separate = largest_step(found(CubeEdges::Separate));
    assert!(seamless < 1.0, "{seamless}");
    assert!(separate > 4.0, "{separate}");
}

#[test]
fn corners_of_seamless_cubes_are_means() {
    let mut read = Read::new(".cube");
    read.opcode = "tld4.r";
    let values = run(&read, &[words(&[1.0, 0.999, 0.998])], |machine| {
        let array = cubes(machine, None);
        let mut sampler = Sampler::default();
        sampler.cube_edges = CubeEdges::Seamless;
        [
            machine
                .create_texture(array, &TextureDescription::new(sampler))
                .unwrap(),
            0,
        ]
    });
    // In face 0, s = -z and t = -y: the texel is the first one of the face. The corner is shared with faces 2 and 4.
    let own = texel(0, 0, [0, 0]);
    let above = texel(0, 2, [EDGE - 1, EDGE - 1]);
    let left = texel(0, 4, [EDGE - 1, 0]);
    let [lower_left, lower_right, upper_right, upper_left] = values[0].numbers();
    assert_eq!([lower_left, lower_right, upper_right], [left, own, above]);
    assert!((upper_left - (own + above + left) / 3.0).abs() < 1e-4);
}
