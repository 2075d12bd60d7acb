//! Linked modules. NVIDIA's linker accepts and refuses the same modules, with the exceptions that are noted.
#![allow(missing_docs)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use ptx_ir::{Code, Diagnostic, Linkage, Operand, Severity};
use ptx_transform::{LinkError, LinkOptions, Linked, link};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn all(texts: &[&str], hide: &[&str]) -> Result<Linked, LinkError> {
    let modules: Vec<_> = texts.iter().map(|t| ptx_parse::parse_str(t)).collect();
    for m in &modules {
        assert!(!m.has_errors(), "{:?}", m.diagnostics);
    }
    let modules: Vec<_> = modules.iter().map(|m| &m.module).collect();
    let linked = link(&modules, &LinkOptions::default().with_hidden(hide))?;
    let wrong = errors(linked.text());
    assert!(
        wrong.is_empty(),
        "{wrong:?}\n{}",
        String::from_utf8_lossy(linked.text())
    );
    for (map, module) in linked.maps.iter().zip(modules) {
        for (old, new, len) in map.pieces() {
            let (old, new, len) = (old as usize, new as usize, len as usize);
            assert_eq!(
                module.source()[old..old + len],
                linked.text()[new..new + len]
            );
        }
    }
    Ok(linked)
}

fn errors(text: &[u8]) -> Vec<Diagnostic> {
    let parsed = ptx_parse::parse(text);
    let options = ptx_verify::Options::default();
    let all = parsed
        .diagnostics
        .into_iter()
        .chain(ptx_verify::verify(&parsed.module, &options));
    all.filter(|d| d.severity == Severity::Error).collect()
}

/// Two modules without their header, linked.
fn two(a: &str, b: &str) -> String {
    let (a, b) = (format!("{HEAD}{a}"), format!("{HEAD}{b}"));
    let linked = all(&[&a, &b], &[]).unwrap_or_else(|e| panic!("{e:?}"));
    let text = String::from_utf8(linked.text().to_vec()).unwrap();
    text.strip_prefix(HEAD).unwrap().to_owned()
}

/// The one error of two modules without their header: its code, its place, and the other place.
fn refused(a: &str, b: &str) -> (Code, String, String) {
    let texts = [format!("{HEAD}{a}"), format!("{HEAD}{b}")];
    refused_whole(&texts)
}

fn refused_whole(texts: &[String; 2]) -> (Code, String, String) {
    let error = all(&[&texts[0], &texts[1]], &[]).unwrap_err();
    let found = error.diagnostics();
    assert_eq!(found.len(), 1, "{found:?}");
    let of = |input: usize, span: ptx_ir::Span| {
        let text = span.of(texts[input].as_bytes());
        format!("{input} {}", String::from_utf8_lossy(text))
    };
    let found = &found[0];
    let other = &found.elsewhere[0];
    let place = of(found.input, found.diagnostic.span);
    (found.diagnostic.code, place, of(other.input, other.span))
}

#[test]
fn a_definition_replaces_declarations() {
    // Before the first use, wherever it came from.
    assert_eq!(
        two(
            ".extern .func f();\n.entry k() { call f; ret; }\n",
            "// f\n.visible .func f() { ret; }\n"
        ),
        "// f\n.visible .func f() { ret; }\n.entry k() { call f; ret; }\n"
    );
    assert_eq!(
        two(
            ".visible .global .u32 x = 7;\n.visible .global .u32 y;\n",
            ".extern .global .u32 x, z, y;\n.entry k() { st.global.u32 [x], 1; ret; }\n"
        ),
        ".visible .global .u32 x = 7;\n.visible .global .u32 y;\n.extern .global .u32 z;\n.entry k() { st.global.u32 [x], 1; ret; }\n"
    );
    // Comments stay.
    assert_eq!(
        two(
            "// the f of others\n.extern .func f(); // see there\n.entry k() { call f; ret; }",
            ".visible .func f() { ret; }"
        ),
        ".visible .func f() { ret; }\n// the f of others\n // see there\n.entry k() { call f; ret; }\n"
            .trim_end()
    );
}

