//! Differences of small modules.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ptx_build::{ModuleBuilder, at};
use ptx_diff::{Equality, FunctionDiff, Line, ModuleDiff, Subject};
use ptx_edit::EditModule as _;
use ptx_ir::Module;
use ptx_isa::{PtxVersion, ScalarType, Target};

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn parse(text: &str) -> Module {
    ptx_parse::parse(format!("{HEADER}{text}").as_bytes()).module
}

fn diff(left: &str, right: &str) -> ModuleDiff {
    ModuleDiff::new(&parse(left), &parse(right), Equality::Statements)
}

fn kernel(body: &str) -> String {
    format!(
        ".entry k() {{ .reg .b32 a, b, c, d; .reg .pred p, q; .reg .b64 x; .reg .b32 unused; {body} }}\n"
    )
}

fn function(left: &str, right: &str) -> FunctionDiff {
    let mut diff = diff(&kernel(left), &kernel(right));
    assert_eq!(diff.functions.len(), 1);
    diff.functions.pop().unwrap()
}

/// `-` and `+` for changes, a space for what is the same.
fn marks(of: &FunctionDiff) -> String {
    assert!(of.lines.iter().any(|line| line.is_change()));
    let marks = of.lines.iter().map(|line| match line {
        Line::Same(..) => ' ',
        Line::Removed(_) => '-',
        Line::Added(_) => '+',
    });
    marks.collect()
}

#[test]
fn registers_correspond_over_the_whole_function() {
    let equal = |a: &str, b: &str| function(a, b).is_equal();
    assert!(equal(
        "mov.u32 a, 1; add.u32 b, a, a;",
        "mov.u32 c, 1; add.u32 d, c, c;"
    ));
    assert!(!equal(
        "mov.u32 a, 1; add.u32 b, a, a;",
        "mov.u32 c, 1; add.u32 c, c, c;"
    ));
    assert!(!equal(
        "mov.u32 a, 1; add.u32 a, a, b;",
        "mov.u32 a, 1; add.u32 a, b, a;"
    ));
    assert!(equal("add.u32 a, b, 0x10;", "add.u32 a, b, 16;"));
    assert!(equal("ld.u32 a, [x];", "ld.u32 a, [x+0];"));
    assert!(!equal("ld.u32 a, [x];", "ld.u32 a, [x+4];"));
    assert!(equal("l: bra l;", "m: n: bra m;"));
    assert!(!equal(
        "l: add.u32 a, a, a; bra l;",
        "add.u32 a, a, a; l: bra l;"
    ));
    assert!(!equal("@p bra l; l: m: ret;", "@!p bra l; l: m: ret;"));
}

#[test]
fn types_of_registers_and_variables_matter() {
    let of = |ty: &str, size: u32, name: &str| {
        let text = format!(
            ".entry k() {{ .reg {ty} {name}; .shared .align 4 .b8 s{name}[{size}]; mov.b32 {name}, s{name}; }}"
        );
        parse(&text)
    };
    let equal = |a: &Module, b: &Module| ModuleDiff::new(a, b, Equality::Statements).is_equal();
    assert!(equal(&of(".b32", 4, "a"), &of(".b32", 4, "b")));
    assert!(!equal(&of(".b32", 4, "a"), &of(".u32", 4, "b")));
    assert!(!equal(&of(".b32", 4, "a"), &of(".b32", 8, "b")));
}

#[test]
fn changed_statements() {
    let old = "mov.u32 a, 1; add.u32 b, a, a; mul.lo.u32 c, b, a; xor.b32 d, c, c; ret;";
    // The multiplication has another factor; the names of all registers are others.
    let new = "mov.u32 d, 1; add.u32 c, d, d; mul.lo.u32 b, c, 3; xor.b32 a, b, b; ret;";
    let of = function(old, new);
    assert_eq!(marks(&of), "  -+  ");
    assert_eq!(of.edits(), (1, 1));
    let new =
        "mov.u32 a, 1; add.u32 b, a, a; not.b32 b, b; mul.lo.u32 c, b, a; xor.b32 d, c, c; ret;";
    assert_eq!(marks(&function(old, new)), "  +   ");
    assert_eq!(marks(&function(old, "ret;")), "---- ");
    assert_eq!(marks(&function("", "ret;")), "+");
}

