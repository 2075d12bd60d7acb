//! `check`: warnings that comments turn off, and findings that a baseline records.

use std::fs;

use crate::support::{Folder, expect, objects, ptx, with_input};

const TEXT: &str = "\
.version 8.5
.target sm_90
.address_size 64

.func f()
{
    .reg .b32 %a;
    bra.uni.uni done;
    done:
    ret;
}

.entry k()
{
    .reg .b32 x, y;
    ret;
}
";

/// The codes and lines that `check` reports.
fn reported(text: &str) -> Vec<(String, u64)> {
    let run = with_input(
        &["check", "--warn", "unused", "--format", "json", "-"],
        text.as_bytes(),
    );
    let found = objects(&run.out);
    let place =
        |d: &serde_json::Value| Some((d["code"].as_str()?.to_owned(), d["span"]["line"].as_u64()?));
    found.iter().filter_map(place).collect()
}

/// The codes that stay in [`TEXT`] with a comment before or after a part of it.
fn with_comment(part: &str, text: &str) -> Vec<String> {
    assert_eq!(TEXT.matches(part).count(), 1, "{part}");
    let found = reported(&TEXT.replacen(part, text, 1));
    found.into_iter().map(|(code, _)| code).collect()
}

#[test]
fn a_comment_turns_warnings_off() {
    let all = ["PTX0703", "PTX0701", "PTX0516", "PTX0701", "PTX0701"];
    assert_eq!(with_comment(".func", ".func"), all);
    let cases = [
        // At the end of a line: that line.
        (
            "x, y;",
            "x, y; // ptxkit: allow(unused-register)",
            &["PTX0703", "PTX0701", "PTX0516"][..],
        ),
        // On a separate line: the statement, declaration or function after it.
        (
            "bra.uni",
            "// ptxkit: allow(PTX0516)\n    bra.uni",
            &["PTX0703", "PTX0701", "PTX0701", "PTX0701"],
        ),
        (
            ".func",
            "// ptxkit: allow(unused)\n// another comment\n.func",
            &["PTX0516", "PTX0701", "PTX0701"],
        ),
        (
            ".func",
            "// ptxkit: allow(unused-register, ignored-modifier)\n.func",
            &["PTX0703", "PTX0701", "PTX0701"],
        ),
        (
            ".entry",
            "//ptxkit:allow(all)\n.entry",
            &["PTX0703", "PTX0701", "PTX0516"],
        ),
        // Before the first token: the whole file.
        (".version", "// ptxkit: allow(all)\n.version", &[]),
        (
            ".version",
            "// ptxkit: allow(PTX0701)\n.version",
            &["PTX0703", "PTX0516"],
        ),
        // Other kinds of warnings stay, and strings are not comments.
        ("x, y;", "x, y; // ptxkit: allow(link)", &all),
        (".entry", ".file 1 \"// ptxkit: allow(all)\"\n.entry", &all),
    ];
    for (part, text, left) in cases {
        assert_eq!(with_comment(part, text), left, "{text}");
    }
}

#[test]
fn errors_stay_whatever_comments_say() {
    let wrong = TEXT
        .replace("bra.uni.uni", "brra")
        .replace(".version", "// ptxkit: allow(all)\n.version");
    assert_eq!(reported(&wrong).len(), 1);
    assert_eq!(reported(&wrong)[0], ("PTX0104".to_owned(), 9));
}

#[test]
fn mistakes_in_comments_are_reported() {
    for (comment, start) in [
        (
            "allow(unsed)",
            "unknown warning unsed; expected all, unused, ",
        ),
        ("allow(PTX0104)", "PTX0104 is an error, not a warning; "),
        (
            "alow(all)",
            "expected `ptxkit: allow(KIND)`, found `ptxkit: alow(all)`",
        ),
    ] {
        let text = format!("// ptxkit: {comment}\n{TEXT}");
        let run = with_input(&["check", "-"], text.as_bytes());
        let start = format!("<stdin>:1: {start}");
        assert!(run.err.starts_with(&start), "{}", run.err);
    }
}

#[test]
fn findings_of_a_baseline_are_not_reported_again() {
    let folder = Folder::new("baseline");
    let (file, baseline) = (folder.file("a.ptx", TEXT), folder.0.join("known"));
    let baseline = baseline.to_str().unwrap();
    let check = |option: &str| {
        ptx(&[
            "check", "--warn", "unused", "--format", "short", option, baseline, &file,
        ])
    };

    let run = check("--write-baseline");
    assert_eq!((run.status, run.out.as_str()), (0, ""));
    assert_eq!(run.err, format!("5 findings written to {baseline}\n"));
    let records = objects(&fs::read_to_string(baseline).unwrap());
    assert_eq!(records.len(), 5);
    assert_eq!(records[1]["code"], "PTX0516");
    assert_eq!(records[1]["function"], "f");
    assert_eq!(records[1]["count"], 1);

    // Lines may move, and what is new is reported.
    expect(&check("--baseline"), 0, "", "");
    folder.file(
        "a.ptx",
        TEXT.replace("x, y;", "x, y, z;")
            .replace(".version", "\n\n.version"),
    );
    let run = check("--baseline");
    assert_eq!(run.out.lines().count(), 1, "{}", run.out);
    assert!(
        run.out
            .ends_with(":17:21: warning[PTX0701]: unused register `z` [unused-register]\n"),
        "{}",
        run.out
    );

    // A record is about one finding.
    folder.file(
        "a.ptx",
        TEXT.replace(
            "bra.uni.uni done;",
            "bra.uni.uni done; { bra.uni.uni end; end: }",
        ),
    );
    let left = check("--baseline").out.lines().count();
    assert_eq!(left, 1);

    let broken = folder.file("known", "{}\n");
    let run = check("--baseline");
    assert_eq!(run.status, 2);
    assert!(
        run.err
            .starts_with(&format!("ptxkit: {broken}:1: not a record of a finding")),
        "{}",
        run.err
    );
}
