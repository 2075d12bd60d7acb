//! Reads of textures, against the formulas of the section "Texture Fetching" of the CUDA programming guide.

use ptx_cuda::abi::arrays::{
    ArrayDescriptor, ResourceDescriptor, ResourceView, TextureDescriptor, array_flag,
    resource_type, texture_flag,
};
use ptx_cuda::driver::array::{cuArrayDestroy, cuMipmappedArrayCreate, cuMipmappedArrayGetLevel};
use ptx_cuda::driver::texture::*;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::common::{
    F32, Random, U8, U32, create, descriptor, fill, kernel, layered, load, session, sizes,
};
use crate::session::{Session, argument, result, succeeds};

/// A module whose kernel reads a texture with four words of coordinates for each thread.
fn module(instruction: &str) -> Raw {
    load(&format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n
.visible .entry read(.param .u64 in, .param .u64 out, .param .u64 texture)
{{
.reg .b32 %t, %r<4>, %c<4>; .reg .b64 %in, %out, %texture;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %texture, [texture];
mov.u32 %t, %tid.x;
mad.wide.u32 %in, %t, 16, %in; mad.wide.u32 %out, %t, 16, %out;
ld.global.v4.b32 {{%c0, %c1, %c2, %c3}}, [%in];
{instruction}
st.global.v4.b32 [%out], {{%r0, %r1, %r2, %r3}};
ret;
}}
"
    ))
}

/// The values of reads of a texture.
pub(crate) fn read(
    session: &Session,
    instruction: &str,
    texture: u64,
    coordinates: &[[u32; 4]],
) -> Vec<[u32; 4]> {
    let kernel = kernel(module(instruction), "read");
    let input = session.buffer(coordinates);
    let output = session.buffer(coordinates);
    let arguments = [argument(&input), argument(&output), argument(&texture)];
    succeeds(session.launch(kernel, coordinates.len() as u32, &arguments));
    succeeds(session.synchronize());
    let words = session.numbers(output, 4 * coordinates.len());
    words
        .chunks(4)
        .map(|four| four.try_into().unwrap())
        .collect()
}

const READ_2D: &str = "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%c0, %c1}];";

/// The descriptor of an array, a mipmapped array, or linear memory.
pub(crate) fn resource(resource_type: u32, words: &[u64]) -> ResourceDescriptor {
    let mut resource = ResourceDescriptor {
        resource_type,
        ..ResourceDescriptor::default()
    };
    resource.words[..words.len()].copy_from_slice(words);
    resource
}

fn texture(resource: &ResourceDescriptor, descriptor: &TextureDescriptor) -> Result<u64, Status> {
    result(|texture| cuTexObjectCreate(texture, Some(resource), Some(descriptor), None))
}

const WRAP: u32 = 0;
const CLAMP: u32 = 1;
const MIRROR: u32 = 2;
const BORDER: u32 = 3;

/// The texel of an axis for a number that may be outside; `None` for the border.
fn address(mode: u32, number: i64, size: i64) -> Option<i64> {
    match mode {
        CLAMP => Some(number.clamp(0, size - 1)),
        WRAP => Some(number.rem_euclid(size)),
        MIRROR => {
            let number = number.rem_euclid(2 * size);
            Some(number.min(2 * size - 1 - number))
        }
        _ => (0..size).contains(&number).then_some(number),
    }
}

/// The texels of an axis with their weights, for a coordinate in texels.
fn neighbors(mode: u32, is_linear: bool, coordinate: f64, size: i64) -> Vec<(Option<i64>, f64)> {
    if !is_linear {
        return vec![(address(mode, coordinate.floor() as i64, size), 1.0)];
    }
    let shifted = coordinate - 0.5;
    let first = shifted.floor();
    let weight = shifted - first;
    let number = first as i64;
    vec![
        (address(mode, number, size), 1.0 - weight),
        (address(mode, number + 1, size), weight),
    ]
}

