//! `explain`.

use crate::support::{expect, ptx};

#[test]
fn codes_are_explained() {
    let line = "PTX0104: an unknown opcode\n";
    let page = include_str!("../../pages/PTX0104.md");
    assert!(page.contains(line));
    expect(&ptx(&["explain", "PTX0104"]), 0, page, "");
    expect(&ptx(&["explain", "104"]), 0, page, "");
    assert!(ptx(&["explain"]).out.contains(line));
    let run = ptx(&["explain", "PTX0199"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("PTX0201"), "{}", run.err);
    let run = ptx(&["explain", "bogus"]);
    assert_eq!(run.status, 2);
}

/// The explanations of some instructions are those of the files under `expect/explain`; `PTX_BLESS=1` rewrites them.
#[test]
fn instructions_are_explained() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expect/explain");
    for name in [
        "add",
        "add.rn.ftz.f32",
        "wgmma",
        "wgmma.mma_async",
        "tcgen05.mma",
    ] {
        let run = ptx(&["explain", name]);
        let file = format!("{folder}/{name}.txt");
        if std::env::var_os("PTX_BLESS").is_some() {
            std::fs::write(&file, &run.out).unwrap();
        }
        expect(&run, 0, &std::fs::read_to_string(&file).unwrap(), "");
    }
    expect(
        &ptx(&["explain", "wgmma.mma_asnyc"]),
        2,
        "",
        "ptxkit: unknown modifier `.mma_asnyc`; did you mean `.mma_async`?\n",
    );
}