#[test]
fn modules_may_need_each_other() {
    let text = two(
        ".extern .func g();\n.visible .func f() { call g; ret; }\n.visible .global .u64 a;\n.extern .global .u64 b;\n.visible .global .u64 pa = b;\n",
        ".extern .func f();\n.visible .func g() { call f; ret; }\n.extern .global .u64 a;\n.visible .global .u64 b = a;\n",
    );
    let expected = "\
.visible .func g();
.visible .func f() { call g; ret; }
.visible .func g() { call f; ret; }
.visible .global .u64 a;
.visible .global .u64 b = a;
.visible .global .u64 pa = b;
";
    assert_eq!(text, expected);
    let text = two(
        ".extern .global .u64 b;\n.visible .global .u64 a = b;\n",
        ".extern .global .u64 a;\n.visible .global .u64 b = a;\n",
    );
    let expected =
        ".extern .global .u64 b;\n.visible .global .u64 a = b;\n.visible .global .u64 b = a;\n";
    assert_eq!(text, expected);
}

#[test]
fn strong_definitions_come_before_weak_ones() {
    let (weak, strong) = (
        ".weak .func f() { trap; }\n",
        ".visible .func f() { ret; }\n",
    );
    assert_eq!(two(weak, strong), strong);
    assert_eq!(two(strong, weak), strong);
    assert_eq!(two(weak, ".weak .func f() { ret; }\n"), weak);
    assert_eq!(
        two(
            ".weak .func f();\n.entry k() { call f; ret; }\n.weak .func f() { trap; }\n",
            ".entry l() { ret; }\n.visible .func f() { ret; }\n"
        ),
        ".entry l() { ret; }\n.visible .func f() { ret; }\n.entry k() { call f; ret; }\n"
    );
    assert_eq!(
        two(
            ".weak .global .u32 x = 1;\n",
            ".visible .global .u32 x = 2;\n"
        ),
        ".visible .global .u32 x = 2;\n"
    );
    assert_eq!(
        two(
            ".weak .entry k() { ret; }\n",
            ".visible .entry k() { ret; }\n"
        ),
        ".visible .entry k() { ret; }\n"
    );
}

#[test]
fn of_common_variables_the_largest_stays() {
    assert_eq!(
        two(
            ".common .global .align 16 .u32 x;\n",
            ".common .global .u32 x[4];\n"
        ),
        ".common .global .align 16 .u32 x[4];\n"
    );
    assert_eq!(
        two(
            ".common .global .u32 x[2];\n",
            ".common .global .u32 x;\n.visible .global .u32 y;\n"
        ),
        ".common .global .u32 x[2];\n.visible .global .u32 y;\n"
    );
    assert_eq!(
        two(
            ".common .global .u32 x;\n",
            ".visible .global .u32 x = 1;\n"
        ),
        ".visible .global .u32 x = 1;\n"
    );
    // Of several as large, the first.
    assert_eq!(
        two(".common .global .u32 x;\n", ".common .global .f32 x;\n"),
        ".common .global .u32 x;\n"
    );
    assert_eq!(
        refused(
            ".common .global .u32 x[8];\n",
            ".visible .global .u32 x = 1;\n"
        )
        .0,
        Code::DifferentDeclaration
    );
}

#[test]
fn dynamic_shared_memory_is_one() {
    assert_eq!(
        two(
            ".extern .shared .b8 s[];\n",
            ".extern .shared .align 16 .b32 s[];\n.extern .shared .b8 u[];"
        ),
        ".extern .shared .align 16 .b8 s[];\n.extern .shared .b8 u[];"
    );
}

/// What two modules say of one thing fits, in whichever order they come, or does not.
#[track_caller]
fn agree(a: &str, b: &str, wanted: bool) {
    for (a, b) in [(a, b), (b, a)] {
        let texts = [a, b].map(|t| format!("{HEAD}{t}"));
        match all(&[&texts[0], &texts[1]], &[]) {
            Ok(linked) => {
                assert!(wanted, "{a} and {b} were linked");
                assert_eq!(linked.report, [], "{a} and {b}");
            }
            Err(error) => {
                assert!(!wanted, "{error:?}");
                assert_eq!(
                    error.diagnostics()[0].diagnostic.code,
                    Code::DifferentDeclaration
                );
            }
        }
    }
}

