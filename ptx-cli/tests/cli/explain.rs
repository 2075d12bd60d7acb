//! `explain`.

use crate::support::{expect, objects, ptx};

#[test]
fn codes_are_explained() {
    let line = "PTX0104: an unknown opcode\n";
    let page = include_str!("../../../ptx-report/pages/PTX0104.md");
    assert!(page.contains(line));
    expect(&ptx(&["explain", "PTX0104"]), 0, page, "");
    expect(&ptx(&["explain", "104"]), 0, page, "");
    assert!(
        ptx(&["explain"])
            .out
            .contains("\n  PTX0104 unknown-opcode ")
    );
    let run = ptx(&["explain", "PTX0199"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("PTX0201"), "{}", run.err);
    let run = ptx(&["explain", "bogus"]);
    assert_eq!(run.status, 2);
}

/// The explanations of some instructions are those of the files under `expect/explain`; `PTXKIT_BLESS=1` rewrites them.
#[test]
fn instructions_are_explained() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expect/explain");
    for name in [
        "add",
        "add.rn.ftz.f32",
        "cvt",
        "cp",
        ".maxntid",
        "%tid",
        ".f16x2",
        ".shared",
        ".rn",
        "wgmma",
        "wgmma.mma_async",
        "tcgen05.mma",
    ] {
        let run = ptx(&["explain", name]);
        let file = format!("{folder}/{}.txt", name.trim_start_matches(['.', '%']));
        if std::env::var_os("PTXKIT_BLESS").is_some() {
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

#[test]
fn explanations_fit_a_screen_unless_all_is_asked_for() {
    for name in ["add", "cvt", "ld", "mma", "tcgen05.mma", "atom"] {
        let short = ptx(&["explain", name]).out;
        let full = ptx(&["explain", "--all", name]).out;
        assert!(short.lines().count() <= 42, "{short}");
        assert!(full.lines().count() > short.lines().count(), "{full}");
    }
}

#[test]
fn unknown_words_have_a_nearest_one() {
    for (word, nearest) in [
        (".maxntidd", ".maxntid"),
        ("%ctaidd", "%ctaid"),
        (".f16x3", ".f16x2"),
    ] {
        let run = ptx(&["explain", word]);
        let message = format!("ptxkit: unknown word `{word}`; did you mean `{nearest}`?\n");
        expect(&run, 2, "", &message);
    }
    // The first character may be missing.
    for (word, first) in [
        ("maxntid", ".maxntid: directive"),
        ("laneid", "%laneid: special"),
    ] {
        let run = ptx(&["explain", word]);
        assert!(run.out.starts_with(first), "{}", run.out);
    }
}

/// Terms with modifiers, results and parameters of all kinds are those of the files under `expect/smt`; `PTXKIT_BLESS=1` rewrites them.
#[test]
fn terms_of_instructions() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expect/smt");
    for name in [
        "add.sat.s32",
        "addc.cc.u32",
        "bfe.s64",
        "div.s32",
        "fma.rn.ftz.relu.f16",
        "mad.wide.u16",
        "max.f32",
        "setp.lt.and.f32",
        "shf.l.clamp.b32",
        "sub.rn.f16x2",
    ] {
        let run = ptx(&["explain", "--smt", name]);
        let file = format!("{folder}/{name}.smt2");
        if std::env::var_os("PTXKIT_BLESS").is_some() {
            std::fs::write(&file, &run.out).unwrap();
        }
        expect(&run, 0, &std::fs::read_to_string(&file).unwrap(), "");
    }
    let run = ptx(&["explain", "--smt", "not.b16", "--format", "json"]);
    let entry: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let script = "; not.b16 computes d = ~a\n(define-fun not.b16 ((a (_ BitVec 16))) (_ BitVec 16)\n  (bvnot a))\n";
    assert_eq!(entry["smt"], script);
    let run = ptx(&["explain", "not.b16", "--format", "json"]);
    let entry: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(entry["smt"].is_null());
}

#[test]
fn what_has_no_term_is_refused() {
    for (name, message) in [
        (
            "shfl.sync.up.b32",
            "ptxkit: `shfl.sync.up.b32`: the tables do not describe its semantics\n",
        ),
        (
            "add",
            "ptxkit: `add` is not a complete instruction; --smt expects an opcode with all its modifiers\n",
        ),
    ] {
        expect(&ptx(&["explain", "--smt", name]), 2, "", message);
    }
    assert_eq!(ptx(&["explain", "--smt"]).status, 2);
}

#[test]
fn json_has_all_forms() {
    let run = ptx(&["explain", "add", "--format", "json"]);
    let entry: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(entry["kind"], "instruction");
    assert_eq!(entry["forms"][0]["syntax"], "add.type d, a, b");
    assert_eq!(entry["examples"][0], "add.s32 %r3, %r1, %r2;");
    assert!(entry["forms"].as_array().unwrap().len() > 5, "{entry}");
    for (word, example) in [
        ("%tid", "mov.u32 %r1, %tid.x;"),
        ("%clock64", "mov.u64 %rd1, %clock64;"),
        (".bf16", "fma.rn.bf16 %rs4, %rs1, %rs2, %rs3;"),
    ] {
        let found = &objects(&ptx(&["explain", word, "--format", "json"]).out);
        assert!(
            found.iter().any(|e| e["examples"][0] == example),
            "{found:?}"
        );
    }
    assert_eq!(
        ptx(&["explain", ".shared", "--format", "json"])
            .out
            .lines()
            .count(),
        3
    );
}

#[test]
fn lints_are_explained_by_name() {
    let page = include_str!("../../../ptx-report/pages/PTX1510.md");
    expect(&ptx(&["explain", "shared-race"]), 0, page, "");
    let page = include_str!("../../../ptx-report/pages/PTX0701.md");
    expect(&ptx(&["explain", "unused-register"]), 0, page, "");
    // `trap` is an instruction.
    assert!(ptx(&["explain", "trap"]).out.starts_with("trap"));
}
