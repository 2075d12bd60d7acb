//! `dump --analysis`, `cfg`, `callgraph` and `grep`.

use serde_json::Value;

use crate::support::{Folder, GOOD, analyzed, expect, objects, ptx};

/// Two registers of one name, a loop, a guarded write, a dead block, and a call.
const FLOW: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.func g()\n{\n call g;\n ret;\n}\n.entry k()\n{\n\
    .reg .b32 %r<4>;\n.reg .pred %p;\n mov.b32 %r1, 0;\nL:\n add.s32 %r1, %r1, 1;\n @%p mov.b32 %r2, %r1;\n\
    { .reg .b32 %r2; mov.b32 %r2, 5; }\n setp.lt.s32 %p, %r1, 9;\n @!%p bra L;\n ret;\n bra L;\n}\n";

#[test]
fn functions_are_analyzed() {
    let folder = Folder::new("analyze");
    let file = folder.file("a.ptx", FLOW);
    let kernel = &analyzed(&file)[1];
    assert_eq!((&kernel["name"], &kernel["line"]), (&"k".into(), &9.into()));
    let blocks = kernel["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 4);
    let body = serde_json::json!({
        "id": 1, "label": "L", "first_line": 14, "last_line": 19, "succ": [1, 2], "exits": false,
        "unknown": false, "reachable": true, "idom": 0, "ipdom": 2, "loop_header": 1, "loop_depth": 1,
        "trip_count": null, "uniform": "grid", "uses": ["%r1", "%p"], "kills": ["%r1", "%r2#2", "%p"], "defs": ["%r1", "%r2", "%r2#2", "%p"],
        "returned": [], "live_in": ["%p", "%r1"], "live_out": ["%p", "%r1"],
    });
    assert_eq!(blocks[1], body);
    assert_eq!(
        (&blocks[2]["exits"], &blocks[2]["ipdom"]),
        (&true.into(), &Value::Null)
    );
    assert_eq!(
        (&blocks[3]["reachable"], &blocks[3]["idom"]),
        (&false.into(), &Value::Null)
    );
    assert_eq!(blocks[3]["live_in"], serde_json::json!(["%p", "%r1"]));
    let guarded = serde_json::json!({
        "line": 16, "block": 1, "mnemonic": "mov.b32", "guard": "%p", "reads": ["%p", "%r1"], "writes": [],
        "cond_writes": ["%r2"], "memory": [], "side_effects": false, "known": true,
        "source": [], "inline_asm": false, "affine": [{"register": "%r2", "form": "loop0 + 1"}],
        "assumes": [], "coalescing": null, "stride": null, "sectors": null, "degree": null,
        "uniform": [{"register": "%r2", "uniform": "varying"}],
        "provenance": [], "object": null, "space": null,
    });
    assert_eq!(kernel["insts"][2], guarded);
    let pressure = serde_json::json!({
        "max_b32_units": 2, "line": 16,
        "by_class": {"pred": 1, "b8": 0, "b16": 0, "b32": 2, "b64": 0, "b128": 0},
    });
    assert_eq!(kernel["pressure"], pressure);
}

/// A loop over the elements of a row, in which lanes store to shared memory in steps of two words.
const KNOWN: &str = ".version 8.5\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p, .param .u32 n)\n{\n\
    .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<2>; .shared .align 16 .b32 s[64];\nld.param.u64 %d0, [p];\nld.param.u32 %r0, [n];\n\
    mov.u32 %r1, %tid.x;\nmov.b32 %r2, 0;\nmov.b32 %r3, s;\nmad.lo.u32 %r3, %r1, 8, %r3;\nmad.wide.u32 %d1, %r1, 12, %d0;\n\
    L:\nld.global.u32 %r4, [%d1];\nst.shared.u32 [%r3], %r4;\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p, %r2, %r0;\n@%p bra L;\nret;\n}\n";

#[test]
fn values_and_accesses_are_known() {
    let folder = Folder::new("known");
    let kernel = &analyzed(&folder.file("a.ptx", KNOWN))[0];
    let (blocks, insts) = (&kernel["blocks"], &kernel["insts"]);
    let fields = |of: &Value, names: &[&str]| -> Value {
        names
            .iter()
            .map(|n| ((*n).to_owned(), of[n].clone()))
            .collect()
    };
    let names = [
        "coalescing",
        "stride",
        "sectors",
        "degree",
        "uniform",
        "affine",
    ];
    let load = serde_json::json!({
        "coalescing": "strided", "stride": 12, "sectors": 12, "degree": null, "affine": [],
        "uniform": [{"register": "%r4", "uniform": "varying"}],
    });
    assert_eq!(fields(&insts[7], &names), load);
    let store = serde_json::json!({
        "coalescing": "strided", "stride": 8, "sectors": null, "degree": 2, "affine": [], "uniform": [],
    });
    assert_eq!(fields(&insts[8], &names), store);
    let address = serde_json::json!({
        "coalescing": null, "stride": null, "sectors": null, "degree": null,
        "affine": [{"register": "%d1", "form": "p + 12*%tid.x"}], "uniform": [{"register": "%d1", "uniform": "varying"}],
    });
    assert_eq!(fields(&insts[6], &names), address);
    let count = serde_json::json!({
        "count": null, "form": "max(1, n)", "exact": true, "assumes_no_wrap": false,
    });
    assert_eq!(
        fields(&blocks[1], &["trip_count", "uniform", "loop_depth"]),
        serde_json::json!({"trip_count": count, "uniform": "grid", "loop_depth": 1})
    );
    assert_eq!(blocks[0]["trip_count"], Value::Null);
}

#[test]
fn graphs_in_all_formats() {
    let folder = Folder::new("graphs");
    let file = folder.file("a.ptx", FLOW);
    for (format, wanted) in [
        ("dot", "b1 -> b1 [label=\"!%p\"]"),
        ("mermaid", "b1 -->|\"!%p\"| b1"),
        (
            "json",
            "{\"from\":1,\"to\":1,\"kind\":\"jump\",\"guard\":\"!%p\"}",
        ),
        ("svg", ">!%p</text>"),
        ("svg", ">@!%p bra L;</text>"),
        ("svg", "<path class=\"edge taken back\""),
        ("svg", "loop at 1: "),
        ("html", "\"text\":[\"mov.b32 %r1, 0;\"]"),
    ] {
        let run = ptx(&["cfg", "--format", format, "--function", "k", &file]);
        assert_eq!((run.status, run.err.as_str()), (0, ""));
        assert!(run.out.contains(wanted), "{}", run.out);
        let again = ptx(&["cfg", "--format", format, "--function", "k", &file]);
        assert_eq!(run.out, again.out, "same input, same bytes");
    }
    assert_eq!(ptx(&["cfg", "--function", "missing", &file]).status, 2);
    assert_eq!(ptx(&["cfg", "--format", "svg", &file]).status, 2);
    let page = folder.0.join("k.html").to_string_lossy().into_owned();
    let run = ptx(&["cfg", "-o", &page, &file]);
    expect(&run, 0, "", "");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("\"name\":\"g\"") && text.contains("\"name\":\"k\""));
    let links = text
        .replace("http://www.w3.org/2000/svg", "")
        .replace(concat!("<a href=\"", env!("CARGO_PKG_REPOSITORY")), "");
    assert!(!links.contains("://"), "nothing is loaded");
    assert!(
        ptx(&["cfg", "--function", "?", &file])
            .out
            .contains("digraph \"g\"")
    );
    let unwritable = folder
        .0
        .join("missing/k.svg")
        .to_string_lossy()
        .into_owned();
    assert_eq!(
        ptx(&["cfg", "--function", "k", "-o", &unwritable, &file]).status,
        2
    );
    let run = ptx(&["callgraph", "--format", "json", &file]);
    let node = &objects(&run.out)[0]["functions"][0];
    assert_eq!(
        (&node["calls"], &node["recursive"]),
        (&serde_json::json!(["g"]), &true.into())
    );
}

