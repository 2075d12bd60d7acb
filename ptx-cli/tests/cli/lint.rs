//! `lint`: formats, selection of lints, exit status.

use crate::support::{Folder, expect, objects, ptx, with_input};

const TEXT: &str = "\
.version 8.0
.target sm_80
.address_size 64

.entry k(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1];
    mul.lo.u32 %r2, %r1, 3;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

const SHORT: &str =
    "<stdin>:11:5: warning[PTX1512]: `%r2` is written here but never read [dead-code, definite]\n";

fn lint(options: &[&str], text: &str) -> crate::support::Run {
    let fixed = ["lint", "--format", "short", "--no-config"];
    let all: Vec<&str> = fixed.iter().chain(options).copied().chain(["-"]).collect();
    with_input(&all, text.as_bytes())
}

#[test]
fn a_definite_finding_is_a_warning_that_fails() {
    expect(&lint(&[], TEXT), 1, SHORT, "");
    let clean = TEXT.replace("    mul.lo.u32 %r2, %r1, 3;\n", "");
    expect(&lint(&[], &clean), 0, "", "");
    // It is not a matter of `check`.
    let run = with_input(
        &["check", "--warn", "all", "--format", "short", "-"],
        TEXT.as_bytes(),
    );
    expect(&run, 0, "", "");
}

#[test]
fn options_and_comments_select_lints() {
    for options in [
        &["--only", "dead-code"][..],
        &["--only", "PTX1512"],
        &["--allow", "all", "--warn", "dead-code"],
        &["--certainty", "definite"],
    ] {
        expect(&lint(options, TEXT), 1, SHORT, "");
    }
    expect(&lint(&["--allow", "dead-code"], TEXT), 0, "", "");
    let british = "uninitialized-register".replace("ized", "ised");
    expect(&lint(&["--only", &british], TEXT), 0, "", "");
    let denied = SHORT.replace("warning", "error");
    expect(&lint(&["--deny", "dead-code"], TEXT), 1, &denied, "");
    let comment = TEXT.replace("%r1, 3;", "%r1, 3; // ptxkit: allow(dead-code)");
    expect(&lint(&[], &comment), 0, "", "");
    let run = lint(&["--only", "dead-cod"], TEXT);
    assert_eq!(run.status, 2);
    assert!(
        run.err
            .contains("unknown lint dead-cod; did you mean `dead-code`?"),
        "{}",
        run.err
    );
}

#[test]
fn a_file_has_defaults() {
    let folder = Folder::new("lint_config");
    let file = folder.file("k.ptx", TEXT);
    let with = |text: &str| {
        let config = folder.file("ptxkit.toml", text);
        ptx(&["lint", "--format", "short", "--config", &config, &file])
    };
    let found = with("[lint]\nonly = \"dead-code\"\ncertainty = \"definite\"\n");
    assert_eq!((found.status, found.out.lines().count()), (1, 1));
    expect(&with("[lint]\nallow = [\"dead-code\"]\n"), 0, "", "");
    assert!(
        with("[lint]\ndeny = \"dead-code\"\n")
            .out
            .contains("error[PTX1512]")
    );
    let run = with("[lint]\ncertainty = \"sure\"\n");
    assert_eq!(run.status, 2);
    assert!(
        run.err
            .contains("unknown certainty sure; expected possible or definite"),
        "{}",
        run.err
    );
}

#[test]
fn json_and_sarif_have_the_lint_and_its_certainty() {
    let run = with_input(&["lint", "--format", "json", "-"], TEXT.as_bytes());
    let found = objects(&run.out);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["code"], "PTX1512");
    assert_eq!(found[0]["lint"], "dead-code");
    assert_eq!(found[0]["certainty"], "definite");
    assert!(found[0].get("degree").is_none());
    assert_eq!(found[0]["function"], "k");
    let run = with_input(&["lint", "--format", "sarif", "-"], TEXT.as_bytes());
    let log: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let properties = &log["runs"][0]["results"][0]["properties"];
    assert_eq!(properties["lint"], "dead-code");
    assert_eq!(properties["certainty"], "definite");
}