/// The value of a read of an image of numbers.
fn expected(
    texels: &dyn Fn(i64, i64) -> f64,
    size: [i64; 2],
    descriptor: &TextureDescriptor,
    coordinates: [f64; 2],
) -> f64 {
    let is_normalized = descriptor.flags & texture_flag::NORMALIZED_COORDINATES != 0;
    let axis = |dimension: usize| {
        let mode = match descriptor.address_modes[dimension] {
            WRAP | MIRROR if !is_normalized => CLAMP,
            mode => mode,
        };
        let scale = if is_normalized { size[dimension] } else { 1 };
        let coordinate = coordinates[dimension] * scale as f64;
        neighbors(mode, descriptor.filter == 1, coordinate, size[dimension])
    };
    let mut sum = 0.0;
    for (y, y_weight) in axis(1) {
        for (x, x_weight) in axis(0) {
            let value = x.zip(y).map(|(x, y)| texels(x, y));
            sum += x_weight * y_weight * value.unwrap_or(descriptor.border_color[0].into());
        }
    }
    sum
}

#[test]
fn images_are_read_in_all_modes() {
    let session = session();
    let size = [5i64, 3];
    let image = descriptor([5, 3, 0], F32, 1);
    let array = create(&image);
    let values: Vec<f32> = (0..15u8).map(|n| f32::from(n * n) - 20.0).collect();
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    fill(array, sizes(&image), &bytes);
    let resource = resource(resource_type::ARRAY, &[array as u64]);
    let texels = |x: i64, y: i64| f64::from(values[(5 * y + x) as usize]);
    let mut random = Random(1);
    for mode in [WRAP, CLAMP, MIRROR, BORDER] {
        for second_mode in [CLAMP, MIRROR, BORDER] {
            for filter in [0, 1] {
                for flags in [0, texture_flag::NORMALIZED_COORDINATES] {
                    let settings = TextureDescriptor {
                        address_modes: [mode, second_mode, CLAMP],
                        filter,
                        flags,
                        border_color: [7.5; 4],
                        ..TextureDescriptor::default()
                    };
                    let texture = texture(&resource, &settings).unwrap();
                    // Not at the boundary between two texels.
                    let places: Vec<[f64; 2]> = (0..64)
                        .map(|_| {
                            [0; 2].map(|_| {
                                let sixteenths = random.below(400) as f64 - 200.0;
                                if flags == 0 {
                                    (sixteenths + 0.5) / 16.0
                                } else {
                                    (sixteenths + 0.5) / 128.0
                                }
                            })
                        })
                        .collect();
                    let coordinates: Vec<[u32; 4]> = places
                        .iter()
                        .map(|[x, y]| [(*x as f32).to_bits(), (*y as f32).to_bits(), 0, 0])
                        .collect();
                    let found = read(&session, READ_2D, texture, &coordinates);
                    for (place, found) in places.into_iter().zip(found) {
                        let expected = expected(&texels, size, &settings, place);
                        let found = f64::from(f32::from_bits(found[0]));
                        assert!(
                            (found - expected).abs() < 1e-4,
                            "{settings:?} {place:?}: {found}, expected {expected}"
                        );
                    }
                    succeeds(cuTexObjectDestroy(texture));
                }
            }
        }
    }
}

#[test]
fn formats_are_read_as_numbers_or_integers() {
    let session = session();
    let mut random = Random(2);
    let coordinates: Vec<[u32; 4]> = (0..4u8)
        .map(|n| [(f32::from(n) + 0.5).to_bits(), 0.5f32.to_bits(), 0, 0])
        .collect();
    let signed = |value: u32, bits: u32| ((value << (32 - bits)) as i32) >> (32 - bits);
    for (format, channels, bits) in [
        (1, 4, 8),
        (2, 2, 16),
        (3, 1, 32),
        (8, 2, 8),
        (9, 4, 16),
        (10, 4, 32),
        (0xc1, 2, 8),
        (0xc5, 4, 16),
        (0xc6, 1, 8),
        (0xc9, 1, 16),
    ] {
        let unit = bits as usize / 8;
        let image = descriptor([4, 1, 0], format, channels);
        let array = create(&image);
        let bytes = random.bytes(4 * unit * channels as usize);
        fill(array, [bytes.len(), 1, 1], &bytes);
        let resource = resource(resource_type::ARRAY, &[array as u64]);
        for flags in [0, texture_flag::READ_AS_INTEGER] {
            let settings = TextureDescriptor {
                flags,
                ..TextureDescriptor::default()
            };
            let texture = texture(&resource, &settings).unwrap();
            let is_normalized_format = format >= 0xc0;
            let is_signed = matches!(format, 8..=10 | 0xc6..);
            let is_number = is_normalized_format || flags == 0 && bits < 32;
            let kind = match (is_number, is_signed) {
                (true, _) => "f32",
                (false, true) => "s32",
                (false, false) => "u32",
            };
            let instruction =
                format!("tex.2d.v4.{kind}.f32 {{%r0, %r1, %r2, %r3}}, [%texture, {{%c0, %c1}}];");
            let found = read(&session, &instruction, texture, &coordinates);
            for (texel, found) in bytes.chunks(unit * channels as usize).zip(found) {
                for (channel, bytes) in texel.chunks(unit).enumerate() {
                    let mut word = [0; 4];
                    word[..unit].copy_from_slice(bytes);
                    let value = u32::from_le_bytes(word);
                    let expected = match (is_number, is_signed) {
                        (true, true) => {
                            let largest = f64::from((1u32 << (bits - 1)) - 1);
                            let number = (f64::from(signed(value, bits)) / largest).max(-1.0);
                            (number as f32).to_bits()
                        }
                        (true, false) => {
                            let largest = f64::from((1u32 << bits) - 1);
                            ((f64::from(value) / largest) as f32).to_bits()
                        }
                        (false, true) => signed(value, bits).cast_unsigned(),
                        (false, false) => value,
                    };
                    assert_eq!(found[channel], expected, "{format:#x} {flags} {value}");
                }
            }
        }
    }
}

