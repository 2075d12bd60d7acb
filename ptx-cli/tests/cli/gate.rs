//! `gate`: limits of metrics and denied instructions; `ptxkit.toml`, also for `check`.

use std::fs;

use crate::support::{BAD, Folder, Run, command, expect, objects};

const TEXT: &str = "\
.version 8.5
.target sm_90
.address_size 64
.visible .entry _Z4gemmPf(.param .u64 p)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<3>;
    .reg .pred %p;
    .shared .align 4 .b8 tile[4096];
    ld.param.u64 %rd1, [p];
    ld.f32 %f1, [%rd1];
again:
    .loc 1 7 3
    ld.f32 %f2, [%rd1];
    st.global.f32 [%rd1], %f2;
    setp.gt.f32 %p, %f2, %f1;
    @%p bra again;
    ret;
}
.visible .entry small()
{
    ret;
}
.func helper()
{
    .reg .f64 %d;
    mov.f64 %d, 0d0000000000000000;
    ret;
}
.file 1 \"/src/a.cu\"
";

/// What `gate` writes for the file `a.ptx` in a folder.
fn gate(folder: &Folder, arguments: &[&str]) -> Run {
    run(folder, &[&["gate", "a.ptx"], arguments].concat())
}

fn run(folder: &Folder, arguments: &[&str]) -> Run {
    let output = command(arguments).current_dir(&folder.0).output().unwrap();
    Run::new(output)
}

fn folder(test: &str) -> Folder {
    let folder = Folder::new(&format!("gate-{test}"));
    folder.file("a.ptx", TEXT);
    // Limits the search for ptxkit.toml.
    folder.file("ptxkit.toml", "");
    folder
}

/// The findings without their file, as `LINE:COLUMN: code: message`.
fn found(run: &Run) -> Vec<String> {
    let lines = run.out.lines();
    lines
        .map(|line| {
            let (place, message) = line.split_once(": error[").unwrap();
            let (_, place) = place.split_once(':').unwrap();
            let (code, message) = message.split_once("]: ").unwrap();
            format!("{place}: {code}: {message}")
        })
        .collect()
}

fn short(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let run = gate(folder, &[&["--format", "short"], arguments].concat());
    assert_eq!(run.err, "");
    let found = found(&run);
    assert_eq!(run.status, i32::from(!found.is_empty()));
    found
}

#[test]
fn limits_of_kernels() {
    let folder = folder("limits");
    let expected = "\
error[PTX1201]: `shared` of kernel `_Z4gemmPf` (gemm(float*)) is 4096 bytes, expected at most 2048
 --> a.ptx:4:17
  |
4 | .visible .entry _Z4gemmPf(.param .u64 p)
  |                 ^^^^^^^^^
  |
  = help: the limit comes from --max shared=2048
";
    let run = gate(&folder, &["--max", "shared=2K"]);
    assert_eq!(run.out.trim_end(), expected.trim_end());
    assert_eq!(
        (run.status, run.err.as_str()),
        (1, "1 error in 1 of 1 file\n")
    );
    for limit in ["shared=4K", "loops=1", "memory.global.write=1"] {
        expect(&gate(&folder, &["--max", limit]), 0, "", "");
    }
    assert_eq!(
        short(
            &folder,
            &["--min", "instructions=2", "--max", "loop_depth=0"]
        ),
        [
            "4:17: PTX1201: `loop_depth` of kernel `_Z4gemmPf` (gemm(float*)) is 1, expected at most 0",
            "20:17: PTX1202: `instructions` of kernel `small` is 1, expected at least 2",
        ]
    );
    // Other functions only where they are named.
    let found = short(
        &folder,
        &["--function", "helper", "--min", "instructions=3"],
    );
    assert_eq!(
        found,
        ["24:7: PTX1202: `instructions` of function `helper` is 2, expected at least 3"]
    );
    assert_eq!(
        short(&folder, &["--function", "gemm", "--min", "instructions=7"]).len(),
        0
    );
    // What is not known is not within a limit.
    let found = short(&folder, &["--function", "helper", "--max", "shared=1"]);
    assert_eq!(
        found,
        ["24:7: PTX1201: `shared` of function `helper` is unknown, expected at most 1 bytes"]
    );
}