#[test]
fn interfaces_agree_in_what_is_passed() {
    for (declared, defined, wanted) in [
        ("f(.param .b32 a)", "f(.param .u32 b)", true),
        ("f(.param .s64 a)", "f(.param .u64 b)", true),
        ("f(.param .b32 a)", "f(.param .f32 b)", true),
        ("f(.param .u32 a)", "f(.param .f32 b)", false),
        ("f(.param .b32 a)", "f(.param .b64 b)", false),
        ("f(.param .b8 a[8])", "f(.param .b8 b[8])", true),
        ("f(.param .b8 a[8])", "f(.param .b8 b[12])", false),
        ("f(.param .b32 a[2])", "f(.param .b32 b)", false),
        (
            "f(.param .align 8 .b8 a[8])",
            "f(.param .align 4 .b8 b[8])",
            false,
        ),
        ("f(.param .align 4 .b32 a)", "f(.param .b32 b)", true),
        ("f(.reg .b32 a)", "f(.param .b32 b)", false),
        ("f(.reg .pred a)", "f(.reg .pred b)", true),
        ("f(.reg .v2 .b32 a)", "f(.reg .b32 b)", false),
        ("f(.param .b32 a)", "f(.param .b32 a, .param .b32 b)", false),
        ("(.param .b32 r) f()", "(.param .b32 r) f()", true),
        ("(.param .b32 r) f()", "f()", false),
        ("f() .noreturn", "f() .noreturn", true),
        ("f() .noreturn", "f()", false),
        ("f()", "f() .noreturn", false),
    ] {
        let end = if defined.contains("noreturn") {
            "trap"
        } else {
            "ret"
        };
        let (a, b) = (
            format!(".extern .func {declared};\n"),
            format!(".visible .func {defined} {{ {end}; }}\n"),
        );
        agree(&a, &b, wanted);
    }
    agree(
        ".extern .entry f();\n",
        ".visible .func f() { ret; }\n",
        false,
    );
    agree(".extern .func f();\n", ".visible .global .b32 f;\n", false);
}

#[test]
fn variables_agree_in_place_and_size() {
    for (declared, defined, wanted) in [
        (".global .b32 x", ".global .b32 x", true),
        (".global .b32 x[]", ".global .b32 x[4]", true),
        (".global .b32 x[3]", ".global .b32 x[] = {1, 2, 3}", true),
        (".global .b32 x[4]", ".global .b32 x[] = {1, 2, 3}", false),
        (".global .b32 x[4]", ".global .b32 x[2]", false),
        (".const .b32 x", ".global .b32 x", false),
    ] {
        let (a, b) = (
            format!(".extern {declared};\n"),
            format!(".visible {defined};\n"),
        );
        agree(&a, &b, wanted);
    }
    // What comes with the launch has no type; what is common has that of the largest.
    agree(
        ".extern .shared .b8 x[];\n",
        ".extern .shared .f32 x[];\n",
        true,
    );
    agree(
        ".common .global .b32 x[4];\n",
        ".common .global .u64 x;\n",
        true,
    );
}

#[test]
fn a_definition_is_seen_as_its_declaration_says() {
    // Visible once is visible.
    assert_eq!(
        two(
            ".extern .func f();\n.entry k() { call f; ret; }\n",
            ".visible .func f();\n.func f() { ret; }\n"
        ),
        ".visible .func f();\n.func f() { ret; }\n.entry k() { call f; ret; }\n"
    );
    // A declaration without linkage is of the module's own function, whatever others have.
    assert_eq!(
        two(
            ".func f();\n.entry k() { call f; ret; }\n.func f() { ret; }\n",
            ".visible .func f() { trap; }\n"
        ),
        ".func f$1();\n.entry k() { call f$1; ret; }\n.func f$1() { ret; }\n.visible .func f() { trap; }\n"
    );
    assert_eq!(
        two(
            ".func f();\n.entry k() { call f; ret; }\n",
            ".visible .func f() { ret; }\n"
        ),
        ".func f$1();\n.entry k() { call f$1; ret; }\n.visible .func f() { ret; }\n"
    );
    // Another name of a function is a definition.
    let alias = ".visible .func g();\n.func f() { ret; }\n.alias g, f;\n";
    assert_eq!(
        two(alias, ".extern .func g();\n.entry k() { call g; ret; }\n"),
        format!("{alias}.entry k() {{ call g; ret; }}\n")
    );
    assert_eq!(
        refused(alias, ".visible .func g() { ret; }\n").0,
        Code::DuplicateDefinition
    );
}

