//! Every file of the corpus: what is read is printed back, byte for byte, and canonical text is
//! stable; valid files have no errors, wrong ones have.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use common::check;
use common::corpus::{Entry, entries, larger, own};

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

fn check_file(entry: &Entry) -> Result<(), String> {
    let parsed = check::everything(&entry.read());
    match check::first_error(&parsed) {
        Some(d) if entry.verdict == "ok" => Err(format!("{}: {}", d.code, d.message)),
        _ => Ok(()),
    }
}

fn check_folder(folder: &Path) {
    check_all(&entries(folder), check_file);
}

#[test]
fn own_corpus_reads_and_prints() {
    let folder = own();
    assert!(
        !entries(&folder).is_empty(),
        "no corpus at {}",
        folder.display()
    );
    check_folder(&folder);
}

#[test]
fn larger_corpus_reads_and_prints() {
    let folder = larger();
    if !folder.is_dir() {
        println!("skipped: no larger corpus beside the repository");
        return;
    }
    check_folder(&folder);
}

#[test]
fn broken_files_have_errors() {
    let mut all = entries(&own());
    all.retain(|e| e.name.starts_with("broken/"));
    assert!(!all.is_empty(), "no broken files");
    check_all(&all, |e| {
        let parsed = ptx_parse::parse(&e.read());
        if parsed.has_errors() {
            Ok(())
        } else {
            Err(format!("no error; {}", e.message))
        }
    });
}