#[test]
fn functions_of_other_names() {
    let body = "{ .reg .b32 a<9>; mov.u32 a1, 1; add.u32 a2, a1, 5; mul.lo.u32 a3, a2, 7; st.global.u32 [0], a3; ret; }";
    let left = format!(".entry old() {body} .func f() {{ trap; }}");
    let right = format!(
        ".entry new() {} .func g() {{ ret; }}",
        body.replace("a1, 1", "a1, 2")
    );
    let diff = diff(&left, &right);
    let [renamed, removed, added] = &diff.functions[..] else {
        panic!("{diff:?}")
    };
    assert!(renamed.left.is_some() && renamed.right.is_some() && !renamed.is_equal());
    let similarity = renamed.similarity.unwrap();
    assert!(similarity > 0.6 && similarity < 0.7, "{similarity}");
    assert_eq!(marks(renamed), "-+    ");
    assert!(removed.left.is_some() && removed.right.is_none());
    assert!(added.left.is_none() && added.right.is_some());
}

#[test]
fn declarations() {
    let left =
        ".global .align 4 .b32 t[3] = {1, 2, 3}; .shared .b8 s[4]; .extern .func e(.param .b32 p);
        .visible .entry k(.param .u64 p) .maxntid 128, 1, 1 { .local .b8 l[8]; ret; }";
    let right =
        ".global .align 4 .b32 t[3] = {1, 2, 4}; .shared .b8 s[8]; .extern .func e(.param .b64 p);
        .entry k(.param .u32 q) .maxntid 256, 1, 1 .minnctapersm 2 { ret; } .const .b32 c;";
    let diff = diff(left, right);
    let shown = |all: &[ptx_diff::Change]| -> Vec<(Subject, String)> {
        let shown = |text: &Option<String>| text.clone().unwrap_or("nothing".into());
        let all = all.iter();
        all.map(|c| {
            (
                c.subject,
                format!("{}: {} to {}", c.name, shown(&c.left), shown(&c.right)),
            )
        })
        .collect()
    };
    assert_eq!(
        shown(&diff.changes),
        [
            (
                Subject::Variable,
                "s: .shared .b8 s[4] to .shared .b8 s[8]".into()
            ),
            (
                Subject::Declaration,
                "e: .extern .func e(.b32) to .extern .func e(.b64)".into()
            ),
            (Subject::Variable, "c: nothing to .const .b32 c".into()),
            (
                Subject::Initializer,
                "t: element 2 of 3 is 3 to element 2 of 3 is 4".into()
            ),
        ]
    );
    assert_eq!(
        shown(&diff.functions[0].changes),
        [
            (Subject::Linkage, ": .visible to nothing".into()),
            (Subject::Parameter, "0: .u64 to .u32".into()),
            (
                Subject::Directive,
                ".maxntid: .maxntid 128, 1, 1 to .maxntid 256, 1, 1".into()
            ),
            (
                Subject::Directive,
                ".minnctapersm: nothing to .minnctapersm 2".into()
            ),
            (Subject::Variable, "l: .local .b8 l[8] to nothing".into()),
        ]
    );
}

#[test]
fn headers_of_modules() {
    let old = parse("");
    let new = ptx_parse::parse(b".version 8.1\n.target sm_90a, debug\n.address_size 64\n").module;
    let diff = ModuleDiff::new(&old, &new, Equality::Statements);
    let found: Vec<_> = diff
        .changes
        .iter()
        .map(|c| (c.subject, c.right.clone().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            (Subject::Version, "8.1".into()),
            (Subject::Target, "sm_90a, debug".into())
        ]
    );
}