#[test]
fn denied_instructions() {
    let folder = folder("deny");
    let run = gate(&folder, &["--deny", "ld.generic in loops"]);
    let expected = "\
error[PTX1203]: `ld.f32` in `_Z4gemmPf` (gemm(float*)) is denied
  --> a.ptx:14:5
   |
14 |     ld.f32 %f2, [%rd1];
   |     ^^^^^^^^^^^^^^^^^^^
   |
   = note: from /src/a.cu:7:3
   = help: the rule `ld.generic in loops` comes from --deny
";
    assert_eq!(run.out.trim_end(), expected.trim_end());
    assert_eq!(run.status, 1);
    let lines = |rule: &str| {
        let found = short(&folder, &["--deny", rule]);
        found
            .iter()
            .map(|f| f.split(':').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(lines("ld.generic"), ["11", "14"]);
    assert_eq!(lines("ld"), ["10", "11", "14"]);
    assert_eq!(lines("ld.f32 where !in_loop"), ["11"]);
    assert_eq!(lines("*.f64"), ["27"]);
    assert_eq!(lines("space==global in loops"), ["15"]);
    assert_eq!(lines("after setp.*"), ["17", "18"]);
    assert_eq!(lines("atomic"), [""; 0]);
    // Several rules, each with its own paths.
    let found = short(
        &folder,
        &[
            "--deny",
            "after setp.*",
            "--deny",
            "before setp.* where opcode==st",
        ],
    );
    assert_eq!(found.len(), 3, "{found:?}");
    let found = short(&folder, &["--function", "small", "--deny", "ld"]);
    assert_eq!(found.len(), 0);
}

#[test]
fn formats_of_services() {
    let folder = folder("formats");
    let format = |format: &str| {
        gate(
            &folder,
            &["--format", format, "--deny", "ld.generic in loops"],
        )
        .out
    };
    assert_eq!(
        format("github"),
        "::error file=a.ptx,line=14,endLine=14,col=5,endColumn=24,title=PTX1203::`ld.f32` in `_Z4gemmPf` (gemm(float*)) is denied%0A\
         the rule `ld.generic in loops` comes from --deny%0Afrom /src/a.cu:7:3\n"
    );
    let log: serde_json::Value = serde_json::from_str(&format("sarif")).unwrap();
    let run = &log["runs"][0];
    assert_eq!(run["results"][0]["ruleId"], "PTX1203");
    let related = &run["results"][0]["relatedLocations"][0];
    assert_eq!(related["message"]["text"], "from here");
    let place = &related["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "file:///src/a.cu");
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 7, "startColumn": 3})
    );
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == "PTX1203"));
    let found = &objects(&format("json"))[0];
    assert_eq!(
        (&found["code"], &found["severity"]),
        (&"PTX1203".into(), &"error".into())
    );
    assert_eq!(
        (&found["function"], &found["source"][0]["line"]),
        (&"_Z4gemmPf".into(), &7.into())
    );
}

#[test]
fn values_in_json() {
    let folder = folder("values");
    let arguments = "--format json --max shared=2K --min blocks=9 --deny ld.generic --function gemm --function helper";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let found = objects(&gate(&folder, &arguments).out);
    let values = |o: &serde_json::Value| {
        let keys = ["function", "metric", "value", "limit", "unit"];
        keys.map(|key| o[key].to_string())
            .join(" ")
            .replace('"', "")
    };
    assert_eq!(
        found.iter().map(values).collect::<Vec<_>>(),
        [
            "_Z4gemmPf shared_bytes 4096 2048 bytes",
            "_Z4gemmPf blocks 3 9 count",
            "_Z4gemmPf null null null null",
            "_Z4gemmPf null null null null",
            "helper shared_bytes null 2048 bytes",
            "helper blocks 1 9 count",
        ]
    );
    assert_eq!(found[2].get("metric"), None);
    assert_eq!(found[4].get("value"), Some(&serde_json::Value::Null));
}