#[test]
fn contradictions_name_both_places() {
    let x = |code, a: &str, b: &str| (code, a.to_owned(), b.to_owned());
    use Code::{DifferentDeclaration as Different, DuplicateDefinition as Duplicate};
    let cases = [
        (
            ".visible .func f() { ret; }",
            ".visible .func f() { ret; }",
            x(Duplicate, "1 f", "0 f"),
        ),
        (
            ".visible .global .u32 x;",
            ".visible .global .u32 x;",
            x(Duplicate, "1 x", "0 x"),
        ),
        (
            ".visible .entry k() { ret; }",
            ".visible .entry k() { ret; }",
            x(Duplicate, "1 k", "0 k"),
        ),
        (
            ".extern .func f();",
            ".visible .func f(.param .b32 a) { ret; }",
            x(Different, "0 f", "1 f"),
        ),
        (
            ".extern .func (.reg .b64 r) f();",
            ".visible .func (.reg .b32 r) f() { ret; }",
            x(Different, "0 f", "1 f"),
        ),
        (
            ".extern .func f(.param .align 8 .b8 a[8]);",
            ".visible .func f(.param .align 4 .b8 a[8]) { ret; }",
            x(Different, "0 f", "1 f"),
        ),
        // NVIDIA's linker lets this pass.
        (
            ".extern .func f() .noreturn;",
            ".visible .func f() { ret; }",
            x(Different, "0 f", "1 f"),
        ),
        (
            ".extern .global .u32 x[9];",
            ".visible .global .u32 x;",
            x(Different, "0 x", "1 x"),
        ),
        (
            ".extern .const .u32 x;",
            ".visible .global .u32 x;",
            x(Different, "0 x", "1 x"),
        ),
        (
            ".weak .global .u32 x;",
            ".weak .global .u64 x;",
            x(Different, "1 x", "0 x"),
        ),
        (
            ".extern .global .u32 x;",
            ".visible .func x() { ret; }",
            x(Different, "0 x", "1 x"),
        ),
        (
            ".extern .func x();",
            ".visible .global .u32 x;",
            x(Different, "0 x", "1 x"),
        ),
        (
            ".extern .global .u32 x;",
            ".extern .global .u64 x;",
            x(Different, "1 x", "0 x"),
        ),
    ];
    for (a, b, expected) in cases {
        assert_eq!(refused(a, b), expected, "{a} {b}");
    }
}

#[test]
fn another_type_of_the_same_size_is_a_warning() {
    let a = format!("{HEAD}.extern .global .f32 x;\n.extern .func f(.param .u32 a);\n");
    let b = format!("{HEAD}.visible .global .u32 x;\n.visible .func f(.param .b32 a) {{ ret; }}\n");
    let linked = all(&[&a, &b], &[]).unwrap();
    assert_eq!(linked.report.len(), 1);
    assert_eq!(linked.report[0].diagnostic.code, Code::DifferentDeclaration);
    assert_eq!(linked.report[0].diagnostic.severity, Severity::Warning);
    assert_eq!(linked.text(), b.as_bytes());
}

#[test]
fn private_names_are_made_unique() {
    let a = ".global .u32 x = 1;\n.func f() { ret; }\n.entry k() { .reg .u32 r; call f; ld.global.u32 r, [x]; ret; }\n";
    let b = ".global .u32 x = 2; // x\n.func f() { ret; }\n.entry l() { .reg .u32 r; call f; { .reg .b32 x; } ld.global.u32 r, [x]; ret; }\n";
    let expected = ".global .u32 x$2 = 2; // x\n.func f$2() { ret; }\n.entry l() { .reg .u32 r; call f$2; { .reg .b32 x; } ld.global.u32 r, [x$2]; ret; }\n";
    assert_eq!(two(a, b), format!("{a}{expected}"));
    // What others see keeps its name.
    assert_eq!(
        two(".func f() { ret; }\n", ".visible .func f() { ret; }\n"),
        ".func f$1() { ret; }\n.visible .func f() { ret; }\n"
    );
    assert_eq!(
        two(".extern .func f();\n", ".func f() { ret; }\n"),
        ".extern .func f();\n.func f$2() { ret; }\n"
    );
    let (a, b) = (
        format!("{HEAD}.entry k() {{ ret; }}"),
        format!("{HEAD}.entry k() {{ exit; }}"),
    );
    let linked = all(&[&a, &b], &[]).unwrap();
    assert_eq!(linked.report[0].diagnostic.code, Code::RenamedKernel);
    assert_eq!(linked.report[0].input, 1);
    assert_eq!(linked.report[0].diagnostic.span.of(b.as_bytes()), b"k");
}

