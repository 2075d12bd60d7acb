//! Instructions of functions as values and as terms. With `PTXKIT_SMT_CASES=file`, `file.windows` gets the terms of windows of the corpus with
//! values that `evaluate` gives, for `.ci/smt.py`.

use crate::common::Dice;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{Body, InstId, Module, StmtId};
use ptx_semantics::smt::{Formula, Input, NotExpressible, Sort, SortedTerm};
use ptx_semantics::{Place, evaluate, smt, smt_block, smt_window};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const REGISTERS: &str = ".reg .b16 h0, h1; .reg .b32 a, b, c, d; .reg .b64 w, x; .reg .b128 q; .reg .pred p, s; \
    .reg .f32 f, g; .reg .v2 .b32 v; .global .b32 data;";

fn module(statements: &str) -> Module {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k() {{ {REGISTERS} {statements} ret; }}"
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(
        !parsed.has_errors(),
        "{statements}: {:?}",
        parsed.diagnostics
    );
    parsed.module
}

fn with_function<T>(module: &Module, test: impl FnOnce(FunctionFacts<'_>) -> T) -> T {
    let facts = ModuleFacts::new(module);
    test(facts.function(module.function("k").unwrap()).unwrap())
}

/// The instructions but for the last one, `ret`.
fn instructions(body: &Body) -> Vec<InstId> {
    let mut all: Vec<InstId> = body.insts().map(|(id, _)| id).collect();
    all.pop();
    all
}

/// The name of a place.
fn name(module: &Module, body: &Body, place: Place) -> String {
    match place {
        Place::Register(register) => {
            let name = body.register_name(module, register.register);
            match register.component {
                Some(component) => {
                    format!("{name}.{}", ["x", "y", "z", "w"][usize::from(component)])
                }
                None => name,
            }
        }
        Place::Special(special, component) => format!("{}{component:?}", special.text()),
        _ => "carry".to_owned(),
    }
}

/// Executes statements; the places of `state` and of the results have names.
fn executed(statements: &str, state: &[(&str, u128)]) -> Option<BTreeMap<String, Option<u128>>> {
    let module = module(statements);
    with_function(&module, |function| {
        let body = function.body();
        let mut values: BTreeMap<String, Option<u128>> = state
            .iter()
            .map(|(name, bits)| ((*name).to_owned(), Some(*bits)))
            .collect();
        let mut results = BTreeMap::new();
        for id in instructions(body) {
            let written = evaluate(&function.inst(id), |place| {
                values.get(&name(&module, body, place)).copied().flatten()
            })?;
            for (place, bits) in written {
                values.insert(name(&module, body, place), bits);
                results.insert(name(&module, body, place), bits);
            }
        }
        Some(results)
    })
}

#[test]
fn values_of_all_kinds_of_operands() {
    /// An instruction, the values of the registers that it reads, and those of the registers that it writes.
    type Case<'a> = (
        &'a str,
        &'a [(&'a str, u128)],
        &'a [(&'a str, Option<u128>)],
    );
    let cases: &[Case<'_>] = &[
        // A constant and a register.
        ("add.s32 a, b, -3;", &[("b", 10)], &[("a", Some(7))]),
        (
            "add.f32 f, g, 0f3f800000;",
            &[("g", 0x3f80_0000)],
            &[("f", Some(0x4000_0000))],
        ),
        // Predicates: a guard, `!`, two results, `_`.
        (
            "@p add.s32 a, b, 1;",
            &[("b", 1), ("p", 1)],
            &[("a", Some(2))],
        ),
        ("@!p add.s32 a, b, 1;", &[("b", 1), ("p", 1)], &[]),
        (
            "selp.b32 a, b, 5, p;",
            &[("b", 1), ("p", 0)],
            &[("a", Some(5))],
        ),
        (
            "setp.lt.and.u32 p|s, a, b, !s;",
            &[("a", 1), ("b", 2), ("s", 0)],
            &[("p", Some(1)), ("s", Some(0))],
        ),
        (
            "setp.lt.u32 p|_, a, b;",
            &[("a", 1), ("b", 2)],
            &[("p", Some(1))],
        ),
        // An operand that does not matter.
        ("and.b32 a, b, 0;", &[], &[("a", Some(0))]),
        (
            "selp.b32 a, b, c, p;",
            &[("c", 4), ("p", 0)],
            &[("a", Some(4))],
        ),
        // The carry flag.
        (
            "add.cc.u32 a, b, -1; addc.u32 c, a, 0;",
            &[("b", 1)],
            &[("a", Some(0)), ("carry", Some(1)), ("c", Some(1))],
        ),
        (
            "sub.cc.u32 a, b, 2; subc.cc.u32 c, b, 0;",
            &[("b", 1)],
            &[("a", Some(0xffff_ffff)), ("c", Some(0)), ("carry", Some(1))],
        ),
        // Vectors and their components.
        (
            "mov.b64 w, {a, b};",
            &[("a", 1), ("b", 2)],
            &[("w", Some(0x2_0000_0001))],
        ),
        (
            "mov.b64 {a, _}, w;",
            &[("w", 0x2_0000_0001)],
            &[("a", Some(1))],
        ),
        ("add.u32 v.y, v.x, 1;", &[("v.x", 4)], &[("v.y", Some(5))]),
        // Registers wider than their operand.
        (
            "cvt.s32.s8 a, b;",
            &[("b", 0x80)],
            &[("a", Some(0xffff_ff80))],
        ),
        (
            "cvt.u16.u32 a, b;",
            &[("b", 0x1_2345)],
            &[("a", Some(0x2345))],
        ),
        (
            "cvt.s16.s32 a, b;",
            &[("b", 0x8000)],
            &[("a", Some(0xffff_8000))],
        ),
        // Selected parts and signs.
        (
            "vadd.s32.s32.u32 a, b.b0, 5;",
            &[("b", 0x1280)],
            &[("a", Some(0xffff_ff85))],
        ),
        (
            "vmad.s32.s32.s32 a, b, c, -d;",
            &[("b", 3), ("c", 4), ("d", 5)],
            &[("a", Some(7))],
        ),
        // A special register.
        (
            "mov.u32 a, %tid.y; add.u32 b, a, 1;",
            &[("%tidSome(1)", 6)],
            &[("a", Some(6)), ("b", Some(7))],
        ),
    ];
    for (statements, state, expected) in cases {
        let expected = expected
            .iter()
            .map(|(name, bits)| ((*name).to_owned(), *bits))
            .collect();
        assert_eq!(executed(statements, state), Some(expected), "{statements}");
    }
}

