//! Clean-ups: what must go and what must stay, and that the program does what it did.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod accesses;
mod corpus;
mod keep;
mod rules;
mod synchronization;

use test_support::corpus as files;
use test_support::observe;
use test_support::random;
use test_support::random::run;
use test_support::sample;

use ptx_transform::clean::{Options, Pass, Report, clean};

/// Every choice that is tested: each pass alone, and all.
fn choices() -> Vec<(String, Options)> {
    let alone = |pass: Pass| {
        let passes = vec![pass];
        (
            pass.name().to_owned(),
            Options::default().with_passes(passes),
        )
    };
    let mut all: Vec<_> = Pass::ALL.iter().copied().map(alone).collect();
    all.push(("all".to_owned(), Options::default()));
    all
}

/// A text cleaned up, and what was done.
fn cleaned(text: &[u8], options: &Options) -> (Vec<u8>, Report) {
    let cleaned = clean(&ptx_parse::parse(text).module, options);
    (cleaned.text().to_vec(), cleaned.report)
}