#[test]
fn ranges_are_separate_names() {
    let range = ".const .f32 t<4>;\n.entry k() { .reg .f32 f; ld.const.f32 f, [t3]; ret; }\n";
    let renamed = range.replace("t<4>", "t$1$<4>").replace("t3", "t$1$3");
    // A plain name of the same spelling is another thing; a member of the range is not.
    let plain = ".global .u32 t;\n";
    assert_eq!(two(range, plain), format!("{range}{plain}"));
    let member = ".visible .global .u32 t2;\n";
    assert_eq!(two(range, member), format!("{renamed}{member}"));
    let second = range.replace("k()", "l()");
    let expected = second.replace("t<4>", "t$2$<4>").replace("t3", "t$2$3");
    assert_eq!(two(range, &second), format!("{range}{expected}"));
}

#[test]
fn comments_are_removed_with_definitions() {
    let strong = ".visible .func f() { ret; }\n.visible .global .u32 x;\n";
    let weak = "// f\n.weak .func f() { trap; }\n// x\n.weak .global .u32 x; // x\n";
    assert_eq!(two(strong, weak), strong);
}

#[test]
fn new_names_are_new() {
    assert_eq!(
        two(".global .u32 x, x$2;\n", ".global .u32 x;\n"),
        ".global .u32 x, x$2;\n.global .u32 x$4;\n"
    );
}

#[test]
fn labels_do_not_become_names_of_other_modules() {
    // A label that is used later hides the name of the module, which was renamed.
    assert_eq!(
        two(
            ".global .u32 out;\n",
            ".global .u32 out;\n.entry k() { out: bra out; }\n"
        ),
        ".global .u32 out;\n.global .u32 out$2;\n.entry k() { out: bra out; }\n"
    );
    assert_eq!(
        two(".global .u32 out;\n", ".entry k() { bra out; out: ret; }\n"),
        ".global .u32 out;\n.entry k() { bra out$2; out$2: ret; }\n"
    );
}

#[test]
fn the_header_serves_all() {
    let header = |version: &str, target: &str| {
        format!(".version {version}\n.target {target}\n.address_size 64\n")
    };
    let linked = |a: String, b: String| {
        let text = all(&[&a, &b], &[]).unwrap().text().to_vec();
        String::from_utf8(text).unwrap()
    };
    let k = ".entry k() { ret; }\n";
    let cases = [
        (("7.0", "sm_80"), ("6.0", "sm_60"), ("7.0", "sm_80")),
        (("8.0", "sm_80"), ("8.1", "sm_90a"), ("8.1", "sm_90a")),
        (("8.8", "sm_100f"), ("8.8", "sm_103f"), ("8.8", "sm_103f")),
        (("8.8", "sm_100f"), ("8.8", "sm_103"), ("8.8", "sm_103f")),
        (("8.8", "sm_100a"), ("8.8", "sm_100f"), ("8.8", "sm_100a")),
    ];
    for ((v, t), (w, u), (x, y)) in cases {
        let text = linked(header(v, t), format!("{}{k}", header(w, u)));
        assert_eq!(text, format!("{}{k}", header(x, y)));
    }
    let code = |a: String, b: String| refused_whole(&[a, b]).0;
    assert_eq!(
        code(header("8.6", "sm_90a"), header("8.6", "sm_100a")),
        Code::DifferentTargets
    );
    assert_eq!(
        code(
            header("8.0", "sm_80").replace("64", "32"),
            header("8.0", "sm_80")
        ),
        Code::DifferentAddressSizes
    );
    assert_eq!(
        code(
            header("8.0", "sm_80, texmode_independent"),
            header("8.0", "sm_80")
        ),
        Code::DifferentOptions
    );
    // What was legal and is not any more.
    let old = format!(
        "{}.entry k() {{ .reg .b32 r; vote.ballot.b32 r, 1; ret; }}\n",
        header("6.0", "sm_60")
    );
    let error = all(&[&old, &header("8.0", "sm_80")], &[]).unwrap_err();
    let found = error.diagnostics();
    assert_eq!(
        (found[0].input, found[0].diagnostic.code),
        (0, Code::Withdrawn)
    );
    assert!(
        found[0]
            .diagnostic
            .span
            .of(old.as_bytes())
            .starts_with(b"vote")
    );
}

