//! `debug parse`, `debug roundtrip` and `debug tokens`.

use crate::support::{BAD, Folder, GOOD, expect, objects, ptx, with_input};

#[test]
fn roundtrip_reports_each_file() {
    let folder = Folder::new("roundtrip");
    let good = folder.file("good.ptx", GOOD);
    let bad = folder.file("bad.ptx", BAD);
    let run = ptx(&["debug", "roundtrip", &good, &bad]);
    let out = format!("{good}: ok\n{bad}: ok (verbatim; 1 error)\n2 passed, 0 failed\n");
    expect(&run, 0, &out, "");
}

#[test]
fn parse_summarizes_a_file() {
    let line =
        "<stdin>: PTX 8.0, sm_90, 1 function, 13 statements, 5 instructions, 0 errors, 0 warnings";
    let run = with_input(&["debug", "parse", "-"], GOOD.as_bytes());
    expect(&run, 0, &format!("{line}\n"), "");
    let run = with_input(&["debug", "parse", "-"], b"");
    let line = "<stdin>: no version, no target, 0 functions, 0 statements, 0 instructions, 1 error, 0 warnings\n";
    expect(&run, 1, line, "");
}

#[test]
fn parse_reports_time() {
    let folder = Folder::new("timing");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["debug", "parse", "--timing", &file, &file]);
    assert_eq!(run.status, 0);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines.len(), 3);
    for (line, bytes) in lines.iter().zip([1, 1, 2]) {
        let bytes = bytes * GOOD.len();
        assert!(line.contains(&format!(" {bytes} bytes, 0.0")), "{line}");
        assert!(line.ends_with(" MB/s"), "{line}");
    }
    assert!(lines[2].starts_with("total: "));
}

#[test]
fn tokens_are_listed() {
    let run = with_input(&["debug", "tokens", "-"], b"a\xff\n\"x\"");
    let out = "0..1 1:1 ident \"a\"\n1..2 1:2 unknown \"\\xff\"\n2..3 1:3 whitespace \"\\n\"\n\
        3..6 2:1 string \"\\\"x\\\"\"\n";
    expect(&run, 0, out, "");
    let run = with_input(&["debug", "tokens", "--json", "-"], b"a\xff\n\"x\"");
    let found = objects(&run.out);
    assert_eq!(found.len(), 4);
    assert_eq!(found[1]["kind"], "unknown");
    assert_eq!(found[1]["text"], "\u{fffd}");
    assert_eq!(found[2]["trivia"], true);
    assert_eq!(found[3]["span"]["column"], 1);
}