#[test]
fn values_that_are_not_determined() {
    for (statements, state) in [
        ("add.s32 a, b, 1;", &[][..]),
        ("@p add.s32 a, b, 1;", &[("b", 1)]),
        ("div.s32 a, b, 0;", &[("b", 1)]),
        ("sin.approx.f32 f, g;", &[("g", 0)]),
        ("ld.global.b32 a, [w];", &[("w", 0)]),
        ("st.global.b32 [w], a;", &[("w", 0), ("a", 0)]),
        ("atom.global.add.u32 a, [w], b;", &[("w", 0), ("b", 0)]),
        ("mov.u64 w, data;", &[]),
        ("bar.sync 0;", &[]),
        ("addc.u32 a, b, 0;", &[("b", 0)]),
        ("mov.u32 a, %clock;", &[("%clockNone", 1)]),
    ] {
        assert_eq!(executed(statements, state), None, "{statements}");
    }
}

/// The terms of the results of statements, and the inputs.
fn terms(statements: &str) -> Result<String, NotExpressible> {
    let module = module(statements);
    with_function(&module, |function| {
        let formula = smt_window(function, &instructions(function.body()))?;
        let mut text = String::new();
        for (input, constant) in formula.script.inputs() {
            let meaning = match input {
                Input::Place(place) => name(&module, function.body(), *place),
                other => format!("{other:?}"),
            };
            let _ = write!(text, "{}={meaning} ", formula.script.text(*constant));
        }
        for (place, term) in formula.results() {
            let place = name(&module, function.body(), place);
            let _ = write!(text, "| {place} = {} ", formula.script.text(term));
        }
        Ok(text.trim_end().to_owned())
    })
}