#[test]
fn colors_of_srgb_become_intensities() {
    let session = session();
    let image = descriptor([256, 0, 0], U8, 4);
    let array = create(&image);
    let bytes: Vec<u8> = (0..=255u8)
        .flat_map(|value| [value, value, value, value])
        .collect();
    fill(array, [1024, 1, 1], &bytes);
    let settings = TextureDescriptor {
        flags: texture_flag::SRGB,
        ..TextureDescriptor::default()
    };
    let resource = resource(resource_type::ARRAY, &[array as u64]);
    let texture = texture(&resource, &settings).unwrap();
    let coordinates: Vec<[u32; 4]> = (0..=255u8)
        .map(|n| [(f32::from(n) + 0.5).to_bits(), 0, 0, 0])
        .collect();
    let instruction = "tex.1d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%c0}];";
    let found = read(&session, instruction, texture, &coordinates);
    for (value, found) in (0..=255u8).zip(found) {
        let color = f64::from(value) / 255.0;
        let linear = if color <= 0.04045 {
            color / 12.92
        } else {
            ((color + 0.055) / 1.055).powf(2.4)
        };
        let numbers = found.map(|bits| f64::from(f32::from_bits(bits)));
        assert!((numbers[2] - linear).abs() < 1e-6, "{value}");
        assert!((numbers[3] - color).abs() < 1e-6, "{value}");
    }
}

/// A mipmap whose texels are 10 times their level.
fn mipmap() -> Raw {
    let base = descriptor([8, 4, 0], F32, 1);
    let mipmap = result(|mipmap| cuMipmappedArrayCreate(mipmap, Some(&base), 4)).unwrap();
    for level in 0..4u8 {
        let array = result(|array| cuMipmappedArrayGetLevel(array, mipmap, level.into())).unwrap();
        let sizes = [4 * (8usize >> level), (4usize >> level).max(1), 1];
        let value = (10.0 * f32::from(level)).to_le_bytes();
        fill(array, sizes, &value.repeat(sizes[0] * sizes[1] / 4));
    }
    mipmap
}

const READ_LEVEL: &str =
    "tex.level.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%c0, %c1}], %c2;";

fn levels(levels: &[f32]) -> Vec<[u32; 4]> {
    let place = 0.5f32.to_bits();
    levels
        .iter()
        .map(|level| [place, place, level.to_bits(), 0])
        .collect()
}

fn first_numbers(values: Vec<[u32; 4]>) -> Vec<f32> {
    values
        .iter()
        .map(|values| f32::from_bits(values[0]))
        .collect()
}

