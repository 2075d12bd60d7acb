//! `stats`.

use crate::support::{Folder, GOOD, objects, ptx};

/// A loop in a loop, with a barrier.
const LOOPS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .pred %p<3>;\n\
    a: b: setp.eq.s32 %p1, 1, 2;\nbar.sync 0;\n@%p1 bra b;\n@%p2 bra a;\nret;\n}\n";

#[test]
fn statistics() {
    let folder = Folder::new("stats");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["stats", "--json", "--mnemonics", &file, &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let found = objects(&run.out);
    assert_eq!(found.len(), 3);
    let one = serde_json::json!({
        "schema": 1, "kind": "file", "file": file, "files": 1,
        "bytes": GOOD.len(), "lines": 18, "errors": 0, "warnings": 0,
        "functions": {"kernels": 1, "device": 0, "declarations": 0},
        "statements": 13, "instructions": 5, "labels": 1,
        "comments": {"count": 1, "bytes": 24},
        "memory": {"const": 0, "global": 0, "local": 0, "shared": 128},
        "registers": {
            ".b32": {"declared": 4, "used": 2},
            ".b64": {"declared": 3, "used": 1},
        },
        "opcodes": {"add": 1, "ld": 2, "ret": 1, "st": 1},
        "mnemonics": {
            "add.s32": 1, "ld.global.u32": 1, "ld.param.u64": 1, "ret": 1, "st.global.u32": 1,
        },
        "per_function": [{
            "name": "k", "kind": "entry", "instructions": 5,
            "families": {"control": 1, "integer": 1, "movement": 3},
            "blocks": 2, "loops": 0, "loop_depth": 0, "barriers": 0,
            "pressure": {
                "max_b32_units": 3,
                "by_class": {"pred": 0, "b8": 0, "b16": 0, "b32": 1, "b64": 1, "b128": 0},
            },
            "memory": [
                {"space": "global", "access": "read", "bytes": 4, "count": 1},
                {"space": "global", "access": "write", "bytes": 4, "count": 1},
                {"space": "param", "access": "read", "bytes": 8, "count": 1},
            ],
        }],
    });
    assert_eq!(found[0], one);
    assert_eq!(found[1], one);
    let total = &found[2];
    assert_eq!(total["kind"], "total");
    assert_eq!((total.get("file"), total.get("per_function")), (None, None));
    assert_eq!(total["instructions"], 10);
    assert_eq!(total["memory"]["shared"], 256);
    assert_eq!(total["registers"][".b32"]["used"], 4);
    assert_eq!(total["mnemonics"]["ld.param.u64"], 2);

    let run = ptx(&["stats", &file]);
    assert!(run.out.starts_with(&format!("{file}:\n")), "{}", run.out);
    assert!(run.out.contains("    .b32  2 used of 4\n"), "{}", run.out);
    assert!(
        run.out
            .contains("  kernel k:\n    instructions           5\n"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("      read param, 8 bytes    1\n"),
        "{}",
        run.out
    );
    assert!(!run.out.contains("ld.param"), "{}", run.out);
    let run = ptx(&["stats", "--json", &folder.file("b.ptx", LOOPS)]);
    let found = &objects(&run.out)[0]["per_function"][0];
    let wanted = (2.into(), 2.into(), 1.into());
    assert_eq!(
        (&found["loops"], &found["loop_depth"], &found["barriers"]),
        (&wanted.0, &wanted.1, &wanted.2)
    );
}
