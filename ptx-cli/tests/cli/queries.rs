//! `grep` and its conditions.

use serde_json::Value;

use crate::support::{Folder, analyzed, command, expect, objects, ptx};

fn root(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The words of a command line; quotes enclose words with spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quoted = false;
    for (nth, part) in line.split('\'').enumerate() {
        quoted = nth % 2 == 1;
        match quoted {
            true => words.push(part.to_owned()),
            false => words.extend(part.split_whitespace().map(str::to_owned)),
        }
    }
    assert!(!quoted, "{line}");
    words
}

#[test]
fn examples_of_the_documentation_find_what_they_say() {
    let page = std::fs::read_to_string(root("docs/queries.md")).unwrap();
    let mut wanted = None;
    let mut count = 0;
    for line in page.lines() {
        if let Some((_, number)) = line.strip_prefix("# ").and_then(|l| l.rsplit_once(": ")) {
            wanted = number.parse::<usize>().ok();
        }
        if let (Some(arguments), Some(wanted)) = (line.strip_prefix("ptxkit "), wanted) {
            let run = command(&words(arguments)).current_dir(root("")).output();
            let run = run.unwrap();
            let out = String::from_utf8(run.stdout).unwrap();
            assert_eq!(out.lines().count(), wanted, "{line}");
            assert!(run.stderr.is_empty() && wanted > 0, "{line}");
            count += 1;
        }
    }
    assert!(count >= 12, "{count} examples");
}

/// A loop with a barrier on one of two paths, a barrier on all paths before it, and a part that cannot be reached.
const PATHS: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n\
    .reg .pred %p, %q;\n.reg .b32 %r<9>;\n.shared .b32 s[4];\n\
    mov.b32 %r1, 1;\n\
    @%p bra ELSE;\n\
    mov.b32 %r1, 2;\nbar.sync 0;\nmov.b32 %r1, 3;\nbra DONE;\n\
    ELSE:\nmov.b32 %r1, 4;\n@%q bar.sync 1;\nbarrier.sync 2;\n\
    DONE:\nmov.b32 %r1, 5;\n@%q bra DONE;\n\
    @%p ret;\nmov.b32 %r1, 6;\nbar.sync 3;\nret;\n\
    mov.b32 %r1, 7;\nbar.sync 4;\nret;\n}\n";

/// The constants that the `mov` instructions load that satisfy a condition.
fn constants(file: &str, condition: &str) -> Vec<String> {
    let run = ptx(&["grep", "mov*", "--where", condition, "--json", file]);
    assert_eq!(run.err, "");
    let hits = objects(&run.out);
    let constant = |hit: &Value| hit["operands"][1].as_str().unwrap().to_owned();
    hits.iter().map(constant).collect()
}

#[test]
fn paths_are_followed() {
    let folder = Folder::new("paths");
    let file = folder.file("a.ptx", PATHS);
    let of = |condition| constants(&file, condition).join("");
    assert_eq!(of("after 'bar*'"), "356");
    assert_eq!(
        of("after bar.sync"),
        "3",
        "the other path passes barrier.sync"
    );
    assert_eq!(of("after (barrier && operand(0)==2)"), "");
    assert_eq!(
        of("after (opcode==barrier) || after (immediate(0)==0)"),
        "3"
    );
    assert_eq!(of("before 'bar*'"), "12467");
    assert_eq!(of("before (immediate==3)"), "26");
    assert_eq!(
        of("before (flow==return)"),
        "67",
        "a guarded one does not count"
    );
    assert_eq!(of("!before (flow==return) && !reachable"), "");
    assert_eq!(of("after (after (barrier))"), "6");
    assert_eq!(of("in_loop"), "5");
    assert_eq!(of("loop_depth==1 && label==DONE"), "5");
    assert_eq!(of("!reachable"), "7");
}

