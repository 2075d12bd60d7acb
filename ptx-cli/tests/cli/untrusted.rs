//! Files that others chose: what they say does not control a terminal, and where they lead is not followed.

#[cfg(unix)]
use std::{fs, process::Command};

use crate::support::{BAD, Folder, GOOD, ptx, with_input};

/// Sets the title of a terminal; an override of the direction of writing.
const ESCAPES: &str = "\u{1b}]0;x\u{7}\u{202e}";

#[track_caller]
fn is_harmless(text: &str) {
    let hidden = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(hidden), "{text:?}");
}

#[test]
fn annotations_and_texts_have_no_control_characters() {
    let source = format!("{BAD}.pragma \"{ESCAPES}\";\n.{ESCAPES} x;\n");
    for format in ["github", "short", "human"] {
        let run = with_input(&["check", "--format", format, "-"], source.as_bytes());
        assert_eq!(run.status, 1);
        assert!(run.out.contains("PTX"), "{}", run.out);
        is_harmless(&run.out);
        is_harmless(&run.err);
    }
}

#[test]
fn values_of_the_configuration_are_escaped() {
    let folder = Folder::new("untrusted-config");
    let file = folder.file("a.ptx", GOOD);
    for value in [
        "target = \"\\u001b]0;x\\u0007\"",
        "warn = \"\\u202Ex\"",
        "\"\\u001b\" = 1",
    ] {
        let config = folder.file("ptxkit.toml", format!("[check]\n{value}\n"));
        let run = ptx(&["check", "--config", &config, &file]);
        assert_eq!(run.status, 2, "{}", run.err);
        is_harmless(&run.err);
    }
}

/// An escape has a backslash, which is also a separator of directories.
#[test]
fn names_of_sources_are_divided_before_they_are_escaped() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"/x/\u{1b}]0;t\u{7}a.cu\"\n\
        .entry k()\n{\n.loc 1 7 0\nret;\n}\n";
    let run = with_input(&["cfg", "--format", "svg", "-"], text.as_bytes());
    assert_eq!(run.status, 0, "{}", run.err);
    is_harmless(&run.out);
    assert!(run.out.contains("\\u{1b}]0;t\\u{7}a.cu:7"), "{}", run.out);
}

/// A baseline in the configuration of a untrusted repository might have no end.
#[cfg(unix)]
#[test]
fn a_configured_baseline_is_a_regular_file() {
    let folder = Folder::new("untrusted-baseline");
    let file = folder.file("a.ptx", GOOD);
    for command in ["check", "lint"] {
        let config = folder.file(
            "ptxkit.toml",
            format!("[{command}]\nbaseline = \"/dev/zero\"\n"),
        );
        let run = ptx(&[command, "--config", &config, &file]);
        assert_eq!(run.status, 2);
        assert!(
            run.err.contains("ptxkit.toml:2:12: not a regular file"),
            "{}",
            run.err
        );
    }
    // A regular file is read; one that does not exist is an error.
    let config = folder.file("ptxkit.toml", "[check]\nbaseline = \"known.json\"\n");
    assert_eq!(ptx(&["check", "--config", &config, &file]).status, 2);
    folder.file("known.json", "");
    assert_eq!(ptx(&["check", "--config", &config, &file]).status, 0);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("untrusted-link");
    let outside = folder.file("outside.ptx", GOOD);
    let inside = folder.file("in/a.ptx", GOOD);
    symlink(&outside, folder.0.join("in/b.ptx")).unwrap();
    symlink(&inside, folder.0.join("in/c.ptx")).unwrap();
    let directory = folder.0.join("in");
    let run = ptx(&["fmt", "--write", directory.to_str().unwrap()]);
    assert_eq!(run.status, 2);
    let why = "in/b.ptx: a link out of the directory is not followed with `--write`; name the file itself\n";
    assert!(run.err.ends_with(why), "{}", run.err);
    assert_eq!(fs::read_to_string(&outside).unwrap(), GOOD);
    assert_ne!(fs::read_to_string(&inside).unwrap(), GOOD);
    assert!(folder.0.join("in/c.ptx").is_symlink());
    // A link that is named is followed, and stays.
    let link = folder.0.join("in/b.ptx");
    assert_eq!(ptx(&["fmt", "--write", link.to_str().unwrap()]).status, 0);
    assert_ne!(fs::read_to_string(&outside).unwrap(), GOOD);
    assert!(link.is_symlink());
}

/// A file is replaced as a whole: it keeps its permissions, and nothing is left beside it.
#[cfg(unix)]
#[test]
fn files_are_replaced_with_their_permissions() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let folder = Folder::new("untrusted-replace");
    let file = folder.file("a.ptx", GOOD);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&file).unwrap();
    assert_eq!(ptx(&["fmt", "--write", &file]).status, 0);
    let after = fs::metadata(&file).unwrap();
    assert_eq!(after.mode() & 0o777, 0o640);
    // Another file has the name now: who has the old one open reads all of it.
    assert_ne!(before.ino(), after.ino());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    // A pipe is written to.
    let shell = format!(
        "mkfifo {0}/p && cat {0}/p > {0}/copy & while [ ! -p {0}/p ]; do :; done; {1} fmt --output {0}/p {0}/a.ptx && wait",
        folder.0.display(),
        env!("CARGO_BIN_EXE_ptxkit")
    );
    let status = Command::new("sh").args(["-c", &shell]).status().unwrap();
    assert!(status.success());
    assert_eq!(
        fs::read(folder.0.join("copy")).unwrap(),
        fs::read(&file).unwrap()
    );
    assert!(!fs::metadata(folder.0.join("p")).unwrap().is_file());
}

#[test]
fn a_bad_frame_is_explained() {
    let run = with_input(&["lsp"], b"Content-Length: -5\r\n\r\n");
    assert_eq!(run.status, 1);
    let expected = "ptxkit lsp: expected a length of at most 4294967296 bytes after `Content-Length:`, found `-5`\n\
        ptxkit lsp: the client closed the stream without the notification `exit`\n";
    assert_eq!(run.err, expected);
}
