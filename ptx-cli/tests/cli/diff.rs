//! `diff`.

use crate::support::{Folder, Run, expect, objects, ptx, with_slashes};

const OLD: &str = ".version 8.0
.target sm_80
.address_size 64
.file 1 \"k.cu\"
.visible .entry _Z1kPi(.param .u64 _Z1kPi_param_0) .maxntid 128, 1, 1
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    .loc 1 3 5
    ld.param.u64 %rd1, [_Z1kPi_param_0];
    ld.global.u32 %r1, [%rd1];
    add.s32 %r2, %r1, 1;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

/// The same with other registers and labels, another order and without `.loc`.
const SAME: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry _Z1kPi(.param .u64 _Z1kPi_param_0) .maxntid 128, 1, 1
{
    .reg .b64 %x<9>;
    .reg .b32 %y, %z;
    ld.param.u64 %x7, [_Z1kPi_param_0];
  unused:
    ld.global.u32 %y, [%x7];
    add.s32 %z, %y, 0x1;
    st.global.u32 [%x7], %z;
    ret;
}
";

fn new() -> String {
    SAME.replace("%y, 0x1;", "%y, 2;\n    mul.lo.s32 %z, %z, %y;")
        .replace(".maxntid 128, 1, 1", ".maxntid 256, 1, 1")
        + ".global .align 4 .b8 t[16];\n"
}

fn run(arguments: &[&str], right: &str) -> Run {
    let folder = Folder::new(&format!(
        "diff{}",
        arguments.join("").replace(['>', '%', '+', ' ', '*'], "_")
    ));
    let (a, b) = (folder.file("a.ptx", OLD), folder.file("b.ptx", right));
    let mut run = ptx(&[&["diff"], arguments, &[&a, &b]].concat());
    run.out = run.out.replace(&a, "a.ptx").replace(&b, "b.ptx");
    run
}

#[test]
fn equal_modules() {
    expect(&run(&[], SAME), 0, "", "no differences\n");
    expect(&run(&["-q"], OLD), 0, "", "");
    let run = run(&["--all"], SAME);
    assert_eq!(run.out, "--- a.ptx\n+++ b.ptx\n\nkernel k(int*) (equal)\n");
}

#[test]
fn instructions_metrics_and_declarations() {
    let out = "--- a.ptx
+++ b.ptx
+ variable t: .global .align 4 .b8 t[16]

kernel k(int*)
- directive .maxntid: .maxntid 128, 1, 1
+ directive .maxntid: .maxntid 256, 1, 1
  instructions             5  6  +1 (+20.0 %)
  pressure.max_b32_units   3  4  +1 (+33.3 %)
  occupancy.blocks        16  8  -8 (-50.0 %)
  families.integer         1  2  +1 (+100.0 %)
  pressure.by_class.b32    1  2  +1 (+100.0 %)
@@ -11,3 +10,4 @@
    ld.global.u32 %r1, [%rd1]; // k.cu:3:5
-   add.s32 %r2, %r1, 1;
+   add.s32 %r2, %r1, 2;
+   mul.lo.s32 %r2, %r2, %r1;
    st.global.u32 [%rd1], %r2;
";
    let run = run(&["-U1"], &new());
    assert_eq!(run.out, out);
    assert_eq!((run.status, run.err.as_str()), (1, "1 function changed\n"));
}

#[test]
fn a_table() {
    let run = run(&["--stat"], &new());
    assert_eq!(run.status, 1);
    let last = run.out.lines().last().unwrap();
    let words: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(
        words[..8],
        ["1", "2", "5", "to", "6:", "+1", "(+20.0", "%)"]
    );
    assert!(last.ends_with("k(int*)"));
}