#[test]
fn counts_lists_and_opposites() {
    let folder = Folder::new("lists");
    let a = folder.file("a.ptx", PATHS);
    let g = ".func g()\n{\nret;\n}\n";
    let b = folder.file(
        "b.ptx",
        format!("{}{g}", PATHS.replace(".entry k", ".entry other")),
    );
    let grep = |arguments: &[&str]| {
        let mut all = vec!["grep"];
        all.extend(arguments);
        all.extend([a.as_str(), b.as_str()]);
        ptx(&all)
    };
    expect(
        &grep(&["bar.*", "--count"]),
        0,
        &format!("{a}: 4\n{b}: 4\n"),
        "",
    );
    expect(
        &grep(&["bar.*", "--count", "--not"]),
        0,
        &format!("{a}: 14\n{b}: 15\n"),
        "",
    );
    expect(
        &grep(&["bar.*", "-c", "--function", "o*"]),
        0,
        &format!("{a}: 0\n{b}: 4\n"),
        "",
    );
    expect(&grep(&["bar.*", "-l"]), 0, &format!("{a}\n{b}\n"), "");
    expect(&grep(&["bar.*", "-l", "--not"]), 1, "", "");
    expect(
        &grep(&["ret", "-l", "--where", "function==g"]),
        0,
        &format!("{b}\n"),
        "",
    );
    expect(
        &grep(&["ret", "-l", "--where", "function==g", "--not"]),
        0,
        &format!("{a}\n"),
        "",
    );
    let functions = format!("{a}: k\n{b}: other\n");
    expect(&grep(&["bar.*", "--list=functions"]), 0, &functions, "");
    expect(
        &grep(&["bar.*", "--list=functions", "--not"]),
        0,
        &format!("{b}: g\n"),
        "",
    );
    let run = grep(&["bar.*", "--list=functions", "--not", "--json"]);
    let wanted = serde_json::json!({"schema": 1, "file": b, "function": "g"});
    assert_eq!(objects(&run.out), [wanted]);
    let run = grep(&["ret", "--function", "x*", "--function", "k"]);
    let missing = "ptxkit: no function `x*` with a body\n";
    assert_eq!((run.status, run.err.as_str()), (2, missing));
}

#[test]
fn errors_show_the_place() {
    let folder = Folder::new("query-errors");
    let file = folder.file("a.ptx", PATHS);
    let run = ptx(&["grep", "*", "--where", "guarded && space==shraed", &file]);
    let wanted = "ptxkit: --where, column 19: `shraed` is not a value of `space`; did you mean `shared`?\n  \
        guarded && space==shraed\n                    ^\n";
    expect(&run, 2, "", wanted);
    for (pattern, note) in [
        (
            "ld.glbal*",
            "ptxkit: note: `glbal*` is not a value of `modifier`; did you mean `global`?\n",
        ),
        (
            "fmaa.rn.*",
            "ptxkit: note: `fmaa` is not a value of `opcode`; did you mean `fma`?\n",
        ),
        ("ld*.global", ""),
        ("l?.const.v4.*", ""),
    ] {
        expect(&ptx(&["grep", pattern, &file]), 1, "", note);
    }
    let run = ptx(&["grep", "--fields=space"]);
    assert!(run.out.contains("\n  shared::cta\n"), "{}", run.out);
    assert_eq!(ptx(&["grep", "--fields=spcae"]).status, 2);
    assert_eq!(ptx(&["grep", "--fields", &file]).status, 2);
    assert_eq!(ptx(&["grep"]).status, 2);
    assert!(ptx(&["grep", "--fields"]).out.contains("loop_depth"));
}

/// Shared memory has two names, which mean the same.
#[test]
fn shared_is_one_space() {
    let folder = Folder::new("shared");
    let text = PATHS.replace(
        "mov.b32 %r1, 1;",
        "ld.shared.b32 %r1, [s];\nld.shared::cta.b32 %r1, [s];\nst.shared::cluster.b32 [s], %r1;",
    );
    let file = folder.file("a.ptx", text);
    let count = |condition: &str| {
        let run = ptx(&["grep", "*", "--where", condition, &file]);
        assert_eq!(run.err, "");
        run.out.lines().count()
    };
    assert_eq!(count("space==shared"), 3);
    assert_eq!(count("space==shared::cta"), 2);
    assert_eq!(count("space==shared::cluster"), 1);
    assert_eq!(count("memory && space!=shared"), 0);
    let insts = &analyzed(&file)[0]["insts"];
    let insts = insts.as_array().unwrap();
    let spaces: Vec<_> = insts[..3]
        .iter()
        .map(|i| &i["memory"][0]["space"])
        .collect();
    assert_eq!(spaces, ["shared", "shared", "shared::cluster"]);
    let stats = &objects(&ptx(&["stats", "--json", &file]).out)[0];
    let accesses = stats["per_function"][0]["memory"].as_array().unwrap();
    let reads = accesses.iter().find(|a| a["access"] == "read").unwrap();
    assert_eq!(
        (&reads["space"], &reads["count"]),
        (&"shared".into(), &2.into())
    );
}

/// The values of a field of an instruction of `dump --analysis`.
fn values<'v>(inst: &'v Value, blocks: &'v [Value], field: &str) -> Vec<&'v Value> {
    let block = || &blocks[inst["block"].as_u64().unwrap() as usize];
    let found: Vec<&Value> = match field {
        "space" | "bytes" | "access" | "order" | "scope" | "base" | "offset" => inst["memory"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| &m[field])
            .collect(),
        "reads" | "writes" | "cond_writes" => inst[field].as_array().unwrap().iter().collect(),
        "loop_depth" | "loop_header" | "reachable" => vec![&block()[field]],
        "source.line" => inst["source"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| &f["line"])
            .collect(),
        _ => vec![&inst[field]],
    };
    found.into_iter().filter(|v| !v.is_null()).collect()
}