/// Statements of few kinds in a random order: no input has a quadratic cost.
#[test]
fn long_functions_are_compared_in_linear_time() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut text = |len: usize| {
        let body: String = (0..len)
            .map(|_| {
                [
                    "add.u32 a, a, 1; ",
                    "add.u32 b, b, a; ",
                    "mul.lo.u32 a, a, b; ",
                ][rng.usize(..3)]
            })
            .collect();
        kernel(&body)
    };
    let (left, right) = (text(100_000), text(100_000));
    let start = std::time::Instant::now();
    let diff = diff(&left, &right);
    let (removed, added) = diff.functions[0].edits();
    assert!(
        removed > 10_000 && added > 10_000 && removed < 90_000,
        "{removed} {added}"
    );
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Code is equal by its values, not by its statements.
#[track_caller]
fn same_values(left: &str, right: &str) {
    let (left, right) = (parse(&kernel(left)), parse(&kernel(right)));
    assert!(!ModuleDiff::new(&left, &right, Equality::Statements).is_equal());
    assert!(ModuleDiff::new(&left, &right, Equality::Values).is_equal());
}

#[track_caller]
fn other_values(left: &str, right: &str) {
    // Whatever is not recognized is different.
    let recognized = parse(&kernel(&format!("not.b32 unused, unused; {left}")));
    let (left, right) = (parse(&kernel(left)), parse(&kernel(right)));
    assert!(ModuleDiff::new(&left, &recognized, Equality::Values).is_equal());
    assert!(!ModuleDiff::new(&left, &right, Equality::Values).is_equal());
}

#[test]
fn values_in_basic_blocks() {
    let start = "mov.b64 x, 0; ld.global.b32 a, [x]; ld.global.b32 b, [x+4];";
    let both = |check: fn(&str, &str), left: &str, right: &str| {
        check(
            &format!("{start} {left} st.global.b32 [x], c;"),
            &format!("{start} {right} st.global.b32 [x], c;"),
        );
    };
    // Commuted operands.
    both(same_values, "add.s32 c, a, b;", "add.s32 c, b, a;");
    both(other_values, "sub.s32 c, a, b;", "sub.s32 c, b, a;");
    both(other_values, "add.s32 c, a, b;", "add.s32 c, b, b;");
    both(other_values, "add.s32 c, a, b;", "add.s32 c, a, 1;");
    both(other_values, "add.s32 c, a, b;", "add.u32 c, b, a;");
    both(
        same_values,
        "setp.eq.s32 p, a, b; selp.b32 c, a, b, p;",
        "setp.eq.s32 q, b, a; selp.b32 c, a, b, q;",
    );
    both(
        other_values,
        "setp.lt.s32 p, a, b; selp.b32 c, a, b, p;",
        "setp.lt.s32 q, b, a; selp.b32 c, a, b, q;",
    );
    both(
        other_values,
        "setp.eq.s32 p, a, b; selp.b32 c, a, b, p;",
        "setp.eq.s32 p, a, b; selp.b32 c, b, a, p;",
    );
    // Another order, other registers, copies, unused values.
    both(
        same_values,
        "not.b32 c, a; not.b32 d, b; xor.b32 c, c, d;",
        "not.b32 d, b; not.b32 c, a; xor.b32 c, d, c;",
    );
    both(
        same_values,
        "add.s32 c, a, 1; add.s32 c, c, b;",
        "add.s32 a, a, 1; add.s32 c, a, b;",
    );
    both(
        same_values,
        "mov.b32 d, a; add.s32 c, d, b;",
        "add.s32 c, a, b; add.s32 d, c, c;",
    );
    both(
        other_values,
        "mov.b32 d, a; add.s32 c, d, b;",
        "mov.b32 d, b; add.s32 c, d, b;",
    );
    // Guards.
    both(
        same_values,
        "setp.eq.s32 p, a, b; mov.b32 c, 1; @p mov.b32 c, 2;",
        "mov.b32 c, 1; setp.eq.s32 p, b, a; @p mov.b32 c, 2;",
    );
    both(
        other_values,
        "setp.eq.s32 p, a, b; mov.b32 c, 1; @p mov.b32 c, 2;",
        "setp.eq.s32 p, a, b; mov.b32 c, 1; @!p mov.b32 c, 2;",
    );
    both(
        other_values,
        "setp.eq.s32 p, a, b; mov.b32 c, 1; @p mov.b32 c, 2;",
        "setp.eq.s32 p, a, b; @p mov.b32 c, 2; mov.b32 c, 1;",
    );
    // The carry flag.
    both(
        same_values,
        "add.cc.u32 c, a, b; addc.u32 c, a, 0;",
        "add.cc.u32 d, b, a; addc.u32 c, a, 0;",
    );
    both(
        other_values,
        "add.cc.u32 c, a, b; addc.u32 c, a, 0;",
        "add.cc.u32 c, a, a; addc.u32 c, a, 0;",
    );
}