#[test]
fn files_and_labels_of_sections_are_made_unique() {
    let a = ".file 1 \"a\"\n.file 2 \"b\"\n.entry k() { .loc 1 1 1 .loc 2 1 1, function_name L0, inlined_at 1 1 1 ret; }\n.section .debug_str { L0: .b8 65, 0 }\n";
    let b = ".file 1 \"b\"\n.file 2 \"c\"\n.entry l() { .loc 1 1 1 .loc 2 9 1, function_name L0 + 1, inlined_at 1 1 1 ret; }\n.section .debug_str { L0: .b8 66, 0 }\n";
    let expected = ".file 3 \"c\"\n.entry l() { .loc 2 1 1 .loc 3 9 1, function_name L0$2 + 1, inlined_at 2 1 1 ret; }\n.section .debug_str { L0$2: .b8 66, 0 }\n";
    assert_eq!(two(a, b), format!("{a}{expected}"));
}

/// A module with a source of this name and text.
fn with_source(name: &str, text: &str, kernel: &str) -> String {
    format!(
        ".version 9.4\n.target sm_90\n.address_size 64\n.file 1 \"a.py\"\n.file 2 \"{name}\"\n\
         .nv_intermediate_source_section {{ .code_block {{ .ir_name: \"T\" .sourceFileName: 2 .source_begin\n{text}\n\
         .source_end\n}} }}\n.visible .entry {kernel}() {{ .loc 1 1 1 .loc_intermediate 2 5 6 ret; }}\n"
    )
}

#[test]
fn sources_in_modules_keep_their_files() {
    let texts = [
        with_source("a", "\"one /*", "k"),
        with_source("a", "1 .loc 1", "l"),
    ];
    let linked = all(&[&texts[0], &texts[1]], &[]).unwrap();
    assert_eq!(errors(linked.text()), []);
    let text = String::from_utf8(linked.text().to_vec()).unwrap();
    let second = ".file 3 \"a\"\n.nv_intermediate_source_section { .code_block { .ir_name: \"T\" .sourceFileName: 3 .source_begin\n\
        1 .loc 1\n.source_end\n} }\n.visible .entry l() { .loc 1 1 1 .loc_intermediate 3 5 6 ret; }\n";
    assert_eq!(text, format!("{}{second}", texts[0]));
}

#[test]
fn debug_information_of_one_module_stays() {
    let debug = ".version 8.0\n.target sm_80, debug\n.address_size 64\n.file 1 \"a\"\n.entry k() { .loc 1 1 1 L: ret; }\n.func p() { ret; }\n.section .debug_info { .b64 L\n.b64 p\n}\n";
    let other = format!(
        "{HEAD}.file 1 \"x\"\n.func p() {{ ret; }}\n.entry l() {{ .loc 1 1 1 L: call p; ret; }}\n"
    );
    let linked = all(&[&other, debug], &[]).unwrap();
    let text = String::from_utf8(linked.text().to_vec()).unwrap();
    // The debug information speaks of file 1, `p` and `L`.
    let expected = ".version 8.0\n.target sm_80, debug\n.address_size 64\n.file 2 \"x\"\n.func p$1() { ret; }\n.entry l() { .loc 2 1 1 L$1: call p$1; ret; }\n.file 1 \"a\"\n.entry k() { .loc 1 1 1 L: ret; }\n.func p() { ret; }\n.section .debug_info { .b64 L\n.b64 p\n}\n";
    assert_eq!(text, expected);
    // That of two cannot be put together.
    let second = debug.replace("k()", "l()");
    let linked = all(&[debug, &second], &[]).unwrap();
    let text = String::from_utf8(linked.text().to_vec()).unwrap();
    assert!(!text.contains("debug"), "{text}");
    let codes: Vec<_> = linked
        .report
        .iter()
        .map(|n| (n.input, n.diagnostic.code))
        .collect();
    assert_eq!(codes, [(0, Code::LostDebugInfo), (1, Code::LostDebugInfo)]);
    assert_eq!(
        linked.report[1].diagnostic.span.of(second.as_bytes()),
        b".section"
    );
}

