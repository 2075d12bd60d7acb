//! Clean-ups keep what random functions do.

use ptx_transform::clean::{Options, Pass, clean_in_place};

use super::random::Random;
use super::random::program::{State, program};
use super::run;
use super::sample::{sample, seed};

/// Repeating a single pass until nothing changes is the same as cleaning with this pass alone.
#[test]
fn repeated_single_passes_equal_cleaning() {
    let mut random = Random::new(seed() + 22);
    let mut most = 0;
    for _ in 0..200 {
        let text = program(&mut random).text;
        for (pass, (name, options)) in Pass::ALL.iter().zip(super::choices()) {
            let mut module = ptx_parse::parse(text.as_bytes()).module;
            let mut rounds = 1;
            let once = Options::default().with_passes([*pass]).with_max_rounds(1);
            while !clean_in_place(&mut module, &once).is_empty() {
                rounds += 1;
            }
            let (wanted, report) = super::cleaned(text.as_bytes(), &options);
            assert_eq!(ptx_print::verbatim(&module), wanted, "{name}");
            assert_eq!(report.rounds, rounds, "{name}");
            most = most.max(rounds);
        }
    }
    assert!(most > 1, "nothing was done");
}

#[test]
fn random_functions_keep_their_effects() {
    let mut random = Random::new(seed() + 21);
    let (mut changes, mut effects, mut shorter) = (0, 0, 0);
    let part = sample(5, 4).parts;
    for nth in 0..1500 / part {
        let mut program = program(&mut random);
        if nth % 2 == 1 {
            // One that returns something to its caller.
            let text = program.text.replace("%r5", "out");
            program.text = text.replace(".entry k()", ".func (.reg .b32 out) k()");
        }
        let text = run::with_values(&program.text);
        let states: [State; 4] = core::array::from_fn(|_| State::random(&mut random));
        let before = run::runs(&text, &states);
        for (name, options) in super::choices() {
            let (new, report) = super::cleaned(text.as_bytes(), &options);
            let shown = String::from_utf8_lossy(&new);
            changes += report.changes.len();
            let after = run::runs(&shown, &states);
            for ((state, old), new) in states.iter().zip(&before).zip(&after) {
                assert!(
                    old.agrees(new),
                    "{name}, {state:?}: {old:?}\n{new:?}\n{text}\n{shown}\n{report:#?}"
                );
                effects += old.log.len();
                shorter += usize::from(new.steps < old.steps);
            }
            let text = new;
            let (again, report) = super::cleaned(&text, &options);
            assert_eq!(again, text, "{name} is not at its end\n{report:#?}");
        }
    }
    assert!(
        changes > 20_000 / part && effects > 20_000 / part && shorter > 5000 / part,
        "{changes} {effects} {shorter}"
    );
}
