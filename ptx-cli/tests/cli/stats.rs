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
    let of_function = serde_json::json!({
        "name": "k", "demangled": null, "kind": "entry",
        "results": [], "params": [{"name": "p", "type": ".u64"}], "directives": {},
        "source": null, "instructions": 5,
        "families": {"control": 1, "integer": 1, "movement": 3},
        "tensor_core": {"arithmetic": 0, "moves": 0},
        "blocks": 1, "loops": 0, "loop_depth": 0, "loop_list": [], "barriers": 0,
        "calls": 0, "callees": [], "shared_bytes": 128, "dynamic_shared": false, "local_bytes": 0,
        "pressure": {
            "max_b32_units": 3,
            "by_class": {"pred": 0, "b8": 0, "b16": 0, "b32": 1, "b64": 1, "b128": 0},
        },
        "memory": [
            {"space": "global", "access": "read", "bytes": 4, "vector": 1, "count": 1},
            {"space": "global", "access": "write", "bytes": 4, "vector": 1, "count": 1},
            {"space": "param", "access": "read", "bytes": 8, "vector": 1, "count": 1},
        ],
        "requires": [{"target": "sm_10", "ptx": "1.4", "toolkit": "CUDA 2.2"}],
    });
    let one = serde_json::json!({
        "schema": 1, "kind": "file", "file": file, "files": 1,
        "header": {"ptx": "8.0", "target": "sm_90", "address_size": 64},
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
        "per_function": [of_function],
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

    let run = ptx(&["stats", "--json", &folder.file("b.ptx", LOOPS)]);
    let found = &objects(&run.out)[0]["per_function"][0];
    let wanted = (2.into(), 2.into(), 1.into());
    assert_eq!(
        (&found["loops"], &found["loop_depth"], &found["barriers"]),
        (&wanted.0, &wanted.1, &wanted.2)
    );
    let (outer, inner) = (&found["loop_list"][0], &found["loop_list"][1]);
    let lines = (&outer["line"], &inner["line"], &outer["label"]);
    assert_eq!(lines, (&7.into(), &7.into(), &"a".into()));
    assert_eq!(inner["parent"], outer["header"]);
    let total = "total_instructions";
    assert_eq!(
        (&outer[total], &outer["instructions"]),
        (&4.into(), &1.into())
    );
    assert_eq!((&inner[total], &inner["barriers"]), (&3.into(), &1.into()));
}

/// Matrices, source lines, launch bounds, vectors, calls.
const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .func (.reg .b32 r) _Z1fi(.reg .b32 x) { mov.b32 r, x; ret; }\n\
    .visible .entry _Z4gemmPf(.param .u64 .ptr .global .align 16 _Z4gemmPf_param_0, .param .align 8 .b8 s[24])\n\
    .maxntid 128, 1, 1 .minnctapersm 2\n{\n\
    .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d; .local .align 16 .b8 depot[64]; .shared .b8 tile[100];\n\
    .loc 1 10 1\nld.param.u64 %d, [_Z4gemmPf_param_0];\n\
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d];\n.loc 1 12 1\n\
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [tile];\n\
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4};\n\
    ld.shared::cta.b32 %r4, [tile];\ncall (%r5), _Z1fi, (%r4);\nret;\n}\n.file 1 \"gemm.cu\"\n";

