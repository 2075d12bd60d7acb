//! A source that is changed step by step has the module and the diagnostics of one that is parsed at once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use ptx_ir::{Limits, Span};
use ptx_parse::{Incremental, Reparsed};

const TEXT: &str = "\
.version 8.0
.target sm_80
.address_size 64
.global .b32 counter;
.func (.param .b32 out) twice(.param .b32 in)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r0, [in];
    add.s32 %r1, %r0, %r0;
    st.param.b32 [out], %r1;
    ret;
}
.visible .entry first(.param .u64 p) .maxntid 128, 1, 1
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    mov.u32 %r1, %tid.x;
L1: setp.eq.s32 %p1, %r1, 7;
    @%p1 bra L1;
    { .param .b32 a; st.param.b32 [a], %r1; .param .b32 b; call (b), twice, (a); ld.param.b32 %r2, [b]; }
    st.global.u32 [counter], %r2; // stores \"it\"
    ret;
}
.entry second() { .reg .b64 %rd<4>; mov.u64 %rd1, counter; mov.u64 %rd2, later; ret; }
.global .b32 later;
.func helper() { call late; ret; }
.func late() { ret; }
";

/// Compares with a source that is parsed at once.
fn assert_fresh(source: &Incremental) {
    let text = source.module().source().to_vec();
    let fresh = Incremental::new(text.clone(), Limits::default());
    let text = String::from_utf8_lossy(&text).into_owned();
    if let Err(difference) = ptx_ir::compare::compare(fresh.module(), source.module()) {
        panic!("{difference} {difference:?} in\n{text}");
    }
    let spans = |s: &Incremental| {
        let items = s.module().item_spans().iter().map(|s| s.span());
        let bodies = s.module().definitions().flat_map(|(_, _, body)| {
            let statements = body.statements();
            statements.map(|(id, _)| body.source_span(id))
        });
        items.chain(bodies).collect::<Vec<_>>()
    };
    assert_eq!(spans(&fresh), spans(source), "{text}");
    let (expected, found) = (fresh.sorted_diagnostics(), source.sorted_diagnostics());
    assert_eq!(expected, found, "{text}");
}

/// Replaces the only `old` of the text.
fn replace(source: &mut Incremental, old: &str, new: &str) -> Reparsed {
    let text = String::from_utf8_lossy(source.module().source()).into_owned();
    let at = text.find(old).expect("it is there");
    let reparsed = source.replace(Span::at(at, at + old.len()), new.as_bytes());
    assert_fresh(source);
    reparsed
}

#[test]
fn changes_of_a_body_read_one_function() {
    let mut source = Incremental::new(TEXT.as_bytes().to_vec(), Limits::default());
    assert_eq!(
        source.diagnostics().count(),
        2,
        "two names are declared late"
    );
    let first = source.module().function("first").unwrap();
    for (old, new) in [
        ("%r1, 7", "%r10, 7"),
        ("%r10, 7", "%unknown, unknown"),
        ("bra L1", "bra L2"),
        ("setp.eq.s32", "setp.eq.s3"),
        ("@%p1 bra L2;", "@%p1 bra L2"),
        ("@%p1 bra L2", "call nowhere;\n@%p1 bra L1;"),
        ("nowhere", "later"),
        ("call later;", "call secon; \"x\\\""),
        ("\"x\\\"", "/* } */"),
    ] {
        assert_eq!(
            replace(&mut source, old, new),
            Reparsed::Function(first),
            "{new}"
        );
    }
    let second = source.module().function("second").unwrap();
    assert_eq!(
        replace(&mut source, "counter; mov", "nowhere; mov"),
        Reparsed::Function(second)
    );
}

#[test]
fn changes_outside_of_a_body_read_all() {
    for (old, new) in [
        ("mov.u32 %r1", "} mov.u32 %r1"),
        ("L1: ", "/* "),
        ("    ret;\n}\n.visible", "    ret;\n \n.visible"),
        (".global .b32 later", ".global .b32 other"),
        ("late() {", "late( {"),
        ("%tid.x;", "%tid.x; .func inner();"),
        ("{ call late", "{ ; { call late"),
    ] {
        let mut source = Incremental::new(TEXT.as_bytes().to_vec(), Limits::default());
        assert_eq!(replace(&mut source, old, new), Reparsed::Module, "{new}");
        replace(&mut source, new, old);
        replace(&mut source, "[in]", "[inn]");
    }
}

