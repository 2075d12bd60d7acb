//! `JSON.md` describes every key that the program writes, under the command that writes it.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

const DOCUMENT: &str = include_str!("../JSON.md");
/// Objects whose keys are names of things.
const BY_NAME: [&str; 5] = [
    "registers",
    "opcodes",
    "mnemonics",
    "families",
    "directives",
];

fn root(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}

/// What the document says of a command, and of what several write.
fn described(command: &str) -> String {
    let sections = DOCUMENT.split("\n## ");
    let belongs = |s: &&str| {
        let shared = ["Inputs", "Spans", "Names", "Source lines", "Occupancy", "#"];
        s.starts_with(&format!("`ptxkit {command}")) || shared.iter().any(|t| s.starts_with(t))
    };
    sections.filter(belongs).collect()
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                found.insert(key.clone());
                match inner {
                    Value::Object(_) if BY_NAME.contains(&key.as_str()) => {
                        // Below a name comes what is counted of it.
                        let below = inner.as_object().into_iter().flat_map(|m| m.values());
                        below.for_each(|v| keys(v, found));
                    }
                    _ => keys(inner, found),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|v| keys(v, found)),
        _ => {}
    }
}

#[test]
fn every_key_is_described() {
    let files = [
        root("corpus/hand/isa_memory.ptx"),
        root("corpus/hand/func_indirect.ptx"),
        root("corpus/broken"),
    ];
    let container = root("ptx-container/tests/data/k.a");
    let kernel = root("corpus/compiled/nvcc/vecadd.O3.sm_80.ptx");
    let run = "run --format json --profile --kernel fill --block 8";
    let mut runs: Vec<&str> = run.split(' ').collect();
    let output = concat!("out:", env!("CARGO_TARGET_TMPDIR"), "/keys.npy:u8[8]");
    runs.extend([&*kernel, output, "u8:1", "u32:8"]);
    let volatile_flag = root("ptx-memory/tests/kernels/volatile_flag.ptx");
    let litmus = root("ptx-memory/tests/litmus/message_passing.litmus");
    let commands: [&[&str]; 25] = [
        &["explore", "--json", &volatile_flag, "zero:4"],
        &["litmus", "--json", &litmus],
        &["list", "--json", &container],
        &runs,
        &["check", "--format", "json"],
        &["lint", "--format", "json"],
        &["requires", "--json"],
        &["requires", "--json", "--target", "sm_50"],
        &["stats", "--json", "--mnemonics"],
        &["dump", "--analysis"],
        &["dump"],
        &["dump", "--format", "json"],
        &["cfg", "--format", "json"],
        &["callgraph", "--format", "json"],
        &["diff", "--json", "--all"],
        &["clean", "--explain", "--json"],
        &["grep", "*", "--json"],
        &["grep", "*", "--json", "--count"],
        &["grep", "*", "--json", "--list=functions"],
        &["link", "--json"],
        &["retarget", "--json", "--target", "sm_50"],
        &["debug", "roundtrip", "--json"],
        &["debug", "parse", "--json"],
        &["debug", "tokens", "--json"],
        &["explain", "mma", "--format", "json"],
    ];
    for command in commands {
        let files = match command[0] {
            "explain" | "explore" | "list" | "litmus" | "run" => &[],
            "diff" => &files[..2],
            // Tokens are listed of one file.
            "debug" if command[1] == "tokens" => &files[..1],
            _ => &files[..],
        };
        let output = Command::new(env!("CARGO_BIN_EXE_ptxkit"))
            .args(command)
            .args(files)
            .output()
            .unwrap();
        let mut found = BTreeSet::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let object: Value = serde_json::from_str(line).unwrap();
            let version = object["schema"].as_u64().unwrap();
            assert!(DOCUMENT.contains(&format!(
                "the version of this format, currently **{version}**"
            )));
            keys(&object, &mut found);
        }
        assert!(found.len() >= 3, "{command:?} says {found:?}");
        let name = match command[0] {
            "debug" => &command[..2],
            _ => &command[..1],
        };
        let text = described(&name.join(" "));
        let missing: Vec<_> = found
            .iter()
            .filter(|k| !text.contains(&format!("`{k}`")))
            .collect();
        assert!(
            missing.is_empty(),
            "{command:?} writes {missing:?}, which JSON.md does not tell"
        );
    }
}