#[test]
fn facts_about_a_kernel() {
    let folder = Folder::new("facts");
    let file = folder.file("a.ptx", KERNEL);
    let run = ptx(&["stats", "--json", "--function", "gemm", &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let file_object = &objects(&run.out)[0];
    assert_eq!(file_object["errors"], 0, "{}", ptx(&["check", &file]).out);
    let functions = file_object["per_function"].as_array().unwrap();
    let [of] = &functions[..] else {
        panic!("{functions:?}")
    };
    let wanted = serde_json::json!({
        "demangled": "gemm(float*)",
        "params": [
            {"name": "_Z4gemmPf_param_0", "type": ".u64 .ptr .global .align 16"},
            {"name": "s", "type": ".align 8 .b8[24]"},
        ],
        "directives": {"maxntid": [128, 1, 1], "minnctapersm": [2]},
        "source": {"file": "gemm.cu", "first_line": 10, "last_line": 12},
        "tensor_core": {"arithmetic": 1, "moves": 1},
        "callees": [{"name": "_Z1fi", "demangled": "f(int)", "count": 1}],
        "shared_bytes": 100, "local_bytes": 64, "calls": 1,
    });
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&of[key], value, "{key}");
    }
    let memory = of["memory"].as_array().unwrap();
    let count = |space: &str, vector: u64| {
        let same = memory
            .iter()
            .filter(|m| m["space"] == space && m["vector"] == vector);
        same.map(|m| m["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(
        (count("global", 4), count("shared", 1) + count("shared", 2)),
        (1, 2)
    );
    assert_eq!(count("shared::cta", 1), 0);
}

#[test]
fn tables() {
    let folder = Folder::new("tables");
    let file = folder.file("a.ptx", KERNEL);
    let run = ptx(&["stats", &file]);
    assert!(
        run.out
            .contains("  Header          PTX 8.0 for sm_90, 64-bit addresses\n")
    );
    assert!(run.out.contains("  Registers used  .b32 "), "{}", run.out);
    let line = |name: &str| run.out.lines().position(|l| l.ends_with(name));
    assert!(
        line("  .func f(int)") < line("  gemm(float*)"),
        "{}",
        run.out
    );
    let sorted = ptx(&["stats", "--sort", "instructions", &file]).out;
    let position = |name: &str| sorted.find(name).unwrap();
    assert!(
        position("  gemm(float*)") < position("  .func f(int)"),
        "{sorted}"
    );
    assert!(!run.out.contains("Live registers"), "{}", run.out);
    let run = ptx(&["stats", "--details", &file]);
    assert!(
        run.out.contains("\nFunction f(int)\n _Z1fi\n"),
        "{}",
        run.out
    );
    let run = ptx(&["stats", "--function", "gemm*", &file, &file]);
    for expected in [
        "  Parameters      .u64 .ptr .global .align 16 _param_0, .align 8 .b8[24] s\n",
        "  Directives      .maxntid 128, 1, 1; .minnctapersm 2\n",
        "  Source          gemm.cu:10-12\n",
        "  Tensor cores    1 multiplication, 1 move of fragments\n",
        "  Calls           f(int) 1\n",
        "  Shared memory   100 bytes\n",
    ] {
        assert!(run.out.contains(expected), "{expected}: {}", run.out);
    }
    assert!(!run.out.contains("Function f(int)"), "{}", run.out);
    let none = ptx(&["stats", "--function", "unknown", &file]);
    assert_eq!(none.status, 2);
    assert!(none.err.contains("no function `unknown`"), "{}", none.err);
    let nested = ptx(&["stats", "--details", &folder.file("b.ptx", LOOPS)]).out;
    assert!(nested.contains("2 loops, at most 2 deep"), "{nested}");
    assert!(nested.lines().any(|l| l.starts_with("    b ")), "{nested}");
}

/// Prints a report as ptxas does, if its arguments are those that are expected.
#[cfg(unix)]
const REPORT: &str = "#!/bin/sh\n\
    [ \"$*\" = '-v -arch=sm_80 -o /dev/null -' ] || { echo \"ptxas fatal   : $*\"; exit 1; }\n\
    cat >/dev/null\n\
    echo \"ptxas info    : Compiling entry function 'k' for 'sm_80'\" >&2\n\
    echo 'ptxas info    : Function properties for k' >&2\n\
    echo '    16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads' >&2\n\
    echo 'ptxas info    : Used 28 registers, used 1 barriers' >&2\n";

#[test]
fn occupancy() {
    let folder = Folder::new("stats_occupancy");
    let file = folder.file("a.ptx", LOOPS);
    let blocks = |arguments: &[&str]| {
        let run = ptx(&[&["stats", "--json", &file], arguments].concat());
        objects(&run.out)[0]["per_function"][0]["occupancy"]["blocks"].clone()
    };
    assert_eq!(blocks(&[]), serde_json::Value::Null);
    assert_eq!(blocks(&["--block", "256"]), 8);
    assert_eq!(blocks(&["--block", "256", "--shared", "65536"]), 2);
    let run = ptx(&["stats", "--details", "--block", "256", &file]);
    let line = "  Occupancy       8 CTAs, 64 of 64 warps (100.0 %)";
    assert!(run.out.contains(line), "{}", run.out);
}

#[cfg(unix)]
#[test]
fn figures_of_ptxas() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("stats_ptxas");
    let (file, ptxas) = (folder.file("a.ptx", LOOPS), folder.file("ptxas", REPORT));
    fs::set_permissions(&ptxas, Permissions::from_mode(0o755)).unwrap();
    let run = ptx(&["stats", "--json", "--ptxas", &ptxas, &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let found = &objects(&run.out)[0]["per_function"][0]["ptxas"];
    let expected = serde_json::json!({
        "registers": 28, "stack_bytes": 16, "spill_store_bytes": 24, "spill_load_bytes": 8,
        "shared_bytes": 0, "barriers": 1,
    });
    assert_eq!(*found, expected);
    let run = ptx(&["stats", "--function", "k", "--ptxas", &ptxas, &file]);
    let line =
        "28 registers, 16 bytes of stack, 24 bytes of spill stores and 8 bytes of spill loads\n";
    assert!(run.out.contains(line), "{}", run.out);

    let run = ptx(&["stats", "--ptxas", &ptxas, "--target", "sm_90", &file]);
    assert_eq!(run.status, 1);
    let refusal =
        format!("{file}: no metrics from ptxas: ptxas fatal   : -v -arch=sm_90 -o /dev/null -\n");
    assert_eq!(run.err, refusal);
    let run = ptx(&["stats", "--ptxas", "/nonexistent/ptxas", &file]);
    assert_eq!(run.status, 2);
}
