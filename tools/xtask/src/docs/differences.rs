//! `docs/differences.md`: deliberate differences between the tables, the PTX ISA manual and ptxas.

use std::fmt::Write as _;

use anyhow::Result;
use ptx_isa::Modifier;
use ptx_isa::internals::{RuleKind, describe};

use super::sections::Block;

const INTRODUCTION: &str = "\
# Differences between the PTX ISA manual, ptxas and the tables

The tables describe the instructions that ptxas accepts. If ptxas differs from the PTX ISA manual, or if a table deliberately accepts more
or less than ptxas, the block of the instruction has a `differs` line. Forms and rules that are implemented by ptxas but
not documented in the PTX ISA manual are marked `ptxas`. This page lists both.

";

pub(crate) fn page(blocks: &[Block]) -> Result<String> {
    let mut out = String::from(INTRODUCTION);
    writeln!(
        out,
        "## Differences\n\n| section | instruction | difference |\n|---|---|---|"
    )?;
    for block in blocks {
        let mut reasons: Vec<&str> = Vec::new();
        for reason in block.forms.iter().flat_map(|f| f.differences()) {
            if !reasons.contains(reason) {
                reasons.push(reason);
                writeln!(
                    out,
                    "| {} | {} | {} |",
                    block.section,
                    names(block),
                    escape(reason)
                )?;
            }
        }
    }
    writeln!(
        out,
        "\n## Forms and rules that the PTX ISA manual does not document\n\n| section | instruction | form or rule |\n|---|---|---|"
    )?;
    for block in blocks {
        let mut lines: Vec<String> = Vec::new();
        for form in &block.forms {
            if form.is_undocumented() {
                lines.push(format!("`{}`", form.syntax()));
            }
            for rule in form.rules().iter().filter(|r| r.is_undocumented()) {
                let text = describe::rule_kind(form, rule.kind());
                let line = match rule.kind() {
                    RuleKind::RequiresTarget(..) => format!("requires {text}"),
                    _ => text.to_string(),
                };
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        for line in lines {
            writeln!(
                out,
                "| {} | {} | {} |",
                block.section,
                names(block),
                escape(&line)
            )?;
        }
    }

    writeln!(
        out,
        "\n## Modifiers\n\n- ptxas accepts these without effect on forms that have no slot for them: {}\n- ptxas accepts these twice: {}\n- ptxas accepts modifiers of different classes in any order; the PTX ISA manual documents one order.",
        modifiers(Modifier::is_ignored),
        modifiers(Modifier::may_be_doubled)
    )?;
    out.push_str(include_str!("leniencies.md"));
    out.push_str(include_str!("releases.md"));
    Ok(out)
}

/// The modifiers that pass a test.
fn modifiers(test: fn(Modifier) -> bool) -> String {
    let words: Vec<String> = Modifier::ALL
        .iter()
        .filter(|&&modifier| test(modifier))
        .map(|modifier| format!("`{modifier}`"))
        .collect();
    words.join(" ")
}

fn names(block: &Block) -> String {
    let names: Vec<String> = block.names.iter().map(|n| format!("`{n}`")).collect();
    names.join(" ")
}

/// Escapes `|`, which would end the cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
