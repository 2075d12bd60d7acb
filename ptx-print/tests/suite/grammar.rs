//! Random valid modules: they read without errors, print back, and mean the same however their
//! tokens are set apart. A sixth of the cases without `PTXKIT_SAMPLE`; `PTXKIT_CASES` asks for another number.
#![allow(clippy::panic, reason = "tests fail by panics")]

use crate::tokens;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ptx_ir::compare;
use test_support::check;
use test_support::sample::sample;

/// Runs a property over deterministic cases.
fn run<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let usual = cases as usize / sample(6, 2).parts;
    let config = Config {
        cases: test_support::sample::cases(usual) as u32,
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(e) = runner.run(strategy, test) {
        panic!("{e}");
    }
}

fn no_errors(text: &str) -> Result<ptx_parse::Parsed, TestCaseError> {
    let parsed = ptx_parse::parse_str(text);
    if let Some(d) = check::first_error(&parsed) {
        let place = d.span.start as usize;
        let around = &text.as_bytes()[place.saturating_sub(80)..(place + 60).min(text.len())];
        let around = String::from_utf8_lossy(around);
        return Err(TestCaseError::fail(format!(
            "{}: {} at {around:?}",
            d.code, d.message
        )));
    }
    Ok(parsed)
}

#[test]
fn valid_modules_read_and_print() {
    run(150, &tokens::module(), |tokens| {
        let text = tokens.plain();
        no_errors(&text)?;
        check::everything(text.as_bytes());
        Ok(())
    });
}

#[test]
fn trivia_mean_nothing() {
    run(150, &tokens::module_with_trivia(), |(text, plain)| {
        let parsed = no_errors(&text)?;
        let other = no_errors(&plain)?;
        if let Err(d) = compare::compare(&parsed.module, &other.module) {
            let (left, right) = (d.left.of(text.as_bytes()), d.right.of(plain.as_bytes()));
            return Err(TestCaseError::fail(format!(
                "{d}: {:?} and {:?}",
                String::from_utf8_lossy(left),
                String::from_utf8_lossy(right)
            )));
        }
        check::everything(text.as_bytes());
        Ok(())
    });
}
