//! `cargo oracle messages`: the kinds of messages of ptxas, an example of each, and the diagnostic code that covers it.
//!
//! `tools/conformance/messages.tsv` contains them: family, kind, code (`-` if the verifier accepts the example), message of ptxas, and the text
//! with `\n` for line ends. `docs/messages.md` has a table generated from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ptx_ir::Severity;
use rayon::prelude::*;

use crate::assembler::{Assemblers, Job};
use crate::shared::Shared;

/// Arguments of `cargo oracle messages`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the current codes and the table
    #[arg(long)]
    pub(crate) write: bool,
}

const HEADING: &str = "family\tkind\tcode\tmessage\ttext\n";
const TABLE: &str = "| messages about | kinds | codes |\n|---|---|---|\n";

/// A kind of messages.
struct Kind {
    family: String,
    kind: String,
    code: String,
    message: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read() -> Result<Vec<Kind>> {
    let text = fs::read_to_string(root().join("tools/conformance/messages.tsv"))?;
    let rows = text.strip_prefix(HEADING).context("unexpected heading")?;
    rows.lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [family, kind, code, message, text] = cells[..] else {
                bail!("a row of {} cells: {line}", cells.len());
            };
            Ok(Kind {
                family: family.into(),
                kind: kind.into(),
                code: code.into(),
                message: message.into(),
                text: text.into(),
            })
        })
        .collect()
}

/// The text of an example; empty if there is none.
fn example(escaped: &str) -> Vec<u8> {
    let mut out = String::with_capacity(escaped.len());
    let mut chars = escaped.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    out.into_bytes()
}

/// The code of the first error.
fn code(text: &[u8]) -> String {
    let parsed = ptx_parse::parse(text);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .min_by_key(|d| d.span.start)
        .map_or("-".into(), |d| d.code.to_string())
}

/// The table of families in the order of the file, the most frequent code first.
fn table(kinds: &[Kind]) -> String {
    let mut families: Vec<(&str, BTreeMap<&str, usize>)> = Vec::new();
    for kind in kinds {
        let index = match families.iter().position(|(f, _)| *f == kind.family) {
            Some(index) => index,
            None => {
                families.push((&kind.family, BTreeMap::new()));
                families.len() - 1
            }
        };
        *families[index].1.entry(&kind.code).or_default() += 1;
    }
    let mut out = TABLE.to_owned();
    for (family, codes) in families {
        let mut sorted: Vec<(&str, usize)> = codes.into_iter().collect();
        sorted.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let total: usize = sorted.iter().map(|(_, n)| n).sum();
        let codes: Vec<String> = sorted
            .iter()
            .map(|(code, n)| format!("{} ({n})", if *code == "-" { "none" } else { code }))
            .collect();
        let _ = writeln!(out, "| {family} | {total} | {} |", codes.join(", "));
    }
    out
}

/// Replaces the table of the document.
fn with_table(document: &str, table: &str) -> Result<String> {
    let start = document
        .find(TABLE)
        .context("docs/messages.md has no table")?;
    let (head, old_table) = document.split_at(start);
    let tail = old_table
        .find("\n\n")
        .map_or("", |end| &old_table[end + 1..]);
    Ok(format!("{head}{table}{tail}"))
}

/// Disagreements between the file, the document and the verifier.
fn disagreements(kinds: &[Kind], document: &str) -> Result<Vec<String>> {
    let mut disagreements = Vec::new();
    for kind in kinds {
        let current = code(&example(&kind.text));
        if !kind.text.is_empty() && current != kind.code {
            disagreements.push(format!("{}: was {}, is {current}", kind.kind, kind.code));
        }
        // The document lists the kinds that are not covered, with the reason.
        if kind.code == "-" && !document.contains(&format!("| {} |", kind.kind)) {
            disagreements.push(format!("{}: no reason in docs/messages.md", kind.kind));
        }
    }
    let count = format!("{} kinds", kinds.len());
    if with_table(document, &table(kinds))? != document || !document.contains(&count) {
        disagreements.push("docs/messages.md is out of date".into());
    }
    Ok(disagreements)
}

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let mut kinds = read()?;
    let path = root().join("docs/messages.md");
    let mut document = fs::read_to_string(&path)?;
    if args.write {
        let mut out = HEADING.to_owned();
        for kind in &mut kinds {
            if !kind.text.is_empty() {
                kind.code = code(&example(&kind.text));
            }
            let cells = [
                &kind.family,
                &kind.kind,
                &kind.code,
                &kind.message,
                &kind.text,
            ];
            out += &format!("{}\n", cells.map(String::as_str).join("\t"));
        }
        document = with_table(&document, &table(&kinds))?;
        fs::write(root().join("tools/conformance/messages.tsv"), out)?;
        fs::write(path, &document)?;
    }
    let mut disagreements = disagreements(&kinds, &document)?;
    if let Some(assemblers) = shared.assemblers("MESSAGES")? {
        let changes: Vec<Option<String>> = kinds
            .par_iter()
            .map(|kind| changed_message(assemblers, kind))
            .collect::<Result<_>>()?;
        disagreements.extend(changes.into_iter().flatten());
    }
    for disagreement in &disagreements {
        println!("{disagreement}");
    }
    println!(
        "{} kinds, {} disagreements",
        kinds.len(),
        disagreements.len()
    );
    if !disagreements.is_empty() {
        bail!("the examples of messages changed");
    }
    Ok(())
}

/// The disagreement if ptxas prints another message for the example.
fn changed_message(assemblers: &Assemblers, kind: &Kind) -> Result<Option<String>> {
    if kind.text.is_empty() {
        return Ok(None);
    }
    let verdict = assemblers.run(&example(&kind.text), Job::Check)?;
    if normalized(&verdict.output).contains(&normalized(&kind.message)) {
        return Ok(None);
    }
    let (kind, message) = (&kind.kind, verdict.reason());
    Ok(Some(format!("{kind}: the message of ptxas is {message}")))
}

/// A message without its numbers and names: ptxas sometimes prints uninitialized memory for values.
fn normalized(message: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in message.chars() {
        match c {
            '\'' => quoted = !quoted,
            '0'..='9' => {}
            _ if quoted => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_message_has_its_code() {
        let document = fs::read_to_string(root().join("docs/messages.md")).unwrap();
        let kinds = read().unwrap();
        assert!(kinds.len() > 500);
        assert_eq!(
            disagreements(&kinds, &document).unwrap(),
            Vec::<String>::new()
        );
    }
}
