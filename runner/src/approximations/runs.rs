//! Runs of equal differences, as compressed bytes.

use std::io::{Read as _, Write as _};

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Compresses differences: each run of equal ones is the difference, in zigzag order, and how often it follows itself, as variable-length
/// integers of 7 bits a byte; then all is deflated.
pub(super) fn compress(differences: impl Iterator<Item = i32>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut run: Option<(i32, u32)> = None;
    for difference in differences {
        run = Some(match run {
            Some((of, again)) if of == difference => (of, again + 1),
            before => {
                before.into_iter().for_each(|run| write(&mut bytes, run));
                (difference, 0)
            }
        });
    }
    run.into_iter().for_each(|run| write(&mut bytes, run));
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&bytes)?;
    Ok(encoder.finish()?)
}

/// The differences, of which there must be as many.
pub(super) fn decompress(bytes: &[u8], count: usize) -> Result<Vec<i32>> {
    let mut plain = Vec::new();
    // No run takes more than ten bytes.
    let mut decoder = DeflateDecoder::new(bytes).take(10 * count as u64);
    decoder.read_to_end(&mut plain)?;
    let mut rest = plain.iter().copied();
    let mut differences = Vec::new();
    while differences.len() < count {
        let zigzag = read(&mut rest).context("the differences end too early")?;
        let again = read(&mut rest).context("the differences end too early")?;
        let length = again as usize + 1;
        ensure!(
            length <= count - differences.len(),
            "there are more differences than inputs"
        );
        let difference = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
        differences.resize(differences.len() + length, difference);
    }
    ensure!(
        rest.next().is_none(),
        "there are more differences than inputs"
    );
    Ok(differences)
}

fn write(bytes: &mut Vec<u8>, (difference, again): (i32, u32)) {
    for mut number in [(difference << 1 ^ difference >> 31) as u32, again] {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
}

fn read(bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(number).ok();
        }
    }
    None
}
