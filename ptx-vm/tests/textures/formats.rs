//! Formats of texels: what reads of all channel types, numbers of channels and read modes return.

use ptx_vm::{
    ArrayDescription, ChannelType, ColorEncoding, Extent, Machine, ReadMode, Sampler, TexelFormat,
    TextureDescription,
};

use crate::kernels::{Operands, Read, Values, run, words};

/// Each channel type with the least and the greatest integer, if its bits are integers.
const INTEGERS: [(ChannelType, i64, i64); 10] = [
    (ChannelType::U8, 0, 255),
    (ChannelType::S8, -128, 127),
    (ChannelType::U16, 0, 65535),
    (ChannelType::S16, -32768, 32767),
    (ChannelType::U32, 0, u32::MAX as i64),
    (ChannelType::S32, i32::MIN as i64, i32::MAX as i64),
    (ChannelType::Unorm8, 0, 255),
    (ChannelType::Snorm8, -128, 127),
    (ChannelType::Unorm16, 0, 65535),
    (ChannelType::Snorm16, -32768, 32767),
];

const fn is_normalized(channel: ChannelType) -> bool {
    matches!(
        channel,
        ChannelType::Unorm8 | ChannelType::Snorm8 | ChannelType::Unorm16 | ChannelType::Snorm16
    )
}

/// Reads 32 texels of a row, with four values each.
fn read_row(
    read: &Read,
    format: TexelFormat,
    bytes: &[u8],
    change: impl FnOnce(&mut TextureDescription),
) -> Vec<Values> {
    let operands: Vec<Operands> = (0..32).map(|x| words(&[x as f32 + 0.5])).collect();
    run(read, &operands, |machine: &mut Machine<'_>| {
        let description = ArrayDescription::new(Extent::Line { width: 32 }, format);
        let array = machine.create_array(&description).unwrap();
        machine.write_array(array, 0, bytes).unwrap();
        assert_eq!(machine.read_array(array, 0).unwrap(), bytes);
        let mut texture = TextureDescription::new(Sampler::default());
        change(&mut texture);
        [machine.create_texture(array, &texture).unwrap(), 0]
    })
}

#[test]
fn integers_are_extended_or_fractions_of_the_largest() {
    let mut random = fastrand::Rng::with_seed(5);
    for (channel, low, high) in INTEGERS {
        for channels in [1usize, 2, 4] {
            for is_float in [false, true] {
                if is_float && channel.bits() == 32 || !is_float && is_normalized(channel) {
                    continue;
                }
                let mut numbers: Vec<i64> =
                    (0..32 * channels).map(|_| random.i64(low..=high)).collect();
                (numbers[0], numbers[channels]) = (low, high);
                let bytes = (channel.bits() / 8) as usize;
                let texels: Vec<u8> = numbers
                    .iter()
                    .flat_map(|n| n.to_le_bytes()[..bytes].to_vec())
                    .collect();
                let format = TexelFormat::new(channel, channels as u32);
                let mut read = Read::new(".1d");
                read.result = if is_float { ".f32" } else { ".s32" };
                let values = read_row(&read, format, &texels, |texture| {
                    if is_float && !is_normalized(channel) {
                        texture.read_mode = ReadMode::NormalizedFloat;
                    }
                });
                for (values, numbers) in values.iter().zip(numbers.chunks(channels)) {
                    for index in 0..4 {
                        let expected = match numbers.get(index) {
                            None => 0,
                            Some(&n) if is_float => {
                                ((n as f64 / high as f64).max(-1.0) as f32).to_bits()
                            }
                            Some(&n) => n as u32,
                        };
                        assert_eq!(values.bits[index], expected, "{format:?} {numbers:?}");
                    }
                    assert!(values.is_resident);
                }
            }
        }
    }
}

#[test]
fn floating_point_texels_keep_their_values() {
    for bits in [
        0u16, 1, 0x3ff, 0x400, 0x3c00, 0xbc01, 0x7bff, 0x8001, 0xfc00, 0x7c00,
    ] {
        // A binary16 number by its definition.
        let fraction = f64::from(bits & 0x3ff) / 1024.0;
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let number = match bits >> 10 & 31 {
            0 => fraction * 2f64.powi(-14),
            31 => f64::INFINITY,
            exponent => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
        };
        let expected = (sign * number) as f32;
        let texels: Vec<u8> = (0..64).flat_map(|_| bits.to_le_bytes()).collect();
        let format = TexelFormat::new(ChannelType::F16, 2);
        let values = read_row(&Read::new(".1d"), format, &texels, |_| {});
        assert_eq!(values[7].numbers(), [expected, expected, 0.0, 0.0]);
        // Results of 16 bits are the same numbers again.
        let mut read = Read::new(".1d");
        read.result = ".f16";
        let values = read_row(&read, format, &texels, |_| {});
        assert_eq!(values[7].bits, [bits.into(), bits.into(), 0, 0]);
        read.result = ".f16x2";
        let values = read_row(&read, format, &texels, |_| {});
        assert_eq!(values[7].bits, [u32::from(bits) * 0x10001, 0, 0, 0]);
    }
}