#[test]
fn effects_keep_their_order() {
    let (one, two) = ("st.global.b32 [x], a;", "st.global.b32 [x+4], b;");
    let start = "mov.b64 x, 8; mov.b32 a, 1; mov.b32 b, 2;";
    other_values(
        &format!("{start} {one} {two}"),
        &format!("{start} {two} {one}"),
    );
    other_values(&format!("{start} {one} {two}"), &format!("{start} {one}"));
    other_values(
        &format!("{start} ld.global.b32 c, [x]; {one} st.global.b32 [x], c;"),
        &format!("{start} {one} ld.global.b32 c, [x]; st.global.b32 [x], c;"),
    );
    other_values(
        &format!("{start} bar.sync 0; {one}"),
        &format!("{start} {one} bar.sync 0;"),
    );
    other_values(&format!("{start} @p {one}"), &format!("{start} {one}"));
    other_values(
        "mov.b64 x, 8; mov.u32 a, %clock; mov.u32 b, %clock; st.global.v2.b32 [x], {a, b};",
        "mov.b64 x, 8; mov.u32 b, %clock; mov.u32 a, %clock; st.global.v2.b32 [x], {a, b};",
    );
}

#[test]
fn values_across_basic_blocks() {
    let of = |init: &str, step: &str, stored: &str| {
        format!(
            "mov.b64 x, 8; {init} l: {step} setp.lt.s32 p, a, 10; @p bra l; st.global.b32 [x], {stored};"
        )
    };
    let loop_of = |step: &str| of("mov.b32 a, 0; mov.b32 b, 1; mov.b32 c, 2;", step, "b");
    same_values(
        &loop_of("add.s32 a, a, 1; add.s32 b, b, c;"),
        &loop_of("add.s32 b, c, b; add.s32 a, a, 1;"),
    );
    other_values(
        &loop_of("add.s32 a, a, 1; add.s32 b, b, c;"),
        &loop_of("add.s32 a, a, 1; add.s32 b, b, a;"),
    );
    // The registers differ, and so do their initial values.
    let left = of(
        "mov.b32 a, 0; mov.b32 b, 1; mov.b32 c, 2;",
        "add.s32 a, a, 1; add.s32 b, b, c;",
        "b",
    );
    let right = of(
        "mov.b32 d, 1; mov.b32 a, 0; mov.b32 b, 2;",
        "add.s32 a, a, 1; add.s32 d, b, d;",
        "d",
    );
    same_values(&left, &right);
    let wrong = right.replace("mov.b32 d, 1", "mov.b32 d, 3");
    other_values(&left, &wrong);
    let wrong = right.replace("mov.b32 b, 2", "mov.b32 b, 1");
    other_values(&left, &wrong);
    // What is never written is any value, but one.
    same_values(
        "not.b32 c, a; add.s32 c, c, b; st.global.b32 [x], c;",
        "not.b32 c, b; add.s32 c, a, c; st.global.b32 [x], c;",
    );
    other_values(
        "add.s32 c, a, b; st.global.b32 [x], c;",
        "add.s32 c, a, a; st.global.b32 [x], c;",
    );
    other_values(
        "@p bra l; st.global.b32 [x], a; l: ret;",
        "@p bra l; st.global.b32 [x], a; l: trap;",
    );
    other_values(
        "@p bra l; bra m; l: trap; m: ret;",
        "@p bra m; bra l; l: trap; m: ret;",
    );
}

