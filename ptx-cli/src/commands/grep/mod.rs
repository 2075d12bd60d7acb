//! `ptxkit grep`: instructions by mnemonic and by what they do.

mod condition;
mod glob;

use std::io::Write;

use anyhow::{Result, anyhow};
use ptx_ir::facts::{Facts, ModuleFacts};
use ptx_ir::{LineIndex, Module, Statement};
use serde::Serialize;

use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use crate::render::{SCHEMA, clean};
use condition::Condition;

/// Find instructions by mnemonic and by what they do
///
/// The pattern is matched against the whole mnemonic; `*` stands for anything, `?` for one character.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A condition has comparisons and names of facts, joined by `&&`, `||`, `!` and parentheses:
  bytes, offset, reads, writes             numbers, compared with == != < <= > >=
  space, order, scope, access, function    words, compared with == and !=
  guarded, memory, atomic, volatile, barrier, fence, control, call, side_effects, known

Examples:
  ptxkit grep 'ld.global*' --where 'bytes>=8 && !guarded' kernel.ptx
  ptxkit grep '*' --where 'atomic && space==shared' --json build/

Exit status: 0 something was found, 1 nothing, 2 the command line is wrong or a file cannot be read.")]
pub(crate) struct Args {
    /// What the mnemonic looks like
    pattern: String,
    #[command(flatten)]
    files: Files,
    /// What must be so
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// One JSON object for each instruction
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Hit {
    schema: u32,
    file: String,
    line: u32,
    function: String,
    mnemonic: String,
    text: String,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let condition = match &args.condition {
        Some(text) => Some(Condition::parse(text).map_err(|e| anyhow!("--where: {e}"))?),
        None => None,
    };
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list(&mut status)?;
    let work = |source: Source| {
        let module = ptx_parse::parse_shared(source.bytes, &ptx_ir::Limits::default()).module;
        search(&args.pattern, condition.as_ref(), &source.name, &module)
    };
    let mut found = false;
    input::in_order(&inputs, &mut out, &mut status, work, |out, hits| {
        found |= !hits.is_empty();
        for hit in hits {
            if args.json {
                out.json(&hit)?;
            } else {
                writeln!(out, "{}:{}: {}", hit.file, hit.line, hit.text)?;
            }
        }
        Ok(Status::Ok)
    })?;
    out.flush()?;
    status.worsen(Status::of(!found));
    Ok(status)
}

fn search(pattern: &str, condition: Option<&Condition>, file: &str, module: &Module) -> Vec<Hit> {
    // Every mnemonic is matched once.
    let ids = module.signatures().ids();
    let matching: Vec<bool> = ids
        .map(|id| glob::matches(pattern, module.signature(id).text()))
        .collect();
    let mut hits = Vec::new();
    if !matching.contains(&true) {
        return hits;
    }
    let facts = ModuleFacts::new(module);
    let lines = LineIndex::new(module.source());
    for (id, function, body) in module.definitions() {
        let Some(of) = facts.function(id) else {
            continue;
        };
        let name = module.name(function.name);
        for (stmt, statement) in body.statements() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let Some(sig) = body.inst(inst).map(|i| i.sig) else {
                continue;
            };
            if matching.get(sig.as_u32() as usize) != Some(&true) {
                continue;
            }
            let facts: Facts<'_> = of.inst(inst);
            if condition.is_some_and(|c| !c.holds(&facts, name)) {
                continue;
            }
            let span = body.source_span(stmt);
            let text = String::from_utf8_lossy(span.of(module.source()));
            let words: Vec<&str> = text.split_whitespace().collect();
            hits.push(Hit {
                schema: SCHEMA,
                file: file.to_owned(),
                line: lines.position(span.start).line,
                function: clean(name).into_owned(),
                mnemonic: module.signature(sig).text().to_owned(),
                text: clean(&words.join(" ")).into_owned(),
            });
        }
    }
    hits
}