#[test]
fn binary32_texels_keep_their_bits() {
    let words: Vec<u32> = (0..32).map(|n| 0x7f80_0001 + n * 0x0101_0101).collect();
    let texels: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let format = TexelFormat::new(ChannelType::F32, 1);
    for result in [".f32", ".u32", ".s32"] {
        let mut read = Read::new(".1d");
        read.result = result;
        let values = read_row(&read, format, &texels, |_| {});
        let found: Vec<u32> = values.iter().map(|v| v.bits[0]).collect();
        assert_eq!(found, words);
    }
}

#[test]
fn colors_of_srgb_become_intensities() {
    let texels: Vec<u8> = (0..128).map(|n| n * 2).collect();
    let format = TexelFormat::new(ChannelType::U8, 4);
    let values = read_row(&Read::new(".1d"), format, &texels, |texture| {
        texture.read_mode = ReadMode::NormalizedFloat;
        texture.encoding = ColorEncoding::Srgb;
    });
    for (values, texel) in values.iter().zip(texels.chunks(4)) {
        for channel in 0..4 {
            let color = f64::from(texel[channel]) / 255.0;
            let expected = match (channel, color) {
                (3, _) => color,
                (_, ..=0.04045) => color / 12.92,
                _ => ((color + 0.055) / 1.055).powf(2.4),
            };
            let error = (f64::from(values.numbers()[channel]) - expected).abs();
            assert!(error < 1e-7, "{texel:?}");
        }
    }
}

#[test]
fn descriptions_that_the_driver_refuses_are_errors() {
    let module = ptx_parse::parse_str(".version 8.0\n.target sm_80\n").module;
    let mut machine = Machine::new(&module);
    let line = Extent::Line { width: 8 };
    let refused = [
        ArrayDescription::new(line, TexelFormat::new(ChannelType::U8, 3)),
        ArrayDescription::new(
            Extent::Line { width: 0 },
            TexelFormat::new(ChannelType::U8, 1),
        ),
        ArrayDescription::new(
            Extent::Image {
                width: 1 << 18,
                height: 1,
            },
            TexelFormat::new(ChannelType::U8, 1),
        ),
        ArrayDescription::new(line, TexelFormat::new(ChannelType::U8, 1)).levels(5),
        ArrayDescription::new(line, TexelFormat::new(ChannelType::U8, 1)).layers(0),
        ArrayDescription::new(line, TexelFormat::new(ChannelType::U8, 1)).samples(4),
        ArrayDescription::new(
            Extent::Volume {
                width: 4,
                height: 4,
                depth: 4,
            },
            TexelFormat::new(ChannelType::U8, 1),
        )
        .layers(2),
    ];
    for description in refused {
        assert!(
            machine.create_array(&description).is_err(),
            "{description:?}"
        );
    }
    let integers = ArrayDescription::new(line, TexelFormat::new(ChannelType::U32, 1)).levels(2);
    let array = machine.create_array(&integers).unwrap();
    let linear = Sampler::default()
        .filter(ptx_vm::FilterMode::Linear)
        .normalized();
    let error = machine.create_texture(array, &TextureDescription::new(linear));
    assert!(error.unwrap_err().to_string().contains("linear filtering"));
    let normalized = TextureDescription::new(Sampler::default().normalized()).normalized_float();
    let error = machine.create_texture(array, &normalized).unwrap_err();
    assert!(
        error.to_string().contains("expected 8 or 16 bits"),
        "{error}"
    );
    let texels = TextureDescription::new(Sampler::default());
    let error = machine.create_texture(array, &texels).unwrap_err();
    assert!(
        error.to_string().contains("normalized coordinates"),
        "{error}"
    );
    assert!(machine.write_array(array, 0, &[0; 31]).is_err());
    assert!(machine.write_array(array, 2, &[]).is_err());
    assert!(machine.read_array(array, 2).is_err());
    assert!(machine.create_surface(array, 2).is_err());
    let data = machine.allocate(256).unwrap();
    let format = TexelFormat::new(ChannelType::F32, 1);
    assert!(
        machine
            .create_linear_texture(data + 4, 8, format, &texels)
            .is_err()
    );
    assert!(
        machine
            .create_linear_texture(data, 0, format, &texels)
            .is_err()
    );
    assert!(
        machine
            .create_pitch_texture(data, [8, 4], 16, format, &texels)
            .is_err()
    );
}
