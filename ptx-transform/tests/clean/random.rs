//! Random functions do what they did.

use ptx_machine::Random;
use ptx_machine::program::program;

/// Another start with `PTX_SEED=n`.
fn seed() -> u64 {
    let given = std::env::var("PTX_SEED").ok();
    given.and_then(|s| s.parse().ok()).unwrap_or(21)
}

#[test]
fn random_functions_do_what_they_did() {
    let mut random = Random(seed());
    let (mut changes, mut effects, mut shorter) = (0, 0, 0);
    for _ in 0..1500 {
        let program = program(&mut random);
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
