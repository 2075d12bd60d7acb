//! Images in PNG files: rows of texels with 1, 2 or 4 channels of 8 or 16 bits.

use std::fs::File;
use std::io::BufReader;

use anyhow::{Context as _, Result, anyhow};
use png::{BitDepth, Decoder, Transformations};
use ptx_isa::ScalarType;

use super::super::npy::Layout;

/// Reads an image. Palettes become colors, bits become bytes, and images with three channels get a fourth one with the largest value.
pub(super) fn read(file: File) -> Result<(Layout, Vec<u8>)> {
    let mut decoder = Decoder::new(BufReader::new(file));
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info()?;
    let size = reader
        .output_buffer_size()
        .context("the image is too large")?;
    let mut bytes = vec![0; size];
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    let (ty, element_bytes) = match info.bit_depth {
        BitDepth::Sixteen => (ScalarType::U16, 2),
        _ => (ScalarType::U8, 1),
    };
    // The numbers of a file are big-endian.
    for number in bytes.chunks_exact_mut(element_bytes) {
        number.reverse();
    }
    let mut channels = info.color_type.samples();
    if channels == 3 {
        let texels = bytes.chunks_exact(3 * element_bytes);
        let opaque = &[0xff; 2][..element_bytes];
        bytes = texels
            .flat_map(|texel| texel.iter().chain(opaque))
            .copied()
            .collect();
        channels = 4;
    }
    let shape = [info.height.into(), info.width.into(), channels as u64];
    let layout = Layout::new(ty, shape.to_vec()).map_err(|why| anyhow!(why))?;
    Ok((layout, bytes))
}