#[test]
fn terms_of_all_kinds_of_operands() {
    for (statements, expected) in [
        ("add.s32 a, b, -3;", "x0=b | a = (bvadd x0 #xfffffffd)"),
        (
            "add.s32 a, a, a; add.s32 b, a, 1;",
            "x0=a | a = (bvadd x0 x0) | b = (bvadd (bvadd x0 x0) #x00000001)",
        ),
        (
            "@!p mov.b32 a, b;",
            "x0=b x1=p x2=a | a = (ite (not x1) x0 x2)",
        ),
        (
            "setp.lt.and.u32 p|_, a, b, !s;",
            "x0=a x1=b x2=s | p = (and (bvult x0 x1) (not x2))",
        ),
        ("mov.b64 {a, _}, w;", "x0=w | a = ((_ extract 31 0) x0)"),
        ("mov.b64 w, {a, b};", "x0=a x1=b | w = (concat x1 x0)"),
        (
            "cvt.s16.s32 a, b;",
            "x0=b | a = ((_ sign_extend 16) ((_ extract 15 0) x0))",
        ),
        (
            "add.u32 v.y, v.x, 1;",
            "x0=v.x | v.y = (bvadd x0 #x00000001)",
        ),
        (
            "addc.u32 a, b, 0;",
            "x0=b x1=carry | a = (bvadd (bvadd x0 #x00000000) ((_ zero_extend 31) (ite x1 #b1 #b0)))",
        ),
        ("mov.pred p, !s;", "x0=s | p = (not x0)"),
    ] {
        assert_eq!(terms(statements).as_deref(), Ok(expected), "{statements}");
    }
    for statements in [
        "ld.global.b32 a, [w];",
        "mov.u64 w, data;",
        "bar.sync 0;",
        "sin.approx.f32 f, g;",
        "mov.u32 a, %clock;",
    ] {
        assert!(terms(statements).is_err(), "{statements}");
    }
}

/// Each result that the PTX ISA manual leaves open has its own bits.
#[test]
fn undefined_results_differ() {
    let found = terms("div.s32 a, b, 0; div.s32 c, b, 0;").unwrap();
    assert_eq!(found.matches("Undefined(").count(), 2, "{found}");
}

/// In a block, what has no term is an input, and is listed.
#[test]
fn blocks_with_loads_have_terms() {
    let module = module(
        "ld.global.b32 a, [w]; add.s32 b, a, 1; @p ld.global.b32 b, [w+4]; st.global.b32 [w], b; add.s32 c, b, 1;",
    );
    with_function(&module, |function| {
        let body = function.body();
        let ids: Vec<StmtId> = body.statements().map(|(id, _)| id).collect();
        let all = instructions(body);
        let formula = smt_block(function, ids[0], *ids.last().unwrap());
        assert_eq!(formula.opaque, [all[0], all[2], all[3]]);
        let sum = formula.results().last().unwrap();
        assert_eq!(name(&module, body, sum.0), "c");
        let opaque = |input: &Input| matches!(input, Input::Opaque(id, _) if *id == all[2]);
        let (_, constant) = formula
            .script
            .inputs()
            .iter()
            .find(|(i, _)| opaque(i))
            .unwrap();
        let expected = format!("(bvadd {} #x00000001)", formula.script.text(*constant));
        assert_eq!(formula.script.text(sum.1), expected);
    });
}

/// The same places are written by `evaluate`, by the terms and by the facts.
fn compare_places(function: FunctionFacts<'_>, id: InstId) -> bool {
    let facts = function.inst(id);
    let (Ok(formula), Some(results)) = (smt(&facts), evaluate(&facts, |_| Some(0))) else {
        return false;
    };
    if facts.guard().is_none() {
        let terms: BTreeSet<Place> = formula.results().map(|(place, _)| place).collect();
        let values: BTreeSet<Place> = results.iter().map(|(place, _)| place).collect();
        assert_eq!(terms, values);
    }
    true
}

