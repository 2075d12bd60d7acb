//! Runs the program.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A module without mistakes that is not in the canonical style.
pub(crate) const GOOD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\n\
    // doubles its parameter\n.visible .entry k(.param .u64 p)\n{\n   .reg .b32 %r<4>;\n   .reg .b64 %rd<3>;\n\
    \x20  .shared .align 4 .f32 tile[4][0x8];\n\n   ld.param.u64 %rd1, [p];\n   ld.global.u32 %r1, [%rd1];\n\
    again:\n   add.s32 %r2, %r1, %r1;\n   st.global.u32 [%rd1], %r2;\n   ret;\n}\n";

/// A module with one mistake, in line 6.
pub(crate) const BAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n    bogus.u32 1;\n    ret;\n}\n";

/// A separate folder for a test, empty at first.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// A text with the separators of paths that all systems but Windows use.
pub(crate) fn with_slashes(text: &str) -> String {
    text.replace('\\', "/")
}

/// The message of the system for a file that does not exist.
pub(crate) fn not_found() -> String {
    fs::metadata("missing.ptx").unwrap_err().to_string()
}

/// What a run of the program gave.
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    /// Standard error without the line about success.
    pub(crate) err: String,
    /// The lines about success on standard error.
    pub(crate) success: String,
}

/// Whether a line of standard error says that a command succeeded.
fn is_success(line: &str) -> bool {
    if line.starts_with("ptxkit: ") || line.contains(".a: ") {
        return false;
    }
    [
        ", no errors",
        ", no findings",
        ", all limits are met",
        ", all formatted",
        ": nothing to change",
        " unchanged",
    ]
    .iter()
    .any(|end| line.ends_with(end))
        || [
            " warp steps in ",
            " written to ",
            " linked",
            " files written",
            "1 file written",
            " became PTX ",
        ]
        .iter()
        .any(|part| line.contains(part) && !line.contains("warning") && !line.contains("finding"))
}

pub(crate) fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn ptx<S: AsRef<OsStr>>(arguments: &[S]) -> Run {
    with_input(arguments, b"")
}

pub(crate) fn with_input<S: AsRef<OsStr>>(arguments: &[S], input: &[u8]) -> Run {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may end without reading.
    let _ = child.stdin.take().unwrap().write_all(input);
    Run::new(child.wait_with_output().unwrap())
}

impl Run {
    pub(crate) fn new(output: Output) -> Self {
        let text = String::from_utf8(output.stderr).unwrap();
        let (success, err): (Vec<&str>, Vec<&str>) = text
            .split_inclusive('\n')
            .partition(|line| is_success(line.trim_end()));
        Self {
            status: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: err.concat(),
            success: success.concat(),
        }
    }
}

/// Asserts all three parts of a run.
#[track_caller]
pub(crate) fn expect(run: &Run, status: i32, out: &str, err: &str) {
    assert_eq!(run.out, out, "standard output");
    assert_eq!(run.err, err, "standard error");
    assert_eq!(run.status, status, "exit status");
}

/// The functions of a file that `dump --analysis` writes, each with its instructions in `insts`. Instructions have their `line` and
/// `mnemonic` instead of span, modifiers and operands.
pub(crate) fn analyzed(file: &str) -> Vec<Value> {
    let run = ptx(&["dump", "--analysis", file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let mut functions: Vec<Value> = Vec::new();
    for mut record in objects(&run.out) {
        record["line"] = record["span"]["line"].clone();
        if record["record"] == "function" && record["defined"] == true {
            record["insts"] = Value::Array(Vec::new());
            functions.push(record);
        } else if record.get("block").is_some() {
            let modifiers = record["modifiers"].as_array().into_iter().flatten();
            let words = std::iter::once(&record["opcode"]).chain(modifiers);
            let words: Vec<&str> = words.filter_map(Value::as_str).collect();
            let mnemonic = (!words.is_empty()).then(|| words.join("."));
            record["mnemonic"] = mnemonic.into();
            let keys = [
                "schema",
                "record",
                "function",
                "span",
                "opcode",
                "modifiers",
                "operands",
            ];
            if let Value::Object(fields) = &mut record {
                fields.retain(|key, _| !keys.contains(&key.as_str()));
            }
            let function = functions.last_mut().and_then(|f| f["insts"].as_array_mut());
            function.unwrap().push(record);
        }
    }
    functions
}

/// The JSON objects in an output, one per line.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.filter_map(|l| serde_json::from_str(l).ok()).collect()
}
