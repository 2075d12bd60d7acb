//! `cargo xtask messages`: the kinds of messages of the real assembler, an example of each, and the code that covers it.
//!
//! `conformance/messages.tsv` holds them: family, kind, code (`-` where the checker takes the example), what the
//! assembler said, and the text with `\n` for the ends of lines. `docs/messages.md` has the table that follows from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ptx_ir::Severity;

use crate::corpus::parallel;
use crate::ptxas::{Assemblers, Job};

/// Arguments of `cargo xtask messages`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fail where there is no ptxas
    #[arg(long)]
    require_ptxas: bool,
    /// Write the codes that the checker gives now, and the table
    #[arg(long)]
    write: bool,
    /// Threads
    #[arg(long, default_value_t = 2)]
    jobs: usize,
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read() -> Result<Vec<Kind>> {
    let text = fs::read_to_string(root().join("conformance/messages.tsv"))?;
    let rows = text.strip_prefix(HEADING).context("another heading")?;
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

/// The text of an example; nothing where there is none.
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
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    found.sort_by_key(|d| d.span.start);
    let first = found.iter().find(|d| d.severity == Severity::Error);
    first.map_or("-".into(), |d| d.code.to_string())
}

/// The table of families in the order of the file, the most frequent code first.
fn table(kinds: &[Kind]) -> String {
    let mut families: Vec<(&str, BTreeMap<&str, usize>)> = Vec::new();
    for kind in kinds {
        let index = families.iter().position(|(f, _)| *f == kind.family);
        let index = index.unwrap_or_else(|| {
            families.push((&kind.family, BTreeMap::new()));
            families.len() - 1
        });
        *families[index].1.entry(&kind.code).or_default() += 1;
    }
    let mut out = TABLE.to_owned();
    for (family, codes) in families {
        let mut sorted: Vec<(&str, usize)> = codes.into_iter().collect();
        sorted.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        let all: usize = sorted.iter().map(|(_, n)| n).sum();
        let codes: Vec<String> = sorted
            .iter()
            .map(|(code, n)| format!("{} ({n})", if *code == "-" { "none" } else { code }))
            .collect();
        let _ = writeln!(out, "| {family} | {all} | {} |", codes.join(", "));
    }
    out
}

/// The document with another table in it.
fn with_table(document: &str, table: &str) -> Result<String> {
    let start = document
        .find(TABLE)
        .context("docs/messages.md has no table")?;
    let rest = &document[start..];
    let end = rest.find("\n\n").map_or(rest.len(), |i| i + 1);
    Ok(format!("{}{table}{}", &document[..start], &rest[end..]))
}

/// Where the file, the document and the checker do not agree.
fn complaints(kinds: &[Kind], document: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for kind in kinds {
        let now = code(&example(&kind.text));
        if !kind.text.is_empty() && now != kind.code {
            found.push(format!("{}: was {}, is {now}", kind.kind, kind.code));
        }
        // What is not covered is there with its reason.
        if kind.code == "-" && !document.contains(&format!("| {} |", kind.kind)) {
            found.push(format!("{}: no reason in docs/messages.md", kind.kind));
        }
    }
    let count = format!("{} kinds", kinds.len());
    if with_table(document, &table(kinds))? != document || !document.contains(&count) {
        found.push("docs/messages.md is not what the file says".into());
    }
    Ok(found)
}

pub(crate) fn run(args: &Args) -> Result<()> {
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
        fs::write(root().join("conformance/messages.tsv"), out)?;
        fs::write(path, &document)?;
    }
    let mut wrong = complaints(&kinds, &document)?;
    if let Some(assemblers) = Assemblers::find_or_warn(args.require_ptxas, "MESSAGES")? {
        let answers = parallel::map(args.jobs, &kinds, |kind| -> Result<Option<String>> {
            if kind.text.is_empty() {
                return Ok(None);
            }
            let verdict = assemblers.run(&example(&kind.text), Job::Check)?;
            let says = alike(&verdict.output).contains(&alike(&kind.message));
            Ok((!says).then(|| format!("{}: ptxas says {}", kind.kind, verdict.reason())))
        });
        for answer in answers {
            wrong.extend(answer?);
        }
    }
    wrong.iter().for_each(|w| println!("{w}"));
    println!("{} kinds, {} disagreements", kinds.len(), wrong.len());
    if !wrong.is_empty() {
        bail!("the examples of messages are not what they were");
    }
    Ok(())
}

/// A message without its numbers and names: where values go wrong, the assembler writes what happens to be in memory.
fn alike(message: &str) -> String {
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
        assert_eq!(complaints(&kinds, &document).unwrap(), Vec::<String>::new());
    }
}
