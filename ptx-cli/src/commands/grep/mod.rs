//! `ptxkit grep`: finds instructions by mnemonic and by their properties.

mod condition;

use std::io::Write;

use anyhow::{Result, anyhow};
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::{Facts, ModuleFacts};
use ptx_ir::{LineIndex, Module, Statement};
use serde::Serialize;
use wildmatch::WildMatch;

use crate::input::{self, Files, Source};
use crate::output::{Out, Status};
use crate::render::source_lines::{self, JsonFrame};
use crate::render::{SCHEMA, clean};
use condition::Condition;

/// Find instructions by mnemonic and by their properties
///
/// The pattern must match the whole mnemonic; `*` matches any characters, `?` matches one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A condition combines properties with `&&`, `||`, `!` and parentheses:
  bytes, offset, reads, writes             numbers, compared with == != < <= > >=
  space, order, scope, access, function    texts, compared with == and !=
  guarded, memory, atomic, volatile, barrier, fence, control, call, side_effects, known
A property of a memory access holds for an instruction if it holds for one of its accesses.

Examples:
  ptxkit grep 'ld.global*' --where 'bytes>=8 && !guarded' kernel.ptx
  ptxkit grep '*' --where 'atomic && space==shared' --json build/

Exit status: 0 matches were found, 1 no matches, 2 usage error or a file cannot be read.")]
pub(crate) struct Args {
    /// Pattern for the mnemonic
    pattern: String,
    #[command(flatten)]
    files: Files,
    /// Condition that the instruction must satisfy
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Write one JSON object per instruction
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
    source: Vec<JsonFrame>,
    inline_asm: bool,
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
                write!(out, "{}:{}: {}", hit.file, hit.line, hit.text)?;
                let source = source_lines::text(&hit.source);
                match source.is_empty() {
                    true => writeln!(out)?,
                    false => writeln!(out, " // {source}")?,
                }
            }
        }
        Ok(Status::Ok)
    })?;
    out.flush()?;
    status.worsen(Status::of(!found));
    Ok(status)
}

fn search(pattern: &str, condition: Option<&Condition>, file: &str, module: &Module) -> Vec<Hit> {
    // A mnemonic is matched once, however often it occurs.
    let pattern = WildMatch::new(pattern);
    let ids = module.signatures().ids();
    let matching: Vec<bool> = ids
        .map(|id| pattern.matches(module.signature(id).text()))
        .collect();
    let mut hits = Vec::new();
    if !matching.contains(&true) {
        return hits;
    }
    let facts = ModuleFacts::new(module);
    let lines = LineIndex::new(module.source());
    let all_lines = SourceLines::new(module);
    for (id, function, body) in module.definitions() {
        let Some(of) = facts.function(id) else {
            continue;
        };
        let name = module.name(function.name);
        let mut source = None;
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
            let source = source.get_or_insert_with(|| all_lines.function(body));
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
                source: source_lines::frames(source, stmt),
                inline_asm: source.is_inline_asm(stmt),
            });
        }
    }
    hits
}
