//! Swizzle modes of shared memory, and the units of matrices that warpgroups read.

use ptx_analysis::internals::fragments::shared::{LeadingDimension, Major, SharedMatrix};
use ptx_analysis::internals::fragments::swizzle::Swizzle;

use super::{Fragments, SharedLayout};

/// The swizzle modes with their names and the number of lines of 128 bytes after which their pattern repeats.
const MODES: [(Swizzle, &str, u64); 8] = [
    (Swizzle::None, "swizzle-none", 1),
    (Swizzle::Bytes32, "swizzle-32", 8),
    (Swizzle::Bytes64, "swizzle-64", 8),
    (Swizzle::Bytes96, "swizzle-96", 8),
    (Swizzle::Bytes128, "swizzle-128", 8),
    (Swizzle::Bytes128Atom32, "swizzle-128-atom-32", 8),
    (
        Swizzle::Bytes128Atom32Flip8,
        "swizzle-128-atom-32-flip-8",
        8,
    ),
    (Swizzle::Bytes128Atom64, "swizzle-128-atom-64", 8),
];

/// The bytes of a line of a pattern.
const LINE: u64 = 128;

/// The arrangement of a mode; `swizzle` is all modes.
pub(super) fn find(text: &str) -> Result<Fragments, String> {
    let chosen: Vec<_> = MODES
        .iter()
        .filter(|(_, name, _)| text == "swizzle" || *name == text)
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = MODES.iter().map(|(_, name, _)| *name).collect();
        return Err(format!(
            "unknown swizzle mode `{text}`; there are {}",
            names.join(", ")
        ));
    }
    let mut fragments = Fragments::new(text);
    fragments.shared = chosen
        .into_iter()
        .map(|(mode, name, lines)| pattern(*mode, name, *lines))
        .collect();
    fragments.notes.push("A line has 128 bytes of shared memory from a multiple of 1024 bytes on, whatever the length of a row of the tile is.");
    Ok(fragments)
}

/// The place of each chunk of each line of a pattern.
fn pattern(swizzle: Swizzle, name: &'static str, lines: u64) -> SharedLayout {
    let chunk_bytes = if swizzle == Swizzle::Bytes128Atom32Flip8 {
        8
    } else {
        16
    };
    let offset = |line: u64, chunk: u64| swizzle.apply(line * LINE + chunk * chunk_bytes);
    SharedLayout {
        swizzle: name,
        meaning: "the offset of each chunk of each line of 128 bytes".to_owned(),
        chunk_bytes,
        offsets: (0..lines)
            .map(|line| {
                (0..LINE / chunk_bytes)
                    .map(|chunk| offset(line, chunk))
                    .collect()
            })
            .collect(),
    }
}

/// The places of the units of eight lines, for the swizzle modes of warpgroups and both major dimensions.
pub(super) fn of_warpgroup() -> Vec<SharedLayout> {
    let modes = MODES.iter().filter(|(mode, ..)| {
        matches!(
            mode,
            Swizzle::None | Swizzle::Bytes32 | Swizzle::Bytes64 | Swizzle::Bytes128
        )
    });
    modes
        .flat_map(|(mode, name, _)| [Major::K, Major::Mn].map(|major| units(*mode, name, major)))
        .collect()
}

/// The places of the units of eight lines of a matrix whose core matrices are consecutive.
fn units(swizzle: Swizzle, name: &'static str, major: Major) -> SharedLayout {
    let row_bytes = match swizzle {
        Swizzle::None => 16,
        Swizzle::Bytes32 => 32,
        Swizzle::Bytes64 => 64,
        _ => LINE,
    };
    let core = 8 * row_bytes;
    let matrix = SharedMatrix {
        start: 0,
        leading: LeadingDimension::Offset(core),
        stride: core,
        base_offset: 0,
        swizzle,
    };
    // The products of one instruction have 32 bytes of each line of the first factor.
    let units = (row_bytes / 16).max(2);
    let (line, dimension) = match major {
        Major::K => ("row of the first or column of the second factor", "along K"),
        Major::Mn => ("index of K", "along M or N"),
    };
    SharedLayout {
        swizzle: name,
        meaning: format!(
            "the offset of each unit of 16 bytes {dimension} of each {line}, for a leading and a stride offset of {core} bytes"
        ),
        chunk_bytes: 16,
        offsets: (0..8)
            .map(|line| {
                (0..units)
                    .map(|unit| matrix.unit_address(major, line, unit))
                    .collect()
            })
            .collect(),
    }
}