const FIELDS: &[&str] = &[
    "line",
    "block",
    "mnemonic",
    "guard",
    "reads",
    "writes",
    "cond_writes",
    "side_effects",
    "known",
    "inline_asm",
    "space",
    "bytes",
    "access",
    "order",
    "scope",
    "base",
    "offset",
    "loop_depth",
    "loop_header",
    "reachable",
    "source.line",
];

/// Each value that `dump --analysis` writes is found by the field of the same name, in as many instructions.
#[test]
fn fields_are_those_of_dump() {
    let mut asked = 0;
    for file in [
        "corpus/hand/isa_memory.ptx",
        "corpus/hand/isa_control.ptx",
        "corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx",
    ] {
        let file = root(file);
        let functions = analyzed(&file);
        let function = functions
            .iter()
            .max_by_key(|f| f["insts"].as_array().unwrap().len())
            .unwrap();
        let name = function["name"].as_str().unwrap();
        let (insts, blocks) = (&function["insts"], function["blocks"].as_array().unwrap());
        let insts: Vec<&Value> = insts
            .as_array()
            .unwrap()
            .iter()
            .filter(|i| !i["mnemonic"].is_null())
            .collect();
        for &field in FIELDS {
            let of = |inst: &&Value| {
                values(inst, blocks, field)
                    .into_iter()
                    .cloned()
                    .collect::<Vec<_>>()
            };
            let mut all: Vec<Value> = insts.iter().flat_map(of).collect();
            all.sort_by_key(Value::to_string);
            all.dedup();
            // The first, the last, and one between them.
            let chosen = [0, all.len() / 2, all.len().saturating_sub(1)];
            for value in chosen.iter().filter_map(|&i| all.get(i)) {
                let has = |inst: &&&Value| of(inst).contains(value);
                let text = value.as_str().map_or(value.to_string(), str::to_owned);
                let mut wanted = insts.iter().filter(has).count();
                if field == "space" {
                    let part = format!("{text}::");
                    let is = |v: &Value| v == value || v.as_str().unwrap().starts_with(&part);
                    wanted = insts.iter().filter(|i| of(i).iter().any(is)).count();
                }
                let condition = format!("{field}=='{text}'");
                let run = ptx(&[
                    "grep",
                    "*",
                    "--where",
                    &condition,
                    "--function",
                    name,
                    "-c",
                    &file,
                ]);
                assert_eq!(
                    run.out,
                    format!("{file}: {wanted}\n"),
                    "{condition} {}",
                    run.err
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 60, "{asked}");
}

#[test]
fn keys_of_stats_are_chosen() {
    let folder = Folder::new("stats-chosen");
    let file = folder.file("a.ptx", PATHS);
    let run = ptx(&[
        "stats",
        "--json",
        "--fields",
        "per_function.name,opcodes",
        &file,
    ]);
    let first = &objects(&run.out)[0];
    let opcodes = first["opcodes"].clone();
    assert_eq!(opcodes["bar"], 4);
    let wanted = serde_json::json!({
        "schema": 1, "kind": "file", "file": file, "opcodes": opcodes, "per_function": [{"name": "k"}],
    });
    assert_eq!(first, &wanted);
    let run = ptx(&["stats", "--json", "--fields", "opcode", &file]);
    let message = "ptxkit: the output has no key `opcode`; did you mean `opcodes`?\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
}

#[test]
fn functions_and_keys_of_analyses_are_chosen() {
    let folder = Folder::new("analysis-chosen");
    let file = folder.file("a.ptx", format!("{PATHS}.func g()\n{{\nret;\n}}\n"));
    let dump = |arguments: &[&str]| {
        let mut all = vec!["dump", "--analysis"];
        all.extend(arguments);
        all.push(&file);
        ptx(&all)
    };
    let run = dump(&["--function", "g", "--fields", "name,blocks.id,block"]);
    let wanted = serde_json::json!([
        {"schema": 1, "record": "file", "file": file},
        {"schema": 1, "record": "function", "kind": "func", "name": "g", "blocks": [{"id": 0}]},
        {"schema": 1, "record": "instruction", "block": 0},
    ]);
    assert_eq!(Value::from(objects(&run.out)), wanted, "{}", run.err);
    let run = dump(&["--fields", "nmae"]);
    let message = "ptxkit: the output has no key `nmae`; did you mean `name`?\n";
    assert_eq!((run.status, run.err.as_str()), (2, message));
    assert_eq!(dump(&["--function", "h"]).status, 2);
}

/// A random statement: its text and where control may go, beside out of the function.
struct Random {
    text: String,
    jump: Option<usize>,
    next: Vec<usize>,
    exits: bool,
    is_barrier: bool,
}

impl Random {
    fn new(random: &mut fastrand::Rng, index: usize, len: usize) -> Self {
        let guarded = random.bool();
        let to = random.usize(..len);
        let kind = random.u8(..8);
        let what = match kind {
            0 | 1 => format!("bra L{to};"),
            2 => "ret;".to_owned(),
            3 | 4 => "bar.sync 0;".to_owned(),
            _ => format!("mov.b32 %r, {index};"),
        };
        let falls = kind > 2 || guarded;
        let mut next: Vec<usize> = (falls && index + 1 < len)
            .then_some(index + 1)
            .into_iter()
            .collect();
        let jump = (kind < 2).then_some(to);
        next.extend(jump);
        Self {
            text: format!("{}{what}\n", if guarded { "@%p " } else { "" }),
            jump,
            next,
            exits: kind == 2 || falls && index + 1 == len,
            is_barrier: matches!(kind, 3 | 4) && !guarded,
        }
    }
}

/// What is reached from the start by these edges.
fn reached(start: Vec<usize>, len: usize, edge: impl Fn(usize, usize) -> bool) -> Vec<bool> {
    let mut reached = vec![false; len];
    let mut work = start;
    while let Some(at) = work.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            work.extend((0..len).filter(|&to| edge(at, to)));
        }
    }
    reached
}

/// The definitions of `after` and `before` on random functions: no path passes none.
#[test]
fn paths_of_random_functions() {
    let folder = Folder::new("random-paths");
    let mut random = fastrand::Rng::with_seed(7);
    let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned();
    let (mut after, mut before) = (Vec::new(), Vec::new());
    for nth in 0..150 {
        let len = random.usize(1..14);
        let all: Vec<Random> = (0..len).map(|i| Random::new(&mut random, i, len)).collect();
        text += &format!(".entry k{nth}() {{ .reg .pred %p; .reg .b32 %r;\n");
        let line = text.lines().count() + 1;
        for (index, statement) in all.iter().enumerate() {
            // Only targets begin blocks.
            if all.iter().any(|s| s.jump == Some(index)) {
                text += &format!("L{index}: ");
            }
            text += &statement.text;
        }
        text += "}\n";
        let edge = |from: usize, to: usize| all[from].next.contains(&to);
        let exits: Vec<usize> = (0..len).filter(|&i| all[i].exits).collect();
        let reachable = reached(vec![0], len, edge);
        let bare = reached(vec![0], len, |from, to| {
            !all[from].is_barrier && edge(from, to)
        });
        let leaves = reached(exits.clone(), len, |to, from| edge(from, to));
        let free = reached(exits, len, |to, from| !all[to].is_barrier && edge(from, to));
        after.extend(
            (0..len)
                .filter(|&i| reachable[i] && !bare[i])
                .map(|i| line + i),
        );
        before.extend(
            (0..len)
                .filter(|&i| leaves[i] && !free[i])
                .map(|i| line + i),
        );
    }
    let file = folder.file("a.ptx", text);
    for (condition, wanted) in [("after bar.sync", after), ("before bar.sync", before)] {
        let run = ptx(&["grep", "*", "--where", condition, "--json", &file]);
        let lines = objects(&run.out);
        let lines: Vec<usize> = lines
            .iter()
            .map(|h| h["line"].as_u64().unwrap() as usize)
            .collect();
        assert!(wanted.len() > 50);
        assert_eq!(lines, wanted, "{condition}");
    }
}

#[test]
fn statements_that_were_not_recognized_are_found() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 %r<3>;\n.reg .pred %p;\n\
        @%p add.s32 %r1 %r2 ;\nadd.s32 %r1, %r1, 1;\nret;\n}\n";
    let found = |arguments: &[&str]| {
        let all = [&["grep"], arguments, &["-"]].concat();
        crate::support::with_input(&all, text.as_bytes()).out
    };
    let line = "<stdin>:7: @%p add.s32 %r1 %r2 ;\n";
    assert_eq!(found(&["*", "--where", "!known"]), line);
    assert_eq!(found(&["add*", "--where", "reads=='%r2'"]), line);
    assert_eq!(found(&["*", "--where", "opcode==add && memory"]), line);
    assert_eq!(found(&["add.s32", "--count"]), "<stdin>: 2\n");
    assert_eq!(found(&["ret", "--not", "--count"]), "<stdin>: 2\n");
    assert_eq!(found(&["sub*"]), "");
    let hit: serde_json::Value =
        serde_json::from_str(&found(&["add*", "--where", "!known", "--json"])).unwrap();
    assert_eq!(
        (&hit["mnemonic"], &hit["line"]),
        (&serde_json::Value::Null, &7.into())
    );
}