#[test]
fn levels_are_limited_shifted_and_mixed() {
    let session = session();
    let mipmap = resource(resource_type::MIPMAP, &[mipmap() as u64]);
    let asked = [-1.0, 0.0, 0.25, 0.75, 1.5, 2.25, 3.0, 7.0];
    for (level_filter, bias, least, most) in [
        (0, 0.0, 0.0, 99.0),
        (1, 0.0, 0.0, 99.0),
        (0, 1.0, 0.0, 99.0),
        (1, -0.5, 0.5, 2.5),
        (1, 0.25, 1.0, 1.25),
        (0, 0.0, 0.0, 0.0),
    ] {
        let settings = TextureDescriptor {
            flags: texture_flag::NORMALIZED_COORDINATES,
            level_filter,
            level_bias: bias,
            min_level: least,
            max_level: most,
            max_anisotropy: 16,
            ..TextureDescriptor::default()
        };
        let texture = texture(&mipmap, &settings).unwrap();
        let found = first_numbers(read(&session, READ_LEVEL, texture, &levels(&asked)));
        for (level, found) in asked.into_iter().zip(found) {
            let level: f32 = level + bias;
            let level = level.clamp(least, most).clamp(0.0, 3.0);
            let expected = if level_filter == 0 {
                10.0 * (level + 0.5).floor()
            } else {
                10.0 * level
            };
            assert_eq!(found, expected, "{settings:?} {level}");
        }
    }
    // Coordinates in texels have no meaning for several levels.
    let settings = TextureDescriptor::default();
    assert_eq!(texture(&mipmap, &settings), Err(Status::INVALID_VALUE));
}

#[test]
fn an_array_of_a_level_is_read_alone() {
    let session = session();
    let mipmap = mipmap();
    let level = result(|array| cuMipmappedArrayGetLevel(array, mipmap, 2)).unwrap();
    let resource = resource(resource_type::ARRAY, &[level as u64]);
    let texture = texture(&resource, &TextureDescriptor::default()).unwrap();
    let found = read(&session, READ_LEVEL, texture, &levels(&[0.0, 1.0]));
    assert_eq!(first_numbers(found), [20.0, 20.0]);
}

fn view_of(
    resource: &ResourceDescriptor,
    settings: &TextureDescriptor,
    view: &ResourceView,
) -> Result<u64, Status> {
    result(|texture| cuTexObjectCreate(texture, Some(resource), Some(settings), Some(view)))
}

#[test]
fn views_select_levels() {
    let session = session();
    let mipmap = resource(resource_type::MIPMAP, &[mipmap() as u64]);
    let settings = TextureDescriptor {
        flags: texture_flag::NORMALIZED_COORDINATES,
        max_level: 9.0,
        ..TextureDescriptor::default()
    };
    let view = ResourceView {
        width: 8,
        height: 4,
        first_level: 1,
        last_level: 2,
        ..ResourceView::default()
    };
    let texture = view_of(&mipmap, &settings, &view).unwrap();
    let found = read(&session, READ_LEVEL, texture, &levels(&[0.0, 1.0, 2.0]));
    assert_eq!(first_numbers(found), [10.0, 20.0, 20.0]);
    let found = result(|found| cuTexObjectGetResourceViewDesc(found, texture));
    assert_eq!(found, Ok(view));
    let change = |change: &dyn Fn(&mut ResourceView)| {
        let mut view = view;
        change(&mut view);
        view_of(&mipmap, &settings, &view)
    };
    for refused in [
        change(&|view| view.width = 4),
        change(&|view| view.depth = 1),
        change(&|view| view.last_level = 4),
        change(&|view| view.first_level = 3),
        change(&|view| view.last_layer = 1),
        change(&|view| view.format = 1),
        change(&|view| view.format = 99),
    ] {
        assert_eq!(refused, Err(Status::INVALID_VALUE));
    }
    let compressed = change(&|view| view.format = 0x19);
    assert_eq!(compressed, Err(Status::NOT_SUPPORTED));
}

#[test]
fn views_select_layers_and_formats() {
    let session = session();
    let lines = layered([2, 0, 5], U32, 1);
    let array = create(&lines);
    let values: Vec<u8> = (0..10u32).flat_map(|n| (n << 8).to_le_bytes()).collect();
    fill(array, sizes(&lines), &values);
    let resource = resource(resource_type::ARRAY, &[array as u64]);
    let settings = TextureDescriptor {
        flags: texture_flag::READ_AS_INTEGER,
        ..TextureDescriptor::default()
    };
    let view = ResourceView {
        // Four channels of unsigned bytes.
        format: 3,
        width: 2,
        depth: 5,
        first_layer: 2,
        last_layer: 3,
        ..ResourceView::default()
    };
    let texture = view_of(&resource, &settings, &view).unwrap();
    let instruction = "tex.a1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%c0, %c1}];";
    let places = [[0, 1, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]];
    let found = read(&session, instruction, texture, &places);
    assert_eq!(found, [[0, 5, 0, 0], [0, 6, 0, 0], [0; 4]]);
    let outside = ResourceView {
        last_layer: 5,
        ..view
    };
    let refused = view_of(&resource, &settings, &outside);
    assert_eq!(refused, Err(Status::INVALID_VALUE));
}

