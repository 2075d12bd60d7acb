//! The fuzz targets, and a mutation loop for machines without libFuzzer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

// The checks and the mutations are also those of the tests of `ptx-print`.
mod modules;

use test_support::check;
use test_support::mutate;

/// Longer texts are truncated: other tests check depth and size.
const MAX_BYTES: usize = 1 << 16;

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MAX_BYTES)]
}

/// Reading ends, tiles the text, and every diagnostic points into it.
pub fn parse_total(text: &[u8]) {
    check::tokens_tile(cut(text));
    check::reading_is_total(cut(text));
}

/// A parsed text is printed byte for byte.
pub fn roundtrip_exact(text: &[u8]) {
    check::verbatim_is_exact(cut(text));
}

/// Every text has a canonical text. That of a text without errors is parsed as the same module, and is its own canonical text.
pub fn canonical_fixpoint(text: &[u8]) {
    check::canonical_is_stable(&check::verbatim_is_exact(cut(text)));
}

/// Any bytes are read as a container within the limits.
pub fn container_total(bytes: &[u8]) {
    const LIMIT: u64 = 1 << 20;
    let unpacked = ptx_container::gunzip(bytes, LIMIT);
    let bytes = unpacked.as_deref().unwrap_or(cut(bytes));
    for entry in ptx_container::entries(bytes).flatten() {
        if let Ok(content) = entry.content(bytes, LIMIT) {
            assert!(content.len() as u64 <= entry.size().min(LIMIT));
        }
    }
}

/// A check of a text; it panics if the check fails.
pub type Target = fn(&[u8]);

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
}

/// Every target with its name, in the order of `targets.txt`.
pub const TARGETS: &[(&str, Target)] = &[
    ("container_total", container_total),
    ("parse_total", parse_total),
    ("roundtrip_exact", roundtrip_exact),
    ("canonical_fixpoint", canonical_fixpoint),
    ("verify", modules::verify),
    ("lint", modules::lints),
    ("edit", modules::edit),
    ("transform", modules::transform),
    ("diff", modules::diff),
    ("run", modules::run),
    ("server", modules::server),
];

/// Larger files of the corpus are not seeds.
const LARGEST_SEED: u64 = 4096;

/// The names of the targets, each with its folders of saved texts.
pub fn listed() -> impl Iterator<Item = (&'static str, Vec<PathBuf>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    include_str!("../targets.txt").lines().map(move |line| {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        (name, words.map(|folder| here.join(folder)).collect())
    })
}

/// The saved texts of a target, by path.
pub fn saved(name: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let folders = listed().filter(|(listed, _)| *listed == name);
    for folder in folders.flat_map(|(_, folders)| folders) {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.metadata()?.is_file() && entry.metadata()?.len() <= LARGEST_SEED {
                paths.push(entry.path());
            }
        }
    }
    paths.sort();
    paths
        .into_iter()
        .map(|p| fs::read(&p).map(|text| (p, text)))
        .collect()
}

/// Mutates the saved texts and runs the target on the results until the time is over. Returns the number of texts. `current` gets each
/// text before the target, in case the target does not return.
pub fn run(
    target: Target,
    seeds: &[Vec<u8>],
    time: Duration,
    seed: u64,
    mut current: impl FnMut(&[u8]),
) -> u64 {
    let start = Instant::now();
    let mut random = mutate::Random::new(seed);
    let mut count = 0;
    while start.elapsed() < time && !seeds.is_empty() {
        let mut text = random.pick(seeds).clone();
        if random.below(4) == 0 {
            let other = random.pick(seeds);
            text.truncate(random.below(text.len() + 1));
            text.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        for _ in 0..=random.below(5) {
            let change = if random.below(3) == 0 {
                mutate::bytes
            } else {
                mutate::tokens
            };
            change(&mut text, &mut random);
        }
        current(&text);
        target(&text);
        count += 1;
    }
    count
}
