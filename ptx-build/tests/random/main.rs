//! Random calls of the builder, right and wrong: nothing panics, what is refused is told well and leaves no trace, and what is
//! made of calls that were all taken is the module that was asked for, and legal.
//!
//! `PTXKIT_SEED=n` selects other sequences, `PTXKIT_CASES=n` their number; `PTXAS=path` runs ptxas.
#![allow(missing_docs)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

mod calls;
#[path = "../common/mod.rs"]
mod common;
mod dice;
mod oracle;
mod world;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use ptx_build::{BuildError, BuildErrorKind, Declaration, ModuleBuilder};
use ptx_ir::{Module, Severity};
use ptx_isa::{PtxVersion, ScalarType as T, StateSpace, Target};

use calls::Log;
use dice::Dice;
use test_support::sample::{cases, seed};
use world::World;

/// What to do, and the number that all else follows from.
type Step = (u8, u64);

/// Plays the calls; the module, or why there is none.
fn play(steps: &[Step], log: &mut Log) -> Result<Module, BuildError> {
    const TARGETS: &[(PtxVersion, Target)] = &[
        (PtxVersion::new(8, 0), Target::Sm80),
        (PtxVersion::new(6, 3), Target::Sm75),
        (PtxVersion::new(8, 6), Target::Sm90a),
        (PtxVersion::new(9, 2), Target::Sm100a),
        (PtxVersion::new(1, 0), Target::Sm90),
    ];
    let seed = steps.first().map_or(0, |s| s.1);
    let choice = (seed >> 32) as usize % 16;
    let (version, target) = TARGETS[choice.saturating_sub(11)];
    let mut m = ModuleBuilder::new(version, target);
    let mut w = World::new();
    log.note("file", m.file(1, "a.cu"));
    let scalar = |name| Declaration::new(StateSpace::Param, T::B32, name);
    let (result, param) = ([scalar("r")], [scalar("p")]);
    w.callee = log.note(
        "declare a function",
        m.declare_func("callee", None, &result, &param),
    );
    let mut steps = steps.iter();
    while let Some(&(what, seed)) = steps.next() {
        let mut d = Dice::new(seed);
        if what % 3 == 0 {
            calls::of_module(&mut m, &mut d, &mut w, log);
            continue;
        }
        let (begun, name) = match what % 12 {
            1 => match d.maybe(&w.funcs) {
                Some(f) => (m.define(*f), w.names.get(f).cloned().unwrap_or_default()),
                None => continue,
            },
            2 | 5 | 8 => {
                let name = d.name();
                (m.kernel(&name), name)
            }
            _ => {
                let name = d.name();
                (m.func(&name), name)
            }
        };
        let Some(mut k) = log.note("begin", begun) else {
            continue;
        };
        w.begin();
        w.declared(k.handle(), &name);
        let mut events = Vec::new();
        for ty in [T::B32, T::B32, T::B64, T::F32, T::Pred] {
            w.regs.push((k.reg(ty), ty));
        }
        for &(what, seed) in steps.by_ref() {
            if what == 0 {
                break;
            }
            calls::of_function(&mut k, &mut Dice::new(seed), &mut w, log, &mut events);
        }
        calls::tidy(&mut k, &mut d, &w, log, &mut events);
        match seed % 64 {
            0 => drop(k),
            _ => drop(log.note("end", k.finish())),
        }
        log.functions.insert(name, events);
    }
    m.finish()
}

/// The module reads back from its text, is legal, and holds what was told.
fn hold(module: &Module, log: &Log) {
    common::same_as_parsed(module);
    let text = ptx_print::canonical(module, &ptx_print::Style::default());
    let again = ptx_parse::parse(&text);
    let mut found = again.diagnostics;
    found.extend(ptx_verify::verify(
        &again.module,
        &ptx_verify::Options::default(),
    ));
    found.retain(|d| d.severity == Severity::Error);
    assert!(found.is_empty(), "{found:?}");
    for (_, function, body) in module.definitions() {
        if let Some(events) = log.functions.get(module.name(function.name)) {
            oracle::function(events, module, body);
        }
    }
}

fn runner(usual: usize) -> TestRunner {
    TestRunner::new(Config {
        cases: u32::try_from(cases(usual)).unwrap(),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed() + 1),
        ..Config::default()
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0u8..48, any::<u64>()), 1..120)
}

#[test]
fn nothing_panics_and_all_is_told() {
    let total: RefCell<BTreeMap<&'static str, (usize, usize)>> = RefCell::default();
    let modules = Cell::new(0);
    let played = runner(500).run(&steps(), |steps| {
        let mut log = Log::default();
        match play(&steps, &mut log) {
            Ok(module) => {
                hold(&module, &log);
                modules.set(modules.get() + 1);
            }
            Err(error) => {
                oracle::error("the end", &error);
                // What is wrong was to be found by the call that did it, unless it is the header.
                let early = error.kind() != BuildErrorKind::Illegal
                    || error.to_string().starts_with("`.target");
                assert!(early, "found at the end: {error}\n{}", error.text());
            }
        }
        for (call, (taken, refused)) in log.counts {
            let mut total = total.borrow_mut();
            let count = total.entry(call).or_default();
            *count = (count.0 + taken, count.1 + refused);
        }
        Ok(())
    });
    played.unwrap();
    println!("{} modules of {:?}", modules.get(), total.borrow());
    // Every call was taken and refused, and enough of them made modules.
    for (call, (taken, refused)) in total.borrow().iter() {
        assert!(
            *taken > 0 && *refused > 0,
            "{call}: {taken} taken, {refused} refused"
        );
    }
    assert!(modules.get() >= 150, "{}", modules.get());
}

#[test]
fn ptxas_accepts_built_modules() {
    let modules: RefCell<Vec<Module>> = RefCell::default();
    let played = runner(120).run(&steps(), |steps| {
        modules
            .borrow_mut()
            .extend(play(&steps, &mut Log::default()));
        Ok(())
    });
    played.unwrap();
    let mut refused = 0;
    for module in modules.borrow().iter() {
        let text = common::printed(module);
        let target = text
            .split_once("\n.target sm_")
            .and_then(|(_, t)| t.split_whitespace().next());
        let arch = format!("compute_{}", target.unwrap());
        // Functions with unified addresses are for modules that are linked.
        let args = if text.contains(".unified") {
            &["-c"][..]
        } else {
            &[]
        };
        let Some(said) = common::ptxas(text.as_bytes(), &arch, args) else {
            return;
        };
        if !said.is_empty() {
            refused += 1;
            println!("{said}\n{text}");
        }
    }
    let count = modules.borrow().len();
    println!("{refused} of {count} modules are refused");
    // Rules of ptxas about rare names and declarations that the verifier does not have.
    assert!(
        count >= 40 && refused * 100 <= count,
        "{refused} of {count}"
    );
}