#[test]
fn comments_and_baselines() {
    let folder = folder("allow");
    let rules = ["--deny", "ld.generic", "--max", "shared=1K"];
    assert_eq!(short(&folder, &rules).len(), 3);
    let with = |from: &str, to: &str| {
        folder.file("a.ptx", TEXT.replacen(from, to, 1));
        short(&folder, &rules).len()
    };
    assert_eq!(
        with(
            "%f1, [%rd1];",
            "%f1, [%rd1]; // ptxkit: allow(denied-instruction)"
        ),
        2
    );
    assert_eq!(
        with(".visible", "// ptxkit: allow(above-limit)\n.visible"),
        2
    );
    assert_eq!(
        with(".visible", "// ptxkit: allow(PTX1201, PTX1203)\n.visible"),
        0
    );
    folder.file("a.ptx", TEXT);
    let run = gate(
        &folder,
        &[&rules[..], &["--write-baseline", "known"]].concat(),
    );
    expect(&run, 0, "", "3 findings written to known\n");
    expect(
        &gate(&folder, &[&rules[..], &["--baseline", "known"]].concat()),
        0,
        "",
        "",
    );
    folder.file(
        "a.ptx",
        TEXT.replace("ret;\n}\n.visible", "ld.b32 %f1, [%rd1]; ret;\n}\n.visible"),
    );
    let run = gate(&folder, &[&rules[..], &["--baseline", "known"]].concat());
    assert_eq!((run.status, run.out.matches("error[").count()), (1, 1));
}

