//! Ranges of labels, and places of source code as they are written.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ptx_build::{BranchTarget, BuildErrorKind, ModuleBuilder};
use ptx_isa::{PtxVersion, Target};

#[test]
fn ranges_of_labels_are_there() {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm90);
    let mut k = m.kernel("k").unwrap();
    let c0 = k.named_label("c0").unwrap();
    let other = k.named_label("other").unwrap();
    assert_eq!((k.local_label("c0"), k.local_label("c1")), (Some(c0), None));
    // `c1` is missing; `other` is not the first label of a range; a range has at least one label.
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