#[test]
fn json() {
    let run = run(&["--json", "-U", "0"], &new());
    let report = &objects(&run.out)[0];
    assert_eq!(report["equal"], false);
    assert_eq!(report["changes"][0]["subject"], "variable");
    let of = &report["functions"][0];
    assert_eq!(
        (&of["name"], &of["demangled"]),
        (&"_Z1kPi".into(), &"k(int*)".into())
    );
    assert_eq!(
        (&of["status"], &of["removed"], &of["added"]),
        (&"changed".into(), &1.into(), &2.into())
    );
    let metric = serde_json::json!({"name": "instructions", "left": 5, "right": 6});
    assert_eq!(of["metrics"][0], metric);
    let lines = of["hunks"][0]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["left"]["text"], "add.s32 %r2, %r1, 1;");
    assert_eq!(
        (
            &lines[0]["left"]["line"],
            &lines[0]["left"]["source"][0]["line"]
        ),
        (&12.into(), &3.into())
    );
    assert_eq!(lines[0]["right"], serde_json::Value::Null);
    assert_eq!(lines[1]["right"]["text"], "add.s32 %z, %y, 2;");
}

#[test]
fn limits() {
    let one = run(&["--stat", "--fail-if", "instructions>+20%"], &new());
    assert_eq!((one.status, one.err.as_str()), (0, "1 function changed\n"));
    let one = run(&["--stat", "--fail-if", "instructions>+19%"], &new());
    let message = "ptxkit: k(int*): instructions from 5 to 6 exceeds `instructions>+19%`\n";
    assert_eq!(
        (one.status, one.err.as_str()),
        (1, &*format!("1 function changed\n{message}"))
    );
    // Limits of values are about functions that are equal, too.
    let one = run(&["--fail-if", "pressure>2"], SAME);
    assert_eq!(one.status, 1, "{}", one.err);
    let one = run(&["--fail-if", "total instructions>+0"], SAME);
    assert_eq!(one.status, 0);
    let one = run(&["--fail-if", "instruction>+0"], SAME);
    assert_eq!(one.status, 2);
    assert!(
        one.err.contains("did you mean `instructions`?"),
        "{}",
        one.err
    );
}

#[test]
fn functions_and_files() {
    let one = run(&["--function", "k"], &new());
    assert!(
        one.status == 1 && !one.out.contains("variable t"),
        "{}",
        one.out
    );
    let one = run(&["--function", "none"], &new());
    assert_eq!(
        (one.status, one.err.as_str()),
        (2, "ptxkit: no function `none` with a body\n")
    );
    let one = run(&["--color", "always"], &new());
    assert!(
        one.out
            .contains("\u{1b}[31m-   add.s32 %r2, %r1, 1;\u{1b}[0m"),
        "{}",
        one.out
    );
    assert_eq!(ptx(&["diff", "missing.ptx", "missing.ptx"]).status, 2);
    assert_eq!(ptx(&["diff", "missing.ptx"]).status, 2);
    let folder = Folder::new("difffolder");
    folder.file("a.ptx", OLD);
    folder.file("b.ptx", OLD);
    let folder = folder.0.to_str().unwrap();
    let one = ptx(&["diff", folder, folder]);
    assert_eq!(
        (one.status, with_slashes(&one.err)),
        (
            2,
            with_slashes(&format!(
                "ptxkit: diff compares two modules: choose one, such as `{folder}/a.ptx`\n"
            ))
        )
    );
}

#[test]
fn renamed_functions() {
    let right = SAME.replace("_Z1kPi", "_Z1lPi");
    let run = run(&["--no-demangle"], &right);
    assert!(
        run.out
            .contains("kernel _Z1lPi (was _Z1kPi, 100 % of the instructions are the same)"),
        "{}",
        run.out
    );
    assert_eq!((run.status, run.err.as_str()), (1, "1 function renamed\n"));
}

#[test]
fn values() {
    let right = SAME.replace("add.s32 %z, %y, 0x1;", "add.s32 %z, 1, %y;");
    assert_eq!(run(&["--stat"], &right).status, 1);
    expect(&run(&["--semantic"], &right), 0, "", "no differences\n");
    assert_eq!(run(&["--semantic", "--stat"], &new()).status, 1);
}

#[test]
fn files_with_errors_are_compared() {
    let right = SAME.replace("add.s32 %z, %y, 0x1;", "add.s32 %z, %y 1;");
    let one = run(&["--stat"], &right);
    assert_eq!(one.status, 1);
    assert!(
        one.err
            .contains("b.ptx: 1 error, which `ptxkit check` shows\n"),
        "{}",
        one.err
    );
}