#[test]
fn a_definition_behind_its_declaration_counts() {
    let both = ".extern .global .u32 x;\n.visible .global .u32 x = 1;\n";
    assert_eq!(two(both, ".extern .global .u32 x;\n"), both);
    let second = ".visible .global .u32 x = 2;\n";
    assert_eq!(refused(both, second).0, Code::DuplicateDefinition);
}

#[test]
fn what_has_to_be_declared_first_cannot_be_hidden() {
    let a = format!("{HEAD}.extern .global .u64 b;\n.visible .global .u64 a = b;\n");
    let b = format!("{HEAD}.extern .global .u64 a;\n.visible .global .u64 b = a;\n");
    let linked = all(&[&a, &b], &["a", "b"]).unwrap();
    let text = String::from_utf8(linked.text().to_vec()).unwrap();
    assert!(
        text.ends_with("\n.global .u64 a = b;\n.visible .global .u64 b = a;\n"),
        "{text}"
    );
}

#[test]
fn debug_information_of_a_name_that_changes_goes() {
    let debug = format!("{HEAD}.func p() {{ ret; }}\n.section .debug_info {{ .b64 p\n}}\n");
    let other = format!("{HEAD}.visible .func p() {{ exit; }}\n");
    let linked = all(&[&debug, &other], &[]).unwrap();
    let expected = format!("{HEAD}.func p$1() {{ ret; }}\n.visible .func p() {{ exit; }}\n");
    assert_eq!(linked.text(), expected.as_bytes());
    assert_eq!(linked.report[0].diagnostic.code, Code::LostDebugInfo);
    assert_eq!(
        linked.report[0].diagnostic.span.of(debug.as_bytes()),
        b".section"
    );
}

#[test]
fn pragmas_are_written_once() {
    let a = format!("{HEAD}.pragma \"nounroll\";\n");
    let linked = all(&[&a, &a], &[]).unwrap();
    assert_eq!((linked.text(), linked.report.len()), (a.as_bytes(), 0));
    let linked = all(&[HEAD, &a], &[]).unwrap();
    assert_eq!(linked.report[0].diagnostic.code, Code::SpreadingPragma);
}

#[test]
fn hidden_names_are_not_visible() {
    let a = format!("{HEAD}.extern .func f();\n.entry k() {{ call f; ret; }}\n");
    let b = format!("{HEAD}.visible .func f() {{ ret; }}\n.visible .global .u32 x, y;\n");
    let linked = all(&[&a, &b], &["f", "x"]).unwrap();
    let text = String::from_utf8(linked.text().to_vec()).unwrap();
    assert!(text.contains("\n.func f() { ret; }"), "{text}");
    // `y` is not to be hidden.
    assert!(text.contains(".visible .global .u32 x, y;"), "{text}");
}

