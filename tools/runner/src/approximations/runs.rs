//! Runs of equal differences, as compressed bytes.

use std::io::{Read as _, Write as _};

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// A run of equal differences.
struct Run {
    difference: i32,
    /// The length of the run minus one.
    repetitions: u32,
}

/// Compresses differences. A run is the difference, in zigzag order, and the number of its repetitions, as variable-length
/// integers of 7 bits a byte. The bytes of all runs are deflated.
pub(super) fn compress(differences: impl Iterator<Item = i32>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut current: Option<Run> = None;
    for difference in differences {
        match &mut current {
            Some(run) if run.difference == difference => run.repetitions += 1,
            _ => {
                let next = Run {
                    difference,
                    repetitions: 0,
                };
                if let Some(run) = current.replace(next) {
                    run.write(&mut bytes);
                }
            }
        }
    }
    if let Some(run) = current {
        run.write(&mut bytes);
    }
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&bytes)?;
    Ok(encoder.finish()?)
}

/// The differences, whose number must be `count`.
pub(super) fn decompress(bytes: &[u8], count: usize) -> Result<Vec<i32>> {
    let mut plain = Vec::new();
    // A run has at most ten bytes.
    let mut decoder = DeflateDecoder::new(bytes).take(10 * count as u64);
    decoder.read_to_end(&mut plain)?;
    let mut plain = plain.iter().copied();
    let mut differences = Vec::new();
    while differences.len() < count {
        let zigzag = read(&mut plain).context("the differences end too early")?;
        let repetitions = read(&mut plain).context("the differences end too early")?;
        let length = repetitions as usize + 1;
        ensure!(
            length <= count - differences.len(),
            "there are more differences than inputs"
        );
        let difference = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
        differences.resize(differences.len() + length, difference);
    }
    ensure!(
        plain.next().is_none(),
        "there are more differences than inputs"
    );
    Ok(differences)
}

impl Run {
    fn write(&self, bytes: &mut Vec<u8>) {
        let zigzag = (self.difference << 1 ^ self.difference >> 31) as u32;
        for mut number in [zigzag, self.repetitions] {
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
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