#[test]
fn layers_and_faces_are_read() {
    let session = session();
    let cubes = ArrayDescriptor {
        flags: array_flag::CUBEMAP | array_flag::LAYERED,
        ..descriptor([2, 2, 12], F32, 1)
    };
    let array = create(&cubes);
    // Each texel has the number of its face.
    let bytes: Vec<u8> = (0..48u8)
        .flat_map(|n| f32::from(n / 4).to_le_bytes())
        .collect();
    fill(array, sizes(&cubes), &bytes);
    let resource = resource(resource_type::ARRAY, &[array as u64]);
    let settings = TextureDescriptor {
        flags: texture_flag::NORMALIZED_COORDINATES | texture_flag::SEAMLESS_CUBEMAP,
        ..TextureDescriptor::default()
    };
    let texture = texture(&resource, &settings).unwrap();
    let directions = [
        [1.0, 0.0, 0.0],
        [-1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, -1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0f32],
    ];
    let coordinates: Vec<[u32; 4]> = (0..12)
        .map(|n| {
            let [x, y, z] = directions[n % 6].map(f32::to_bits);
            [n as u32 / 6, x, y, z]
        })
        .collect();
    let instruction =
        "tex.acube.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%c0, %c1, %c2, %c3}];";
    let found = first_numbers(read(&session, instruction, texture, &coordinates));
    let expected: Vec<f32> = (0..12u8).map(f32::from).collect();
    assert_eq!(found, expected);
}

const FETCH_1D: &str = "tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%c0}];";

#[test]
fn linear_memory_is_read_by_integers() {
    let session = session();
    let bytes: Vec<u8> = (0..80).collect();
    let address = session.buffer(&bytes);
    let channels_of_bytes = u64::from(U8) | 4 << 32;
    let linear = resource(resource_type::LINEAR, &[address, channels_of_bytes, 80]);
    // The filter and the address modes are ignored.
    let settings = TextureDescriptor {
        filter: 1,
        address_modes: [WRAP; 3],
        flags: texture_flag::NORMALIZED_COORDINATES,
        ..TextureDescriptor::default()
    };
    let texture = texture(&linear, &settings).unwrap();
    let places = [
        [0, 0, 0, 0],
        [19, 0, 0, 0],
        [20, 0, 0, 0],
        [u32::MAX, 0, 0, 0],
    ];
    let found = read(&session, FETCH_1D, texture, &places);
    let number = |byte: u8| ((f64::from(byte) / 255.0) as f32).to_bits();
    assert_eq!(found[0], [0, 1, 2, 3].map(number));
    assert_eq!(found[1], [76, 77, 78, 79].map(number));
    assert_eq!(found[2..], [[0; 4]; 2]);
    for words in [
        [address + 16, channels_of_bytes, 16],
        [address, channels_of_bytes, 1 << 40],
        [address, channels_of_bytes, 3],
        [address, u64::from(U8) | 3 << 32, 80],
        [0, channels_of_bytes, 80],
        [address, channels_of_bytes, 2 << 20],
    ] {
        let linear = resource(resource_type::LINEAR, &words);
        let refused = self::texture(&linear, &settings);
        assert_eq!(refused, Err(Status::INVALID_VALUE), "{words:?}");
    }
}

