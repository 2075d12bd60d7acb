//! Statements inserted as text.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_edit::{EditError, EditModule as _};
use ptx_ir::{Module, StmtId};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
const KERNEL: &str = ".global .b32 g, t<3>;\n.entry k(.param .b64 p)\n{\n\t.reg .b32 %r<3>, x;\n\t{\n\t\t.reg .b64 x;\n\t\tmov.b64 x, 0;\n\t}\nL:\n\tmov.b32 x, 1;\n\tret;\n}\n";

fn parsed(text: &str) -> Module {
    let parsed = ptx_parse::parse_str(&format!("{HEAD}{text}"));
    assert!(!parsed.has_errors(), "{text}\n{:?}", parsed.diagnostics);
    parsed.module
}

/// Inserts `text` before the statement `at` of the kernel.
fn insert(module: &mut Module, at: &str, text: &str) -> Result<Vec<StmtId>, EditError> {
    let k = module.function("k").unwrap();
    let source = module.source().to_vec();
    let mut editor = module.edit(k).unwrap();
    let is_it = |id: &StmtId| editor.body().source_span(*id).of(&source) == at.as_bytes();
    let at = editor
        .body()
        .statements()
        .find(|(id, _)| is_it(id))
        .unwrap()
        .0;
    editor.insert_text_before(at, text)
}

#[track_caller]
fn inserted(at: &str, text: &str, lines: &str) {
    let mut module = parsed(KERNEL);
    insert(&mut module, at, text).unwrap();
    let now = String::from_utf8(ptx_print::verbatim(&module)).unwrap();
    let now = now.strip_prefix(HEAD).unwrap();
    let again = parsed(now);
    assert_eq!(ptx_ir::compare::compare(&module, &again), Ok(()), "{now}");
    assert!(now.contains(lines), "{now}");
    let verified = ptx_verify::verify(&again, &ptx_verify::Options::default());
    let errors: Vec<_> = verified
        .iter()
        .filter(|d| d.severity == ptx_ir::Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{now}\n{errors:?}");
}

#[track_caller]
fn refused(at: &str, text: &str) -> EditError {
    let mut module = parsed(KERNEL);
    let before = ptx_print::verbatim(&module);
    let error = insert(&mut module, at, text).unwrap_err();
    assert_eq!(ptx_print::verbatim(&module), before);
    error
}

#[test]
fn names_are_resolved_at_the_place() {
    inserted(
        "ret;",
        "add.s32 x, %r1, %r2;",
        "\tadd.s32 x, %r1, %r2;\n\tret;",
    );
    inserted(
        "mov.b64 x, 0;",
        "add.s64 x, x, 1;",
        "\t\tadd.s64 x, x, 1;\n\t\tmov.b64",
    );
    inserted(
        "ret;",
        "ld.global.b32 x, [t2+4]; st.global.v2.b32 [g], {x, %r0};",
        "\tld.global.b32 x, [t2+4];\n\tst.global.v2.b32 [g], {x, %r0};\n",
    );
    inserted(
        "ret;",
        "{ .reg .b64 a; ld.param.b64 a, [p]; }",
        "\t{\n\t\t.reg .b64 a;\n\t\tld.param.b64 a, [p];\n\t}\n\tret;",
    );
}

#[test]
fn texts_declare_names() {
    inserted(
        "ret;",
        ".reg .pred q<2>; .local .align 8 .b8 buf[16]; setp.eq.s32 q1, x, 0; @!q1 bra DONE; bra L; DONE: ",
        "\t.reg .pred q<2>;\n\t.local .align 8 .b8 buf[16];\n\tsetp.eq.s32 q1, x, 0;\n\t@!q1 bra DONE;\n\tbra L;\nDONE:\n\tret;",
    );
    inserted(
        "ret;",
        "T: .branchtargets L, M; brx.idx x, T; M: .pragma \"nounroll\"; mov.f32 %r0, 0f3f800000;",
        "T:\n\t.branchtargets L, M;\n\tbrx.idx x, T;\nM:\n",
    );
}

#[test]
fn undeclared_names_and_captures_are_refused() {
    for name in ["%r3", "y", "M", "u1", "t3"] {
        let error = refused("ret;", &format!("mov.b32 x, {name};"));
        assert_eq!(error, EditError::Undeclared(name.to_owned()));
    }
    assert_eq!(
        refused("ret;", ".reg .b32 x;"),
        EditError::Taken("x".to_owned())
    );
    assert_eq!(refused("ret;", "L: ret;"), EditError::Taken("L".to_owned()));
    assert!(matches!(
        refused("ret;", ".reg .b32 %r7;"),
        EditError::Overlap { .. }
    ));
    // Not declared yet.
    let early = refused(".reg .b32 %r<3>, x;", "mov.b32 x, 1;");
    assert_eq!(early, EditError::Undeclared("x".to_owned()));
}

#[test]
fn other_texts_are_refused() {
    for text in [
        "}",
        "{",
        "} .func h() {",
        "mov.b32 x,",
        "mov.b32 x 1;",
        "\"",
        "/*",
        ".version 8.0",
    ] {
        let error = refused("ret;", text);
        assert!(
            matches!(error, EditError::Syntax { .. }),
            "{text}: {error:?}"
        );
    }
    let EditError::Syntax { span, .. } = refused("ret;", "ret; mov.b32 x 1;") else {
        panic!("no syntax error");
    };
    assert_eq!((span.start, span.end), (15, 16));
    for text in [".func h();", "P: .callprototype _ ();"] {
        let error = refused("ret;", text);
        assert!(matches!(error, EditError::Kind { .. }), "{text}: {error:?}");
    }
}
