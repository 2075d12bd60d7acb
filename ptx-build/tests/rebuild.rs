//! What few texts have and the builder has words for: made anew, it has the same structure.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ptx_build::{BranchTarget, BuildErrorKind, ModuleBuilder, rebuild};
use ptx_ir::compare::compare;
use ptx_isa::{PtxVersion, Target};

#[track_caller]
fn same(text: &str) {
    let read = ptx_parse::parse_str(text);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let made = rebuild(&read.module).unwrap().finish().unwrap();
    if let Err(difference) = compare(&read.module, &made) {
        let found = difference.right.of(made.source());
        panic!("{difference}: {}", String::from_utf8_lossy(found));
    }
}

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

#[test]
fn rare_declarations() {
    same(
        ".version 4.0\n.target sm_35, texmode_unified\n.target sm_30, texmode_unified\n.entry k() { ret; }\n",
    );
    same(&format!(
        "{HEAD}.global .b32 ;\n.shared .align 8 .v2 .f32 ;\n.entry k() {{ .reg .pred ; .local .b8 ; ret; }}\n"
    ));
    same(&format!(
        "{HEAD}.entry k(.param .b8 .align 16 a[16], .param .align 8 .b8 .align 16 b[4]) {{ ret; }}\n"
    ));
}

#[test]
fn rare_statements() {
    same(&format!(
        "{HEAD}.file 1 \"a.cu\"\n.entry k() {{ .loc 1 007 0x3\n .loc 1 7 3\n ret; }}\n"
    ));
    same(&format!(
        "{HEAD}.func other();\n.func f() {{ ret; }}\n.entry k() {{ .alias other, f; call other; ret; }}\n"
    ));
    same(&format!(
        "{HEAD}.entry k() {{ .reg .b32 i; t: .branchtargets c<2>, end, c1; brx.idx i, t;\nc0: c1: trap; end: ret; }}\n"
    ));
}

#[test]
fn a_name_with_two_meanings_is_a_mistake() {
    let text = format!("{HEAD}.entry k() {{ .local .b32 l0; .local .b64 l<2>; ret; }}\n");
    let read = ptx_parse::parse_str(&text);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    assert_eq!(
        rebuild(&read.module).unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
}

#[test]
fn ranges_of_labels_are_there() {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm90);
    let mut k = m.kernel("k").unwrap();
    let c0 = k.named_label("c0").unwrap();
    let other = k.named_label("other").unwrap();
    assert_eq!((k.local_label("c0"), k.local_label("c1")), (Some(c0), None));
    // `c1` is missing; `other` is no first one; a range has one label at least.
    for wrong in [
        BranchTarget::Range(c0, 2),
        BranchTarget::Range(other, 1),
        BranchTarget::Range(c0, 0),
    ] {
        let error = k.branch_targets(&[wrong]).unwrap_err();
        assert_eq!(error.kind(), BuildErrorKind::Argument, "{wrong:?}: {error}");
    }
    let c1 = k.named_label("c1").unwrap();
    k.branch_targets(&[BranchTarget::Range(c0, 2)]).unwrap();
    // They are used, so they have to be placed.
    k.place(c0).unwrap();
    k.ret().emit(()).unwrap();
    assert_eq!(k.finish().unwrap_err().kind(), BuildErrorKind::Unplaced);
    let _ = c1;
}

#[test]
fn places_in_their_own_spelling_are_integers() {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm90);
    assert_eq!(
        m.another_target(&["sm_80", "not a name"])
            .unwrap_err()
            .kind(),
        BuildErrorKind::Spelling
    );
    m.file(1, "a.cu").unwrap();
    let mut k = m.kernel("k").unwrap();
    for wrong in ["1.5", "0x100000000", "x", "-1"] {
        let place = ["1".into(), wrong.into(), "0".into()];
        assert_eq!(
            k.loc_spelled(place).unwrap_err().kind(),
            BuildErrorKind::Spelling,
            "{wrong}"
        );
    }
    k.loc_spelled(["1".into(), "0x10".into(), 3u32.into()])
        .unwrap();
    k.loc_inlined([1, 2, 3], ("name", None), [1, 16, 3])
        .unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    m.section(".debug_str", &[ptx_build::Datum::Label("name".into())])
        .unwrap();
    assert!(m.text().contains(".loc 1 0x10 3\n"), "{}", m.text());
    m.finish().unwrap();
}