#[test]
fn rows_of_linear_memory_are_filtered() {
    let session = session();
    let rows: Vec<f32> = (0..48u8).map(f32::from).collect();
    let address = session.buffer(&rows);
    let format = u64::from(F32) | 1 << 32;
    // Three rows of 5 numbers, 64 bytes apart.
    let words = [address, format, 5, 3, 64];
    let image = resource(resource_type::PITCH, &words);
    let settings = TextureDescriptor {
        address_modes: [CLAMP; 3],
        filter: 1,
        ..TextureDescriptor::default()
    };
    let texture = texture(&image, &settings).unwrap();
    let coordinates = [[1.0f32, 1.5], [4.5, 2.0], [9.0, 9.0]];
    let words_of = |[x, y]: [f32; 2]| [x.to_bits(), y.to_bits(), 0, 0];
    let found = read(&session, READ_2D, texture, &coordinates.map(words_of));
    assert_eq!(first_numbers(found), [16.5, 28.0, 36.0]);
    let found = result(|found| cuTexObjectGetResourceDesc(found, texture));
    assert_eq!(found, Ok(image));
    for change in [
        [address + 256, format, 5, 3, 64],
        [address, format, 5, 3, 48],
        [address, format, 17, 3, 64],
        [address, format, 5, 4000, 64],
        [address, format, 0, 3, 64],
        [address, format, 5, 0, 64],
        [address, format, 5, 65_001, 64],
        [address, format, 1 << 32, 3, 64],
        [address, format, 5, 3, 1 << 30],
        [address, u64::MAX, 5, 3, 64],
    ] {
        let image = resource(resource_type::PITCH, &change);
        let refused = self::texture(&image, &settings);
        assert_eq!(refused, Err(Status::INVALID_VALUE), "{change:?}");
    }
}

#[test]
fn descriptions_are_checked_and_returned() {
    let _session = session();
    let array = create(&descriptor([4, 4, 0], U32, 1));
    let resource = resource(resource_type::ARRAY, &[array as u64]);
    let settings = TextureDescriptor {
        address_modes: [3, 2, 0],
        max_anisotropy: 4,
        border_color: [1.0, 2.0, 3.0, 4.0],
        ..TextureDescriptor::default()
    };
    let object = texture(&resource, &settings).unwrap();
    let found = result(|found| cuTexObjectGetTextureDesc(found, object));
    assert_eq!(found, Ok(settings));
    let found = result(|found| cuTexObjectGetResourceDesc(found, object));
    assert_eq!(found, Ok(resource));
    let found = result(|found| cuTexObjectGetResourceViewDesc(found, object));
    assert_eq!(found, Err(Status::INVALID_VALUE));
    let change = |change: &dyn Fn(&mut TextureDescriptor)| {
        let mut settings = settings;
        change(&mut settings);
        texture(&resource, &settings)
    };
    for refused in [
        change(&|settings| settings.address_modes[1] = 4),
        change(&|settings| settings.filter = 2),
        // Integers of 32 bits are not filtered, and are not colors.
        change(&|settings| settings.filter = 1),
        change(&|settings| settings.flags = texture_flag::SRGB),
        change(&|settings| settings.level_filter = 7),
        change(&|settings| settings.flags = 0x80),
        change(&|settings| settings.flags = texture_flag::SEAMLESS_CUBEMAP),
    ] {
        assert_eq!(refused, Err(Status::INVALID_VALUE));
    }
    let mut flagged = resource;
    flagged.flags = 1;
    assert_eq!(texture(&flagged, &settings), Err(Status::INVALID_VALUE));
    flagged = resource;
    flagged.resource_type = 4;
    assert_eq!(texture(&flagged, &settings), Err(Status::INVALID_VALUE));
    flagged = resource;
    flagged.words[0] = 5;
    assert_eq!(texture(&flagged, &settings), Err(Status::INVALID_HANDLE));
    let create =
        |resource, settings| result(|texture| cuTexObjectCreate(texture, resource, settings, None));
    assert_eq!(create(None, Some(&settings)), Err(Status::INVALID_VALUE));
    assert_eq!(create(Some(&resource), None), Err(Status::INVALID_VALUE));
    let status = cuTexObjectCreate(None, Some(&resource), Some(&settings), None);
    assert_eq!(status, Status::INVALID_VALUE);
    succeeds(cuTexObjectDestroy(object));
    assert_eq!(cuTexObjectDestroy(object), Status::INVALID_VALUE);
    let found = result(|found| cuTexObjectGetTextureDesc(found, object));
    assert_eq!(found, Err(Status::INVALID_VALUE));
    succeeds(cuArrayDestroy(array));
    assert_eq!(texture(&resource, &settings), Err(Status::INVALID_HANDLE));
}