/// Direct calls, recursion, external functions, a list and a prototype.
const CALLS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func x();\n\
    .func a() { ret; }\n.func b() { call a; call a; call b; ret; }\n.func c(.reg .b32 r) { ret; }\n\
    .func unused() { call a; ret; }\n\
    .entry k()\n{\n.reg .b64 %d; .reg .b32 %r;\n\
    L: .calltargets a, b;\nP: .callprototype _ (.reg .b32 _);\n\
    call b; call x; call a;\n\
    mov.u64 %d, a; call %d, (), L;\n\
    mov.u64 %d, c; call %d, (%r), P;\ncall %d, (%r), P;\nret;\n}\n";

#[test]
fn call_trees() {
    let folder = Folder::new("calls");
    let file = folder.file("a.ptx", CALLS);
    assert_eq!(ptx(&["check", &file]).out, "");
    let tree = "\
kernel k
├── b
│   ├── a (address taken) (2 calls)
│   └── b (recursion)
├── x (external)
├── a (address taken)
├── 1 indirect call through the list L, line 15: 2 candidates
│   ├── a
│   └── b
└── 2 indirect calls with the prototype P, first in line 16: 1 candidate, or a function of another module
    └── c
function c (address taken)
function unused
└── a (address taken)
";
    let run = ptx(&["callgraph", &file]);
    expect(&run, 0, &format!("{file}:\n{tree}"), "");
    let run = ptx(&["callgraph", "--format", "json", &file]);
    let functions = &objects(&run.out)[0]["functions"];
    let functions = functions.as_array().unwrap();
    let kernel = functions.iter().find(|f| f["name"] == "k").unwrap();
    let wanted = serde_json::json!([
        {"by": "list", "label": "L", "line": 15, "count": 1, "candidate_count": 2, "candidates": ["a", "b"]},
        {"by": "prototype", "label": "P", "line": 16, "count": 2, "candidate_count": 1, "candidates": ["c"]},
    ]);
    assert_eq!(kernel["indirect_calls"], wanted);
    let dot = ptx(&["callgraph", "--format", "dot", &file]).out;
    assert!(dot.starts_with("digraph ") && dot.contains("\"k\" -> \"*\""));
}