/// A line for `.ci/smt.py`: a term of a window as a function of its inputs, and cases.
fn line(number: usize, formula: &Formula, term: SortedTerm, cases: &[Vec<u128>]) -> String {
    let parameters: Vec<String> = formula
        .script
        .inputs()
        .iter()
        .map(|(_, input)| format!("({} {})", formula.script.text(*input), input.sort()))
        .collect();
    let function = format!(
        "(define-fun window{number} ({}) {}\n  {})",
        parameters.join(" "),
        term.sort(),
        formula.script.text(term)
    );
    let cases: Vec<String> = cases
        .iter()
        .map(|case| {
            let (result, values) = case.split_last().unwrap();
            let values: String = values.iter().map(|bits| format!("{bits},")).collect();
            format!("[0,{values}[{result},-1,-1]]")
        })
        .collect();
    format!(
        "{{\"name\":\"window{number}\",\"functions\":[{function:?}],\"cases\":[{}]}}\n",
        cases.join(",")
    )
}

/// The values of the inputs of a window in some states, each with the result that `evaluate` gives for a place.
fn cases(
    function: FunctionFacts<'_>,
    window: &[InstId],
    formula: &Formula,
    result: Place,
    dice: &mut Dice,
) -> Vec<Vec<u128>> {
    let mut cases = Vec::new();
    for _ in 0..4 {
        let mut state: BTreeMap<Place, u128> = BTreeMap::new();
        let mut values: Vec<u128> = Vec::new();
        for (input, constant) in formula.script.inputs() {
            let width = match constant.sort() {
                Sort::BitVec(width) => width,
                _ => 1,
            };
            let random = (0..8).fold(0, |bits, _| bits << 16 | dice.below(1 << 16) as u128);
            let bits = [
                random,
                dice.below(40) as u128,
                u128::MAX - dice.below(3) as u128,
            ][dice.below(3)];
            let bits = bits & (u128::MAX >> (128 - width));
            values.push(bits);
            if let Input::Place(place) = input {
                state.insert(*place, bits);
            }
        }
        let executed = window.iter().all(|&id| {
            let results = evaluate(&function.inst(id), |place| state.get(&place).copied());
            let Some(results) = results else { return false };
            for (place, bits) in results {
                match bits {
                    Some(bits) => state.insert(place, bits),
                    None => state.remove(&place),
                };
            }
            true
        });
        if let Some(bits) = state.get(&result).filter(|_| executed) {
            values.push(*bits);
            cases.push(values);
        }
    }
    cases
}

/// Windows of instructions of the corpus have the terms of their values.
#[test]
fn smt_windows_of_the_corpus() {
    let mut dice = Dice(crate::sample::seed() + 7);
    let (mut output, mut windows, mut tested) = (String::new(), 0, 0);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for entry in test_support::corpus::small(40_000).iter().step_by(3) {
        let module = ptx_parse::parse(&entry.read()).module;
        let facts = ModuleFacts::new(&module);
        for (id, _, body) in module.definitions() {
            let Some(function) = facts.function(id) else {
                continue;
            };
            let all: Vec<InstId> = body.insts().map(|(id, _)| id).collect();
            for &id in &all {
                compare_places(function, id);
            }
            for window in all.windows(1 + dice.below(4)).step_by(1 + dice.below(3)) {
                let Ok(formula) = smt_window(function, window) else {
                    continue;
                };
                let Some((place, term)) = formula.results().last() else {
                    continue;
                };
                let text = formula.script.text(term).to_string();
                if text.len() > 3000 || !seen.insert(text) {
                    continue;
                }
                windows += 1;
                let cases = cases(function, window, &formula, place, &mut dice);
                tested += cases.len();
                // In SMT-LIB, a function without parameters is not applied.
                if !cases.is_empty() && !formula.script.inputs().is_empty() {
                    output += &line(windows, &formula, term, &cases);
                }
            }
        }
    }
    assert!(
        windows > 500 && tested > 1500,
        "{windows} windows, {tested} cases"
    );
    if let Some(path) = std::env::var_os("PTXKIT_SMT_CASES") {
        let path = std::path::PathBuf::from(path).with_extension("windows");
        std::fs::write(path, output).unwrap();
    }
}
