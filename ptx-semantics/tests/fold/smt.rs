//! The functions of `ptx_semantics::smt`. `PTXKIT_SMT_CASES=file` writes all of them with operands and what constant folding says about these,
//! for `.ci/smt.py`, which evaluates them with a solver.

use crate::common::{Dice, parts};
use crate::forms::fillings;
use ptx_isa::{Instruction, Modifier};
use ptx_semantics::fold::{Folded, Operation, Video, fold};
use ptx_semantics::smt::{Definition, NotExpressible, Sort, definitions};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The sets of operands for each spelling of a form.
const CASES: usize = 32;

/// Why some instructions that compute something have no term, and how many forms have none at all.
const WITHOUT_TERM: &[(&str, usize)] = &[
    (
        "not expressible: a format of numbers that is not one of IEEE 754",
        11,
    ),
    ("not expressible: a part that is undefined", 0),
    ("not expressible: a result without a type", 1),
    ("not expressible: a value in memory", 65),
    ("not expressible: an approximation", 26),
    (
        "not expressible: an integer made of a number or a predicate",
        0,
    ),
    (
        "not expressible: an operation on the exact result of another one",
        3,
    ),
    (
        "not expressible: the function Stochastic of its operands",
        5,
    ),
    ("not expressible: the function Test of its operands", 0),
];

fn of(text: &str) -> Result<Vec<Definition>, NotExpressible> {
    let (opcode, modifiers) = parts(text);
    definitions(opcode, &modifiers)
}

fn only(text: &str) -> String {
    let found = of(text).unwrap();
    assert_eq!(found.len(), 1, "{text}");
    found[0].to_string()
}

#[test]
fn terms_are_short() {
    for (text, expected) in [
        (
            "add.s32",
            "(define-fun add.s32 ((a (_ BitVec 32)) (b (_ BitVec 32))) (_ BitVec 32)\n  (bvadd a b))",
        ),
        (
            "mul.wide.s16",
            "(define-fun mul.wide.s16 ((a (_ BitVec 16)) (b (_ BitVec 16))) (_ BitVec 32)\n  \
             (bvmul ((_ sign_extend 16) a) ((_ sign_extend 16) b)))",
        ),
        (
            "shl.b16",
            "(define-fun shl.b16 ((a (_ BitVec 16)) (b (_ BitVec 32))) (_ BitVec 16)\n  \
             ((_ extract 15 0) (bvshl ((_ zero_extend 16) a) b)))",
        ),
        (
            "selp.f32",
            "(define-fun selp.f32 ((a (_ BitVec 32)) (b (_ BitVec 32)) (c Bool)) (_ BitVec 32)\n  (ite c a b))",
        ),
        (
            "not.pred",
            "(define-fun not.pred ((a Bool)) Bool\n  (not a))",
        ),
    ] {
        assert_eq!(only(text), expected);
    }
}

#[test]
fn each_result_has_a_function() {
    let names = |text: &str| -> Vec<String> {
        let found = of(text).unwrap();
        found.into_iter().map(|d| d.name).collect()
    };
    assert_eq!(names("setp.lt.f32"), ["setp.lt.f32", "setp.lt.f32.q"]);
    assert_eq!(names("addc.cc.u32"), ["addc.cc.u32", "addc.cc.u32.carry"]);
    assert_eq!(names("addc.u32"), ["addc.u32"]);
    assert_eq!(names("max.f32"), ["max.f32", "max.f32/3"]);
}

#[test]
fn what_is_open_is_a_parameter() {
    let depends = |text: &str| {
        let found = of(text).unwrap();
        found[0].parameters.iter().any(|p| p.name == "undefined")
    };
    for text in ["div.s32", "add.f32", "mul.ftz.f32", "fns.b32"] {
        assert!(depends(text), "{text}");
    }
    for text in ["add.s32", "mov.f32", "setp.lt.f32", "bfe.u32"] {
        assert!(!depends(text), "{text}");
    }
}

