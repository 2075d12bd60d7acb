//! What `ptx_analysis::values` finds for the integers of kernels is true of what they compute.
//!
//! The kernels of the corpora and random kernels run in several shapes. Each value that a lane writes is compared with its affine form, its interval and
//! its alignment; the counters of loops are counted, and trip counts compared with them. Accesses to memory are compared with
//! [`ptx_analysis::memory_access`]: spaces, objects, alignment, and the addresses of the lanes of warps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod accesses;
mod checked;
mod function;
mod kernels;
mod pointers;
mod random;
mod threads;

use test_support::corpus as files;
use test_support::sample;

use checked::Checked;
use kernels::Shape;
use sample::{Sample, sample};

/// Files up to this size are tested.
const MOST_BYTES: usize = 60_000;

/// Steps of each launch.
const STEPS: u64 = 3_000;

const SHAPES: [Shape; 4] = [
    Shape {
        grid: [2, 1, 1],
        block: [64, 1, 1],
    },
    Shape {
        grid: [2, 2, 1],
        block: [16, 4, 1],
    },
    Shape {
        grid: [1, 1, 2],
        block: [7, 3, 3],
    },
    Shape {
        grid: [3, 1, 1],
        block: [128, 1, 1],
    },
];

/// Fails if something was wrong, or little was seen.
fn assert_true(checked: &Checked, least: u64) {
    println!("{checked}");
    let wrong = checked.wrong();
    for line in wrong.iter().take(5) {
        println!("{line}");
    }
    assert!(wrong.is_empty(), "{} are wrong", wrong.len());
    assert!(checked.observations() >= least, "{checked}");
    // Few requests are exempt from the comparison.
    assert!(
        checked.separated_requests * 50 <= checked.requests + 50,
        "{checked}"
    );
}

/// How many random kernels of each kind run.
fn random_kernels() -> u64 {
    150 / sample(3, 2).parts as u64
}

fn corpus(folder: &std::path::Path, shapes: &[Shape], part: Sample) -> Checked {
    let mut checked = Checked::default();
    for entry in part.of(files::entries(folder)) {
        let source = entry.read();
        if entry.verdict == "ok" && source.len() <= MOST_BYTES {
            let module = ptx_parse::parse(&source).module;
            kernels::run_all(&entry.name, &module, shapes, STEPS, &mut checked);
        }
    }
    checked
}

#[test]
fn values_of_the_corpus() {
    assert_true(&corpus(&files::own(), &SHAPES[..2], sample(12, 8)), 30_000);
}

/// All files of this repository and many of the corpus beside it, in all shapes.
#[test]
#[ignore = "it needs the corpus beside the repository, and takes a minute"]
fn shared_corpus_values() {
    let mut checked = corpus(&files::own(), &SHAPES, sample(1, 2));
    checked.add(corpus(&files::shared(), &SHAPES[1..], sample(3, 6)));
    assert_true(&checked, 10_000_000);
}

/// Kernels of current compilers beside the repository, whose addresses are swizzled: the requests of warps in launches of each shape, with other arguments in each.
/// `PTXKIT_CASES=150` compares more than a million requests.
#[test]
#[ignore = "it needs the kernels beside the repository"]
fn shared_corpus_requests_of_modern_kernels() {
    let mut checked = Checked::default();
    let folder = files::beside("modern/kernels");
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let repetitions = sample::cases(2);
    let shapes = SHAPES.repeat(repetitions);
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let module = ptx_parse::parse(&std::fs::read(&path).unwrap()).module;
        kernels::run_all(&name, &module, &shapes, 40_000, &mut checked);
    }
    assert_true(&checked, 100_000);
    assert!(
        checked.counted_requests > 5_000 * repetitions as u64,
        "{checked}"
    );
}

#[test]
fn values_of_random_kernels() {
    let mut checked = Checked::default();
    for seed in 0..random_kernels() {
        let text = random::kernel(seed);
        let parsed = ptx_parse::parse_str(&text);
        assert!(
            parsed.diagnostics.is_empty(),
            "{:?}\n{text}",
            parsed.diagnostics
        );
        kernels::run_all(
            &format!("seed {seed}"),
            &parsed.module,
            &SHAPES[..3],
            STEPS,
            &mut checked,
        );
    }
    assert_true(&checked, 30_000);
}

#[test]
fn provenance_of_random_kernels() {
    let mut checked = Checked::default();
    for seed in 0..random_kernels() {
        let text = pointers::kernel(seed);
        let parsed = ptx_parse::parse_str(&text);
        assert!(
            parsed.diagnostics.is_empty(),
            "{:?}\n{text}",
            parsed.diagnostics
        );
        let name = format!("seed {seed}");
        kernels::run_all(&name, &parsed.module, &SHAPES[..3], STEPS, &mut checked);
    }
    assert_true(&checked, 1_000);
    assert!(
        checked.spaces > 5_000 && checked.variables > 1_500,
        "{checked}"
    );
}