#[test]
fn a_baseline_hides_what_is_known() {
    let folder = Folder::new("lint_baseline");
    let (file, baseline) = (folder.file("k.ptx", TEXT), folder.0.join("known"));
    let baseline = baseline.to_str().unwrap();
    let run = |option: &str| {
        ptx(&[
            "lint",
            "--format",
            "short",
            "--no-config",
            option,
            baseline,
            &file,
        ])
    };
    let written = format!("1 finding written to {baseline}\n");
    expect(&run("--write-baseline"), 0, "", &written);
    expect(&run("--baseline"), 0, "", "");
}

#[test]
fn the_rest_of_a_file_with_errors_is_linted() {
    let text = TEXT.replace("    ret;\n", "    bogus.u32 1;\n    ret;\n");
    let run = lint(&["--max-errors", "9"], &text);
    assert_eq!(run.status, 1);
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", run.out);
    assert!(
        lines[0].starts_with("<stdin>:11:5: warning[PTX1512]"),
        "{}",
        run.out
    );
    assert!(
        lines[1].starts_with("<stdin>:13:5: error[PTX0104]"),
        "{}",
        run.out
    );
}

#[test]
fn lints_are_listed() {
    let run = ptx(&["lint", "--list"]);
    assert_eq!(run.status, 0);
    assert!(
        run.out
            .lines()
            .any(|l| l.starts_with("dead-code") && l.contains("PTX1512")),
        "{}",
        run.out
    );
    assert_eq!(ptx(&["lint"]).status, 2);
    let run = ptx(&["check", "--warn", "dead-code", "-"]);
    assert_eq!(run.status, 2);
    assert!(
        run.err
            .contains("`dead-code` is a lint, which `ptxkit lint` reports"),
        "{}",
        run.err
    );
}

/// Two instances of a template, and a loop that was unrolled: the code of one source line has one finding.
#[test]
fn the_code_of_a_source_line_has_one_finding() {
    let kernel = |name: &str| {
        format!(
            "\
.entry {name}(.param .u64 p)
{{
    .reg .b32 %r<7>;
    .reg .b64 %rd;
    ld.param.u64 %rd, [p];
    .loc 1 8 5
    add.s32 %r2, %r1, 3;
    .loc 1 8 9
    add.s32 %r4, %r3, 3;
    .loc 1 21 5
    add.s32 %r6, %r5, %r2;
    st.global.v2.b32 [%rd], {{%r4, %r6}};
    ret;
}}
"
        )
    };
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let text = [head, &kernel("k"), &kernel("l"), ".file 1 \"a.cu\"\n"].concat();
    let run = with_input(
        &["lint", "--no-config", "--format", "json", "-"],
        text.as_bytes(),
    );
    let all = objects(&run.out);
    let found: Vec<_> = all.iter().filter(|o| o.get("lint").is_some()).collect();
    let lines = |value: &serde_json::Value| {
        let places = value["repeats"].as_array().into_iter().flatten();
        places.map(|p| p["line"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(found.len(), 2, "{}", run.out);
    assert_eq!(found[0]["span"]["line"], 10);
    assert_eq!(lines(found[0]), [Some(12), Some(24), Some(26)]);
    assert_eq!(
        found[0]["repeats"][0]["message"],
        "`%r3` is read here before any write to it"
    );
    assert_eq!(found[1]["span"]["line"], 14);
    assert_eq!(lines(found[1]), [Some(28)]);
    // Without source lines, each is a separate finding.
    let plain = text.replace("    .loc", "    // .loc");
    let run = lint(&["--only", "uninitialized-register"], &plain);
    assert_eq!(run.out.lines().count(), 6, "{}", run.out);
}