// --- random modules, against the rules spelled out ---

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Has {
    Nothing,
    Private,
    Other(Linkage),
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A module that has some of the names, each definition with a different value, and a kernel that reads them all.
fn random(random: &mut fastrand::Rng, input: usize) -> (String, [Has; 4]) {
    let all = [
        Has::Nothing,
        Has::Private,
        Has::Other(Linkage::Extern),
        Has::Other(Linkage::Extern),
        Has::Other(Linkage::Visible),
        Has::Other(Linkage::Weak),
    ];
    let has: [Has; 4] = std::array::from_fn(|_| all[random.usize(..all.len())]);
    let mut order: Vec<usize> = (0..4).collect();
    random.shuffle(&mut order);
    let mut text = HEAD.to_owned();
    let mut uses = String::new();
    let mut before: Option<&str> = None;
    for i in order {
        let (name, value) = (NAMES[i], value(input, i));
        let define = |linkage: &str| format!("{linkage}.global .u32 {name} = {value};");
        text += &match has[i] {
            Has::Nothing => continue,
            Has::Private => define(""),
            Has::Other(Linkage::Extern) => format!(".extern .global .u32 {name};"),
            Has::Other(Linkage::Weak) => define(".weak "),
            Has::Other(_) => define(".visible "),
        };
        text += ["\n", " ", " // x\n\n"][random.usize(..3)];
        // The order matters to initializers.
        if let Some(before) = before.filter(|_| random.bool()) {
            text += &format!(".global .u64 p{input}_{name}[2] = {{{before}, {name}}};\n");
        }
        before = Some(name);
        uses += &format!(" ld.global.u32 r, [{name}];");
    }
    if random.bool() {
        uses = format!(" bra {0};{uses} {0}:", NAMES[random.usize(..4)]);
        let label = uses.split([' ', ';']).nth(2).unwrap_or_default().to_owned();
        if has[NAMES.iter().position(|n| *n == label).unwrap()] != Has::Nothing {
            // A variable of that name wins: no label.
            uses = String::new();
        }
    }
    text += &format!(".visible .entry k{input}() {{ .reg .u32 r;{uses} ret; }}");
    (text, has)
}

fn value(input: usize, name: usize) -> i32 {
    (input * 10 + name + 100) as i32
}

/// What a name denotes in a module, or `None` if it is undefined; `Err` if there is no answer.
fn meant(all: &[[Has; 4]], input: usize, name: usize) -> Result<Option<i32>, ()> {
    let with = |has: Has| (0..all.len()).filter(move |i| all[*i][name] == has);
    let strong = Has::Other(Linkage::Visible);
    if with(strong).count() > 1 {
        return Err(());
    }
    if all[input][name] == Has::Private {
        return Ok(Some(value(input, name)));
    }
    let weak = with(Has::Other(Linkage::Weak)).next();
    Ok(with(strong).next().or(weak).map(|i| value(i, name)))
}

#[test]
fn every_name_means_what_it_should() {
    let mut rng = fastrand::Rng::with_seed(crate::sample::seed() + 6);
    let (mut linked_count, mut refused_count) = (0, 0);
    for _ in 0..1500 {
        let count = rng.usize(1..5);
        let made: Vec<_> = (0..count).map(|i| random(&mut rng, i)).collect();
        let has: Vec<[Has; 4]> = made.iter().map(|m| m.1).collect();
        let texts: Vec<&str> = made.iter().map(|m| m.0.as_str()).collect();
        let contradiction = (0..4).any(|name| meant(&has, 0, name).is_err());
        let linked = match all(&texts, &[]) {
            Ok(linked) => linked,
            Err(error) => {
                assert!(contradiction, "{error:?}");
                assert!(
                    error
                        .diagnostics()
                        .iter()
                        .all(|d| d.diagnostic.code == Code::DuplicateDefinition)
                );
                refused_count += 1;
                continue;
            }
        };
        assert!(!contradiction);
        linked_count += 1;
        let text = String::from_utf8_lossy(linked.text()).into_owned();
        let module = linked.module;
        for (input, _) in texts.iter().enumerate() {
            let id = module.function(&format!("k{input}")).expect("each kernel");
            let body = module.body(id).expect("its body");
            let mut read: Vec<Option<i32>> = Vec::new();
            for inst in body.inst_table().values() {
                for operand in body.pool().slice(inst.operands()) {
                    let Operand::Address(at) = operand else {
                        continue;
                    };
                    let Some(Operand::Symbol(s)) = body.pool().address(*at).map(|a| a.base) else {
                        panic!("{text}");
                    };
                    read.push(initial(&module, s));
                }
            }
            // What it reads, in its own order.
            let reads = texts[input].split("ld.global.u32 r, [").skip(1);
            let expected: Vec<Option<i32>> = reads
                .map(|r| NAMES.iter().position(|n| r.starts_with(n)).unwrap())
                .map(|name| meant(&has, input, name).unwrap())
                .collect();
            assert_eq!(
                read,
                expected,
                "kernel {input} of\n{}\n->\n{text}",
                texts.join("\n--\n")
            );
            for inst in body.inst_table().values() {
                for operand in body.pool().slice(inst.operands()) {
                    assert!(
                        !matches!(operand, Operand::Symbol(_)),
                        "a label lost:\n{text}"
                    );
                }
            }
        }
    }
    assert!(
        linked_count > 300 && refused_count > 300,
        "{linked_count} {refused_count}"
    );
}

/// The value that a variable begins with, if it is defined.
fn initial(module: &ptx_ir::Module, symbol: ptx_ir::SymbolId) -> Option<i32> {
    let all = module.declarations().declarators.iter();
    let of = all.filter(|d| d.binding == ptx_ir::Binding::Symbol(symbol));
    of.filter_map(|d| match d.init {
        Operand::Small(n) => Some(n),
        _ => None,
    })
    .next()
}