#[test]
fn drawing_many_branches_takes_little_time() {
    let folder = Folder::new("diamonds");
    let diamonds = (0..500).map(|n| format!("@p bra L{n};\nneg.s32 r, r;\nL{n}:\n"));
    let body: String = diamonds.collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.entry k() {{ .reg .pred p; .reg .b32 r;\n{body}ret; }}\n"
    );
    let file = folder.file("a.ptx", text);
    for format in ["svg", "html"] {
        assert_eq!(ptx(&["cfg", "--format", format, &file]).status, 0);
    }
}

#[test]
fn grep() {
    let folder = Folder::new("grep");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&[
        "grep",
        "ld.*",
        "--where",
        "bytes>=4 && space==global && !guarded",
        &file,
    ]);
    expect(
        &run,
        0,
        &format!("{file}:13: ld.global.u32 %r1, [%rd1];\n"),
        "",
    );
    expect(
        &ptx(&["grep", "ld.*", "--where", "atomic", &file]),
        1,
        "",
        "",
    );
    assert_eq!(ptx(&["grep", "ld.*", "--where", "bytes", &file]).status, 2);
    let run = ptx(&["grep", "st*", "--json", &file]);
    assert_eq!(objects(&run.out)[0]["line"], 16);
}

/// A call that was inlined, and inline assembly.
const LOCATED: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.loc 1 11 30\n\
    .loc 2 20 9, function_name $name, inlined_at 1 11 30\n// begin inline asm\nbar.sync 0;\n// end inline asm\nret;\n}\n\
    .file 1 \"/src/a.cu\"\n.file 2 \"b.h\"\n.section .debug_str\n{\n$name:\n.b8 102,0\n}\n";

#[test]
fn source_lines_are_shown() {
    let folder = Folder::new("source-lines");
    let file = folder.file("a.ptx", LOCATED);
    let run = ptx(&["grep", "bar*", &file]);
    let line = format!("{file}:9: bar.sync 0; // b.h:20:9, inlined at /src/a.cu:11:30\n");
    expect(&run, 0, &line, "");

    let source = serde_json::json!([
        {"file": "b.h", "line": 20, "column": 9, "function": "f", "demangled": null},
        {"file": "/src/a.cu", "line": 11, "column": 30, "function": null, "demangled": null},
    ]);
    let hit = &objects(&ptx(&["grep", "bar*", "--json", &file]).out)[0];
    assert_eq!(
        (&hit["source"], &hit["inline_asm"]),
        (&source, &true.into())
    );
    let insts = &analyzed(&file)[0]["insts"];
    assert_eq!(
        (&insts[0]["source"], &insts[0]["inline_asm"]),
        (&source, &true.into())
    );
    assert_eq!(
        (&insts[1]["source"], &insts[1]["inline_asm"]),
        (&source, &false.into())
    );
    let graph = &objects(&ptx(&["cfg", "--format", "json", &file]).out)[0];
    assert_eq!(graph["blocks"][0]["source"], source);
    assert!(ptx(&["cfg", &file]).out.contains("0:  // b.h:20"));

    let wrong = folder.file("wrong.ptx", LOCATED.replace("bar.sync 0", "bar.sync 99"));
    let found = &objects(&ptx(&["check", "--format", "json", &wrong]).out)[0];
    assert_eq!(found["source"], source);
    let shown = ptx(&["check", &wrong]).out;
    assert!(
        shown.contains("= note: from b.h:20:9, inlined at /src/a.cu:11:30\n"),
        "{shown}"
    );
}

#[test]
fn deep_chains_of_inlined_calls_are_cut() {
    let chain = |i: u32| {
        let call = i - 1;
        format!(".loc 1 {i} 3, function_name $name, inlined_at 1 {call} 3\nadd.s32 %r, %r, 1;\n")
    };
    let chain: String = (2..=200).map(chain).collect();
    let body = format!(".reg .b32 %r;\n.loc 1 1 3\nbar.sync 0;\n{chain}ret;\n");
    let text = LOCATED.replace(
        ".entry k()\n{\n",
        &format!(".entry k()\n{{\n{body}}}\n.entry l()\n{{\n"),
    );
    let folder = Folder::new("deep-chains");
    let file = folder.file("a.ptx", text);
    let hits = objects(&ptx(&["grep", "add*", "--json", &file]).out);
    let depths = hits
        .iter()
        .map(|hit| hit["source"].as_array().unwrap().len());
    assert!(depths.eq((2..=200).map(|depth: usize| depth.min(64))));
}
