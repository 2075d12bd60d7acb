//! Every file of the corpus: what is read is printed back, byte for byte, and canonical text is
//! stable; valid files have no errors, wrong ones have. With `PTXKIT_SAMPLE=all`, this includes the
//! canonical text of the largest files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use test_support::check;
use test_support::corpus::{Entry, entries, own, shared};
use test_support::sample::sample;

/// Checks every entry and lists all that fail.
fn check_all(entries: &[Entry], one: impl Fn(&Entry) -> Result<(), String>) {
    let mut failed = Vec::new();
    for entry in entries {
        match catch_unwind(AssertUnwindSafe(|| one(entry))) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => failed.push(format!("{}: {why}", entry.name)),
            Err(panic) => {
                let why = panic.downcast_ref::<String>().cloned();
                failed.push(format!("{}: {}", entry.name, why.unwrap_or_default()));
            }
        }
    }
    let (n, all) = (failed.len(), entries.len());
    assert!(
        failed.is_empty(),
        "{n} of {all} files fail:\n{}",
        failed.join("\n")
    );
}

/// Larger files are read and printed back, but their canonical text is made only on demand.
const MOST: usize = 300_000;

fn check_file(entry: &Entry) -> Result<(), String> {
    let text = entry.read();
    let parsed = if text.len() <= MOST || sample(2, 2).parts == 1 {
        check::everything(&text)
    } else {
        check::verbatim_is_exact(&text)
    };
    match check::first_error(&parsed) {
        Some(d) if entry.verdict == "ok" => Err(format!("{}: {}", d.code, d.message)),
        _ => Ok(()),
    }
}

fn check_folder(folder: &Path) {
    let entries = entries(folder);
    assert!(!entries.is_empty(), "no corpus at {}", folder.display());
    check_all(&entries, check_file);
}

#[test]
fn own_corpus_parses_and_prints() {
    check_folder(&own());
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn shared_corpus_parses_and_prints() {
    check_folder(&shared());
}

/// The messages of ptxas for mistakes that reading alone has to find. The others are matters of
/// types, targets and rules of single instructions.
const READING: &[&str] = &[
    "syntax error",
    "Parsing error",
    "Unknown symbol",
    "Unknown modifier",
    "Duplicate definition",
    "division by zero",
    "Constant overflow",
    "Constant expression type mismatch",
    "Integer constant expression expected",
    "Unsupported cast",
    "Missing .version",
    "Unknown .target",
];

/// Refused by the grammar of ptxas, but a rule of one directive.
const NOT_READING: &[&str] = &[
    "broken/func_entry_result.ptx",
    "broken/func_maxntid_four.ptx",
];

#[test]
fn broken_files_have_errors() {
    let mut all = entries(&own());
    all.retain(|e| e.name.starts_with("broken/"));
    all.retain(|e| {
        READING.iter().any(|m| e.message.contains(m)) && !NOT_READING.contains(&e.name.as_str())
    });
    assert!(
        all.len() > 80,
        "only {} files that reading has to refuse",
        all.len()
    );
    check_all(&all, |e| {
        let parsed = check::everything(&e.read());
        if parsed.has_errors() {
            Ok(())
        } else {
            Err(format!("no error; {}", e.message))
        }
    });
}