#[test]
fn rules_of_a_file() {
    let folder = folder("file");
    folder.file(
        "ptxkit.toml",
        "\
# Limits of all kernels.
[gate]
max = { instructions = 6, shared = \"1K\" }
deny = [\"*.f64\"]

[gate.function.\"gemm*\"]
max.shared = \"8K\"
deny = \"ld.generic in loops\"

[gate.function.other]
optional = true
min.tensor_core.arithmetic = 1
",
    );
    let expected = [
        "4:17: PTX1201: `instructions` of kernel `_Z4gemmPf` (gemm(float*)) is 7, expected at most 6",
        "14:5: PTX1203: `ld.f32` in `_Z4gemmPf` (gemm(float*)) is denied",
        "27:5: PTX1203: `mov.f64` in `helper` is denied",
    ];
    assert_eq!(short(&folder, &[]), expected);
    // The command line replaces limits.
    assert_eq!(short(&folder, &["--max", "instructions=7"]), expected[1..]);
    // The file is found above the current directory.
    fs::create_dir_all(folder.0.join("x/y")).unwrap();
    let inner = Folder(folder.0.join("x/y"));
    let run = self::run(&inner, &["gate", "../../a.ptx"]);
    assert!(run.out.contains("ptxkit.toml:3\n"), "{}", run.out);
    assert_eq!(
        (run.status, run.err.as_str()),
        (1, "3 errors in 1 of 1 file\n")
    );
    let run = gate(&folder, &["--no-config", "--max", "instructions=100"]);
    expect(&run, 0, "", "");
    folder.file("other.toml", "[gate]\nmax.instructions = 7\n");
    expect(&gate(&folder, &["--config", "other.toml"]), 0, "", "");
}

#[test]
fn mistakes_in_rules() {
    let folder = folder("mistakes");
    for (text, message) in [
        (
            "[gate]\nmx.shared = 1\n",
            "ptxkit.toml:2:1: unknown key `mx`; did you mean `max`?\n  mx.shared = 1\n  ^^\n",
        ),
        (
            "[gate]\nmax = { presure = 64 }\n",
            "ptxkit.toml:2:9: unknown metric `presure`; did you mean `pressure`?\n  max = { presure = 64 }\n          ^^^^^^^\n",
        ),
        (
            "[gate]\nmax.shared = \"48Q\"\n",
            "ptxkit.toml:2:14: expected a number such as 64 or 48K for `shared_bytes`, found `48Q`\n  max.shared = \"48Q\"\n               ^^^^^\n",
        ),
        (
            "[gate.function.a]\ndeny = ['ld', 'atm']\n",
            "ptxkit.toml:2:15: column 1: `atm` is not a value of `opcode`; did you mean `atom`?\n  deny = ['ld', 'atm']\n                ^^^^^\n",
        ),
        (
            "gate = 1\n",
            "ptxkit.toml:1:8: expected a table, found integer\n  gate = 1\n         ^\n",
        ),
        (
            "[gates]\n",
            "ptxkit.toml:1:2: unknown key `gates`; did you mean `gate`?\n  [gates]\n   ^^^^^\n",
        ),
        (
            "[gate\n",
            "ptxkit.toml:1:6: unclosed table, expected `]`\n  [gate\n       ^\n",
        ),
        (
            "[check]\ntarget = \"sm_9\"\n",
            "ptxkit.toml:2:10: unknown target sm_9; expected a name such as sm_90a\n  target = \"sm_9\"\n           ^^^^^^\n",
        ),
    ] {
        folder.file("ptxkit.toml", text);
        let verb = if text.contains("check") {
            "check"
        } else {
            "gate"
        };
        let run = run(&folder, &[verb, "a.ptx"]);
        expect(&run, 2, "", &format!("ptxkit: {message}"));
    }
}

#[test]
fn rules_without_functions_are_errors() {
    let folder = folder("none");
    let refused = |arguments: &[&str], message: &str| {
        let run = gate(&folder, arguments);
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.out);
        assert!(run.err.contains(message), "{}", run.err);
    };
    refused(
        &[],
        "nothing to check: expected --max, --min, --deny, or a ptxkit.toml with a section `gate`",
    );
    refused(&["--max", "shared"], "expected METRIC=VALUE");
    refused(
        &["--max", "sharde=1"],
        "unknown metric `sharde`; did you mean `shared`?",
    );
    refused(
        &["--max", "registers=40"],
        "--max registers=40: `registers` requires ptxas; specify its path with `--ptxas PATH`",
    );
    refused(
        &["--deny", "ld in lops"],
        "--deny, column 7: expected `loops` after `in`, found `lops`",
    );
    refused(
        &["--function", "gem", "--max", "shared=1"],
        "no function `gem` with a body",
    );
    refused(&["--ptxas", "no/such", "--max", "spills=0"], "no/such");
    folder.file("ptxkit.toml", "[gate.function.gem]\nmax.shared = 1\n");
    refused(
        &[],
        "ptxkit.toml:1: no function `gem` with a body; `optional = true` permits that",
    );
    folder.file("ptxkit.toml", "");
    folder.file("a.ptx", ".version 8.5\n.target sm_90\n.func f() { ret; }\n");
    refused(&["--max", "shared=1"], "no kernel matches the limits");
    expect(
        &gate(&folder, &["--max", "shared=1", "--allow-no-match"]),
        0,
        "",
        "",
    );
    expect(&gate(&folder, &["--deny", "ld"]), 0, "", "");
    // A file with mistakes does not pass.
    folder.file("a.ptx", BAD);
    let found = short(&folder, &["--max", "shared=1", "--allow-no-match"]);
    assert_eq!(
        found,
        ["6:5: PTX0104: expected an instruction, found unknown opcode `bogus`"]
    );
}

#[test]
fn figures_of_ptxas() {
    let Some(ptxas) = std::env::var("PTXAS").ok().filter(|path| !path.is_empty()) else {
        return;
    };
    let folder = folder("ptxas");
    let found = short(
        &folder,
        &[
            "--ptxas",
            &ptxas,
            "--max",
            "registers=1",
            "--max",
            "spills=0",
            "--min",
            "stack=0",
        ],
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("4:17: PTX1201: `registers` of kernel `_Z4gemmPf`"),
        "{found:?}"
    );
    let run = gate(
        &folder,
        &[
            "--ptxas",
            &ptxas,
            "--target",
            "sm_50",
            "--max",
            "registers=100",
        ],
    );
    assert_eq!(run.status, 1);
    assert!(
        run.err.starts_with("a.ptx: no metrics from ptxas: "),
        "{}",
        run.err
    );
}

#[test]
fn defaults_of_check() {
    let folder = folder("check");
    let check = |arguments: &[&str]| {
        let run = run(
            &folder,
            &[&["check", "--format", "short", "a.ptx"], arguments].concat(),
        );
        (run.status, run.out.lines().count())
    };
    folder.file(
        "a.ptx",
        TEXT.replace(".reg .pred %p;", ".reg .pred %p, %q;"),
    );
    assert_eq!(check(&[]), (0, 0));
    folder.file(
        "ptxkit.toml",
        "[check]\nwarn = \"unused-register\"\ndeny-warnings = true\n",
    );
    assert_eq!(check(&[]), (1, 1));
    assert_eq!(check(&["--no-config"]), (0, 0));
    folder.file(
        "ptxkit.toml",
        "[check]\nwarn = [\"unused\"]\nbaseline = \"known\"\n",
    );
    assert_eq!(check(&["--write-baseline", "known"]), (0, 0));
    assert_eq!(check(&[]), (0, 0));
    fs::remove_file(folder.0.join("known")).unwrap();
    assert_eq!(check(&[]), (2, 0));
    folder.file(
        "ptxkit.toml",
        "[check]\ntarget = \"sm_10\"\nptx-version = \"1.0\"\n",
    );
    assert_eq!(check(&[]).0, 1);
    assert_eq!(
        check(&["--target", "sm_90", "--ptx-version", "8.5"]),
        (0, 0)
    );
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let page = include_str!("../../../docs/gates.md");
    let (_, text) = page.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let folder = folder("documentation");
    folder.file("ptxkit.toml", text);
    assert_eq!(
        short(&folder, &[]),
        [
            "4:17: PTX1202: `tensor_core.arithmetic` of kernel `_Z4gemmPf` (gemm(float*)) is 0, expected at least 1",
            "14:5: PTX1203: `ld.f32` in `_Z4gemmPf` (gemm(float*)) is denied",
        ]
    );
    let run = run(&folder, &["check", "a.ptx"]);
    assert!(run.err.starts_with("ptxkit: known.json: "), "{}", run.err);
}

#[test]
fn occupancy() {
    let folder = folder("gate_occupancy");
    // 96 threads, and 4096 bytes of static shared memory, of which 1024 more are reserved: 21 CTAs for 64 warps.
    let sizes = ["--block", "96", "--function", "_Z4gemmPf"];
    let limited = |limit: &str| gate(&folder, &[&["--min", limit], &sizes[..]].concat());
    assert_eq!(limited("occupancy.blocks=21").status, 0);
    let below = limited("occupancy.blocks=22");
    assert_eq!(below.status, 1);
    assert!(
        below.out.contains("is 21, expected at least 22"),
        "{}",
        below.out
    );
    // Dynamic shared memory leaves three.
    let with_dynamic = [&sizes[..], &["--shared", "65536"]].concat();
    let run = gate(
        &folder,
        &[&["--min", "occupancy=15"], &with_dynamic[..]].concat(),
    );
    assert_eq!(run.status, 1);
    assert!(
        run.out.contains("is 14, expected at least 15"),
        "{}",
        run.out
    );
    let unknown = gate(
        &folder,
        &["--min", "occupancy=1", "--function", "_Z4gemmPf"],
    );
    assert!(unknown.out.contains("is unknown"), "{}", unknown.out);
}