/// A name with a dot has one error with its uses in all functions, wherever it is written, changed or removed.
#[test]
fn names_with_a_dot_have_the_errors_of_a_new_source() {
    let text = TEXT.replace("%r2", "%r.2");
    for text in [TEXT, &text] {
        let mut source = Incremental::new(text.as_bytes().to_vec(), Limits::default());
        for (old, new) in [
            (
                "add.s32 %r1, %r0, %r0;",
                ".reg .b32 a.b; add.s32 %r1, a.b, %r0;",
            ),
            (
                "mov.u64 %rd2, later;",
                "mov.u64 %rd2, later.x; st.u32 [a.b], %rd2;",
            ),
            ("L1: setp", ".reg .b32 a.b; L.1: setp"),
            ("bra L1;", "bra L.1; mov.b32 a.b, a_b;"),
            ("a.b, %r0;", "%r1, %r0;"),
            (".reg .b32 a.b; L.1", "L.1"),
            ("st.u32 [a.b]", "st.u32 [a_b]"),
            (".reg .b32 a.b;", ""),
            ("L.1: setp", "L1: setp"),
            ("bra L.1; mov.b32 a.b", "bra L1; mov.b32 %r1"),
        ] {
            replace(&mut source, old, new);
        }
    }
}

/// A type is proposed by the uses of a name in the same function only.
#[test]
fn errors_of_a_function_do_not_depend_on_others() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry a() { .reg x; ret; }\n.entry b() { .reg .b32 x; mov.b32 x, 1; ret; }";
    let mut source = Incremental::new(text.as_bytes().to_vec(), Limits::default());
    let b = source.module().function("b").unwrap();
    let reparsed = replace(&mut source, "mov.b32 x", "mov.b64 x");
    assert_eq!(reparsed, Reparsed::Function(b));
}

/// What random changes insert.
const PIECES: [&str; 24] = [
    "{",
    "}",
    ";",
    "\"",
    "/*",
    "*/",
    "//",
    "\n",
    " ",
    ",",
    "(",
    ")",
    "[",
    "]",
    "%r1",
    "%r77",
    "later",
    "nowhere",
    "add.s32 %r1, %r2, 3;\n",
    "bra L1;\n",
    "X: ",
    ".reg .b32 %q<3>;\n",
    ".func f();\n",
    "é",
];

fn random_changes(seed: u64, steps: usize) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut source = Incremental::new(TEXT.as_bytes().to_vec(), Limits::default());
    let mut functions = 0;
    for _ in 0..steps {
        let len = source.module().source().len();
        // Damage is repaired now and then: most changes of a broken source read all of it.
        if random.u8(..) < 40 || len > 2 * TEXT.len() {
            source = Incremental::new(TEXT.as_bytes().to_vec(), Limits::default());
            continue;
        }
        let at = random.usize(..=len);
        let removed = if random.bool() { 0 } else { random.usize(..4) };
        let text = match random.u8(..4) {
            0 => "",
            1 => &TEXT[random.usize(..TEXT.len() / 2)..][..random.usize(..30)],
            _ => PIECES[random.usize(..PIECES.len())],
        };
        let reparsed = source.replace(Span::at(at, (at + removed).min(len)), text.as_bytes());
        assert_fresh(&source);
        functions += usize::from(reparsed != Reparsed::Module);
        if reparsed == Reparsed::Module && random.u8(..) < 200 {
            source = Incremental::new(TEXT.as_bytes().to_vec(), Limits::default());
        }
    }
    functions
}

#[test]
fn random_changes_give_what_parsing_gives() {
    let functions = random_changes(1, 600);
    assert!(functions > 100, "{functions} changes read one function");
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn many_random_changes_give_what_parsing_gives() {
    let functions: usize = (2..22).map(|seed| random_changes(seed, 1000)).sum();
    assert!(functions > 3000, "{functions} changes read one function");
}