#[test]
fn what_has_no_term() {
    assert_eq!(
        of("ld.u32"),
        Err(NotExpressible::Construct("a value in memory"))
    );
    assert_eq!(of("bar.sync"), Err(NotExpressible::Unstated));
    assert_eq!(of("add.pred"), Err(NotExpressible::Unknown));
    assert_eq!(
        of("sin.approx.f32"),
        Err(NotExpressible::Construct("an approximation"))
    );
}

/// Bit patterns at the edges of integers and of the floating-point formats of a width, and others.
fn pattern(dice: &mut Dice, width: u32) -> u128 {
    let mask = u128::MAX >> (128 - width);
    let random = |dice: &mut Dice| (0..8).fold(0, |x, _| x << 16 | dice.below(1 << 16) as u128);
    let half = width / 2;
    let bits = match dice.below(7) {
        0 => random(dice),
        1 => dice.of(&[
            0, 1, 2, 3, 5, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 200, 255, 256,
        ]),
        2 => dice.of(&[
            0,
            1,
            mask,
            mask - 1,
            mask >> 1,
            (mask >> 1) + 1,
            (mask >> 1).wrapping_sub(1),
        ]),
        3 => 1 << dice.below(width as usize),
        4 if half >= 8 => {
            let (low, high) = (pattern(dice, half), pattern(dice, half));
            high << half | low
        }
        _ if width >= 16 => float_pattern(dice, width),
        _ => random(dice),
    };
    bits & mask
}

/// A floating-point number at an edge of its format, or anywhere.
fn float_pattern(dice: &mut Dice, width: u32) -> u128 {
    let fraction = match width {
        64 => 52,
        32 => 23,
        _ => dice.of(&[10, 7]),
    };
    let sign = u128::from(dice.below(2) == 0) << (width - 1);
    let infinity = (1u128 << (width - 1)) - (1 << fraction);
    let bias = infinity >> (fraction + 1) << fraction;
    let one = 1 << fraction;
    let any = dice.below(1 << 24) as u128 % one;
    let exponent = (bias >> fraction) + dice.below(9) as u128 - 4;
    sign | dice.of(&[
        0,
        1,
        one - 1,
        one,
        one + 1,
        bias,
        bias + 1,
        bias - 1,
        bias / 2,
        bias / 2 + 1,
        bias + one / 2,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + one / 2,
        exponent << fraction | any,
        exponent << fraction | any,
        any,
        one | any,
    ])
}

/// What folding says about operands.
fn folded(name: &str, operands: &[u128], carry: bool) -> Option<Folded> {
    let (opcode, modifiers) = parts(name);
    fold(&Operation {
        opcode,
        modifiers: &modifiers,
        operands,
        carry: Some(carry),
        video: Video::default(),
    })
}

/// The operands of an instruction one of whose sources is a vector: its elements.
fn elements(name: &str, source: u128, width: u32) -> Option<Vec<u128>> {
    let (_, modifiers) = parts(name);
    let count = modifiers.iter().copied().find_map(Modifier::vector_len)?;
    let width = width / u32::from(count);
    let element = |i: u32| source >> (i * width) & (u128::MAX >> (128 - width));
    Some((0..u32::from(count)).map(element).collect())
}

