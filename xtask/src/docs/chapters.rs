//! Short titles for the parts of the PTX ISA manual's chapter 9.7.

const TITLES: [&str; 19] = [
    "Integer arithmetic",
    "Extended-precision integer arithmetic",
    "Floating point",
    "Half precision",
    "Mixed precision",
    "Comparison and selection",
    "Comparison in half precision",
    "Logic and shifts",
    "Data movement and conversion",
    "Textures",
    "Surfaces",
    "Control flow",
    "Synchronisation and communication",
    "Matrices of a warp",
    "Matrices of a warpgroup",
    "Tensor memory and matrices of the fifth generation",
    "Stack",
    "Video",
    "Miscellaneous",
];

/// The part of chapter 9.7 that a section belongs to.
pub(crate) fn part(section: &str) -> Option<usize> {
    let rest = section.strip_prefix("9.7.")?;
    let number = rest.split('.').next()?.parse().ok()?;
    (1..=TITLES.len()).contains(&number).then_some(number)
}

pub(crate) fn title(part: usize) -> &'static str {
    part.checked_sub(1)
        .and_then(|i| TITLES.get(i))
        .copied()
        .unwrap_or("")
}

pub(crate) fn parts() -> impl Iterator<Item = usize> {
    1..=TITLES.len()
}

/// A key that sorts sections as numbers.
pub(crate) fn key(section: &str) -> Vec<u32> {
    section.split('.').map(|n| n.parse().unwrap_or(0)).collect()
}