#[test]
fn basic_blocks_of_equal_values_are_left_out() {
    let of = |sum: &str, difference: &str| {
        let loads = "mov.b64 x, 8; ld.global.b32 a, [x]; ld.global.b32 b, [x+4];";
        let start = format!("{loads} not.b32 a, a; not.b32 b, b; st.global.v2.b32 [x], {{a, b}};");
        let body = format!(
            "{start} {sum} st.global.b32 [x], c; @p bra l; {difference} st.global.b32 [x], d; l: ret;"
        );
        parse(&kernel(&body))
    };
    let left = of("add.s32 c, a, b;", "sub.s32 d, a, b;");
    let right = of("add.s32 c, b, a;", "sub.s32 d, b, a;");
    let edits =
        |right: &Module, equality| ModuleDiff::new(&left, right, equality).functions[0].edits();
    assert_eq!(edits(&right, Equality::Statements), (2, 2));
    assert_eq!(edits(&right, Equality::Values), (1, 1));
    // Another register, whose value is another one.
    let right = of("add.s32 c, b, a;", "sub.s32 d, a, a;");
    assert_eq!(edits(&right, Equality::Values), (1, 1));
    let right = of("add.s32 c, b, b;", "sub.s32 d, a, b;");
    assert_eq!(edits(&right, Equality::Values), (1, 1));
}

/// Of registers that correspond equally often, the ones that the text mentions first are paired. Ids of an edited function are in another order.
#[test]
fn edited_functions_are_aligned_as_their_text() {
    let old = parse(&kernel("add.s32 a, b, b; mov.b32 a, 2;"));
    let mut new = parse(&kernel("mov.b32 d, 2; add.s32 c, a, b;"));
    let k = new.function("k").unwrap();
    let mut editor = new.edit(k).unwrap();
    let all: Vec<_> = editor.body().insts().map(|(inst, _)| inst).collect();
    let statements: Vec<_> = editor.body().statements().collect();
    let place = |inst| {
        let mut all = statements.iter();
        all.find(|(_, s)| *s == ptx_ir::Statement::Inst(inst))
            .unwrap()
            .0
    };
    editor.move_before(place(all[1]), place(all[0])).unwrap();
    let printed = ptx_parse::parse(&ptx_print::verbatim(&new)).module;
    let marks = |new: &Module| {
        let diff = ModuleDiff::new(&old, new, Equality::Statements);
        marks(&diff.functions[0])
    };
    assert_eq!(marks(&new), marks(&printed));
}

/// Values of built modules, which have no source, are compared.
#[test]
fn values_of_built_modules() {
    let mut builder = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    let mut k = builder.kernel("k").unwrap();
    let p = k.param(ScalarType::U64, "p").unwrap();
    let (x, a, b) = (
        k.reg(ScalarType::B64),
        k.reg(ScalarType::B32),
        k.reg(ScalarType::B32),
    );
    k.ld().param().u64((x, at(p))).unwrap();
    k.ld().global().b32((a, at(x))).unwrap();
    k.add().s32((b, 7, a)).unwrap();
    k.st().global().b32((at(x), b)).unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    let built = builder.finish().unwrap();
    assert!(!built.has_source());
    let text = ".entry k(.param .u64 p) { .reg .b32 a, b; .reg .b64 x;\
        ld.param.u64 x, [p]; ld.global.b32 a, [x]; add.s32 b, a, 7; st.global.b32 [x], b; ret; }\n";
    let parsed = parse(text);
    assert!(!ModuleDiff::new(&built, &parsed, Equality::Statements).is_equal());
    assert!(ModuleDiff::new(&built, &parsed, Equality::Values).is_equal());
    assert!(ModuleDiff::new(&parsed, &built, Equality::Values).is_equal());
}
