//! Clean-ups keep the effects of random functions.

use ptx_machine::Random;
use ptx_machine::program::program;
use ptx_transform::clean::Pass;

/// Repeating a single pass until nothing changes is the same as cleaning with this pass alone.
#[test]
fn repeated_single_passes_equal_cleaning() {
    let mut random = Random::new(seed() + 1);
    let mut most = 0;
    for _ in 0..200 {
        let text = program(&mut random).text;
        for (pass, (name, options)) in Pass::ALL.iter().zip(super::choices()) {
            let mut module = ptx_parse::parse(text.as_bytes()).module;
            let mut rounds = 1;
            while !pass.run(&mut module).is_empty() {
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

/// Another start with `PTX_SEED=n`.
fn seed() -> u64 {
    let given = std::env::var("PTX_SEED").ok();
    given.and_then(|s| s.parse().ok()).unwrap_or(21)
}

#[test]
fn random_functions_keep_their_effects() {
    let mut random = Random::new(seed());
    let (mut changes, mut effects, mut shorter) = (0, 0, 0);
    for nth in 0..1500 {
        let mut program = program(&mut random);
        if nth % 2 == 1 {
            // One that returns something to its caller.
            let text = program.text.replace("%r5", "out");
            program.text = text.replace(".entry k()", ".func (.reg .b32 out) k()");
        }
        let before = ptx_parse::parse(program.text.as_bytes()).module;
        for (name, options) in super::choices() {
            let (text, report) = super::cleaned(program.text.as_bytes(), &options);
            let parsed = ptx_parse::parse(&text);
            let shown = String::from_utf8_lossy(&text);
            assert!(
                parsed.diagnostics.is_empty(),
                "{:?}\n{shown}",
                parsed.diagnostics
            );
            changes += report.changes.len();
            for seed in 0..4 {
                let seed = random.next() << 2 | seed;
                let old = super::run(&before, "k", seed, 200);
                let new = super::run(&parsed.module, "k", seed, 200);
                assert!(
                    old.agrees(&new),
                    "{name}, seed {seed}: {old:?}\n{new:?}\n{}\n{shown}\n{report:#?}",
                    program.text
                );
                effects += old.effects.len();
                shorter += usize::from(new.steps < old.steps);
            }
            let (again, report) = super::cleaned(&text, &options);
            assert_eq!(again, text, "{name} is not at its end\n{report:#?}");
        }
    }
    assert!(
        changes > 20_000 && effects > 20_000 && shorter > 5000,
        "{changes} {effects} {shorter}"
    );
}
