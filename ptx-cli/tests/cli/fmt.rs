//! `fmt`.

use std::fs;

use crate::support::{BAD, Folder, GOOD, expect, ptx, with_input};

#[test]
fn fmt_writes_to_standard_output() {
    let folder = Folder::new("fmt");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["fmt", &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(run.out.contains("// doubles its parameter"));
    assert!(
        run.out.contains("\n\tadd.s32 %r2, %r1, %r1;\n"),
        "{}",
        run.out
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), GOOD);
    let again = with_input(&["fmt", "-"], run.out.as_bytes());
    assert_eq!(again.out, run.out);
    let spaces = ptx(&["fmt", "--indent", "4", &file]);
    assert!(spaces.out.contains("\n    add.s32 "), "{}", spaces.out);
}

#[test]
fn fmt_check_lists_unformatted_files() {
    let folder = Folder::new("fmt-check");
    let ugly = folder.file("ugly.ptx", GOOD);
    let pretty = folder.file("pretty.ptx", ptx(&["fmt", &ugly]).out);
    expect(&ptx(&["fmt", "--check", &pretty]), 0, "", "");
    let run = ptx(&["fmt", "--check", &ugly, &pretty]);
    expect(&run, 1, &format!("{ugly}\n"), "");
}

#[test]
fn fmt_write_formats_in_place() {
    let folder = Folder::new("fmt-write");
    let ugly = folder.file("ugly.ptx", GOOD);
    let pretty = ptx(&["fmt", &ugly]).out;
    expect(&ptx(&["fmt", "--write", &ugly]), 0, "", "");
    assert_eq!(fs::read_to_string(&ugly).unwrap(), pretty);

    // A file that is in the style already is not touched.
    let before = fs::metadata(&ugly).unwrap().modified().unwrap();
    expect(&ptx(&["fmt", "--write", &ugly]), 0, "", "");
    assert_eq!(fs::metadata(&ugly).unwrap().modified().unwrap(), before);
}

#[test]
fn fmt_keeps_the_line_ending_of_a_file() {
    let folder = Folder::new("fmt-crlf");
    let lf = folder.file("lf.ptx", GOOD);
    let formatted = ptx(&["fmt", &lf]).out;
    assert!(!formatted.contains('\r'));
    let crlf = folder.file("crlf.ptx", GOOD.replace('\n', "\r\n"));
    let run = ptx(&["fmt", "--write", &crlf]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let written = fs::read_to_string(&crlf).unwrap();
    assert_eq!(written, formatted.replace('\n', "\r\n"));
    expect(&ptx(&["fmt", "--check", &crlf]), 0, "", "");
}

#[test]
fn fmt_does_not_write_files_with_errors() {
    let folder = Folder::new("fmt-errors");
    let bad = folder.file("bad.ptx", BAD);
    let line = format!(
        "{bad}:6:5: error[PTX0104]: expected an instruction, found unknown opcode `bogus`\n\
         {bad}: not written: it has errors\n"
    );
    for arguments in [
        &["fmt", &bad][..],
        &["fmt", "--check", &bad],
        &["fmt", "--write", &bad],
    ] {
        expect(&ptx(arguments), 1, "", &line);
        assert_eq!(fs::read_to_string(&bad).unwrap(), BAD);
    }
}
