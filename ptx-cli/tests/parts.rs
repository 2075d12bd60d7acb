//! `ptxkit extract` and `ptxkit link`: parts of files, and files put together.
#![allow(missing_docs)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn folder(test: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("parts-{test}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Exit status, standard output, standard error.
fn ptx(folder: &PathBuf, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptxkit"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap();
    (status, text(output.stdout), text(output.stderr))
}

#[test]
fn a_file_in_two_parts_and_together_again() {
    let folder = folder("again");
    let text = format!(
        "{HEAD}// shared\n.func f() {{ ret; }}\n.entry k() {{ call f; ret; }}\n.entry l() {{ call f; ret; }}\n"
    );
    fs::write(folder.join("whole.ptx"), &text).unwrap();
    let run = |arguments: &[&str]| ptx(&folder, arguments, "");
    let (status, out, err) = run(&["extract", "--kernel", "k", "whole.ptx"]);
    let expected = text.replace(".entry l() { call f; ret; }\n", "");
    assert_eq!((status, out, err), (0, expected.clone(), String::new()));
    let (status, out, err) = run(&["extract", "--kernel", "k", "--linkable", "whole.ptx"]);
    assert_eq!(
        (status, out.clone()),
        (0, expected.replace(".func", ".visible .func"))
    );
    assert!(err.contains("--hide f"), "{err}");
    fs::write(folder.join("part.ptx"), out).unwrap();
    let (status, out, _) = run(&["extract", "--kernel", "k", "--rest", "whole.ptx"]);
    assert_eq!(status, 0);
    fs::write(folder.join("rest.ptx"), out).unwrap();
    let (status, out, err) = run(&["link", "--hide", "f", "part.ptx", "rest.ptx"]);
    assert_eq!((status, out), (0, text), "{err}");
    assert_eq!(run(&["link", "-o", "new.ptx", "part.ptx", "rest.ptx"]).0, 0);
    assert!(folder.join("new.ptx").is_file());
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder("wrong");
    let file =
        |name: &str, text: &str| fs::write(folder.join(name), format!("{HEAD}{text}")).unwrap();
    file("a.ptx", ".visible .func f() { ret; }\n");
    file("b.ptx", "\n.visible .func f() { ret; }\n");
    file("bad.ptx", ".entry k() { bogus; }\n");
    let run = |arguments: &[&str]| ptx(&folder, arguments, "");
    let (status, out, err) = run(&["link", "a.ptx", "b.ptx"]);
    let expected = "\
b.ptx:5:16: error[PTX1001]: `f` is defined in two modules
a.ptx:4:16: note: defined first here
  help: make one of them `.weak`, or remove `.visible` if `f` is private
not linked
";
    assert_eq!((status, out.as_str(), err.as_str()), (1, "", expected));
    let (status, out, err) = run(&["link", "a.ptx", "bad.ptx"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("bad.ptx:4:14: error[PTX0104]"), "{err}");
    let (status, out, err) = run(&["extract", "--kernel", "g", "a.ptx"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.contains("unknown function or kernel `g`"), "{err}");
    assert_eq!(run(&["extract", "--kernel", "k", "bad.ptx"]).0, 1);
    assert_eq!(run(&["extract", "--kernel", "f", "a.ptx", "b.ptx"]).0, 2);
    assert_eq!(run(&["extract", "a.ptx"]).0, 2);
}

#[test]
fn standard_input_is_a_file_too() {
    let folder = folder("input");
    let text = format!("{HEAD}.entry k() {{ ret; }}\n.entry l() {{ ret; }}\n");
    let (status, out, _) = ptx(&folder, &["extract", "--kernel", "l", "-"], &text);
    assert_eq!((status, out), (0, format!("{HEAD}.entry l() {{ ret; }}\n")));
    let (status, out, _) = ptx(&folder, &["link", "-"], &text);
    assert_eq!((status, out), (0, text));
}