/// A line of JSON: the functions of one number of sources, and cases.
fn line(name: &str, functions: &[&Definition], dice: &mut Dice) -> String {
    let quoted = |d: &&Definition| format!("{:?}", d.to_string());
    let texts: Vec<String> = functions.iter().map(quoted).collect();
    let widths: Vec<u32> = (functions[0].parameters.iter())
        .filter(|p| p.name != "carry" && p.name != "undefined")
        .map(|p| match p.sort {
            Sort::BitVec(width) => width,
            _ => 1,
        })
        .collect();
    let mut cases = Vec::new();
    for _ in 0..CASES {
        let sources: Vec<u128> = widths.iter().map(|&w| pattern(dice, w)).collect();
        let carry = dice.below(2) == 1;
        let operands = match widths[..] {
            [width] => elements(name, sources[0], width),
            _ => None,
        };
        let found = folded(name, operands.as_ref().unwrap_or(&sources), carry);
        let mut case = format!("[{}", u8::from(carry));
        for source in sources {
            write!(case, ",{source}").unwrap();
        }
        let flag = |bit: Option<bool>| bit.map_or(-1, i32::from);
        let results = found.map_or("null".to_owned(), |f| {
            format!("[{},{},{}]", f.value, flag(f.second), flag(f.carry))
        });
        cases.push(format!("{case},{results}]"));
    }
    format!(
        "{{\"name\":\"{name}\",\"functions\":[{}],\"cases\":[{}]}}\n",
        texts.join(","),
        cases.join(",")
    )
}

/// One form of these takes a special register or an address, which is not expressible; that of registers is.
#[test]
fn moves_and_conversions_of_integers_have_functions() {
    assert_eq!(
        only("mov.b32"),
        "(define-fun mov.b32 ((a (_ BitVec 32))) (_ BitVec 32)\n  a)"
    );
    for text in [
        "mov.b16",
        "mov.b64",
        "mov.u16",
        "mov.u32",
        "mov.s32",
        "mov.u64",
        "mov.s64",
        "mov.pred",
        "cvt.u64.u32",
        "cvt.s64.s32",
        "cvt.u32.u16",
        "cvt.s32.s8",
        "cvt.u32.u64",
        "cvt.u16.u32",
        "cvt.sat.u8.s32",
    ] {
        let function = only(text);
        assert!(
            function.starts_with(&format!("(define-fun {text} (")),
            "{function}"
        );
    }
    let why = of("ld.global.b32").unwrap_err().to_string();
    assert_eq!(why, "not expressible: a value in memory");
}

#[test]
fn forms_have_terms() {
    let mut dice = Dice(crate::sample::seed() + 1);
    let (mut forms, mut with_term, mut spellings) = (0, 0, 0);
    let mut without: BTreeMap<String, usize> = BTreeMap::new();
    let mut refused: BTreeSet<(String, &str)> = BTreeSet::new();
    let mut output = String::new();
    let all = Instruction::ALL.iter();
    for (instruction, form) in all.flat_map(|i| i.forms().iter().map(move |f| (i, f))) {
        if form.computation().is_none() {
            continue;
        }
        let (before, mut reason) = (spellings, None);
        for words in fillings(form) {
            let mut name = instruction.name().to_owned();
            words.iter().for_each(|m| name += m.text());
            let found = match of(&name) {
                Ok(found) => found,
                Err(why) => {
                    reason = Some(why.to_string());
                    refused.insert((why.to_string(), instruction.opcode().text()));
                    without.entry(why.to_string()).or_default();
                    continue;
                }
            };
            spellings += 1;
            let mut by_count: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
            for definition in &found {
                let count = definition.name.split_once('/').map_or("", |(_, n)| &n[..1]);
                by_count.entry(count).or_default().push(definition);
            }
            for functions in by_count.values() {
                output += &line(&name, functions, &mut dice);
            }
        }
        forms += 1;
        match reason.filter(|_| spellings == before) {
            Some(reason) => *without.entry(reason).or_default() += 1,
            None => with_term += 1,
        }
    }
    println!(
        "{with_term} of {forms} forms that compute something have a term, in {spellings} spellings"
    );
    for (why, opcode) in &refused {
        writeln!(output, "{{\"name\":\"{opcode}\",\"refused\":\"{why}\"}}").unwrap();
    }
    if let Some(path) = std::env::var_os("PTXKIT_SMT_CASES") {
        std::fs::write(path, output).unwrap();
    }
    let without: Vec<_> = without.iter().map(|(why, n)| (&**why, *n)).collect();
    assert_eq!(without, WITHOUT_TERM);
}
