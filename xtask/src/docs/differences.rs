//! `docs/differences.md`: where the tables deliberately differ from the manual or from the assembler.

use std::fmt::Write as _;

use anyhow::Result;
use ptx_isa::{Modifier, RuleKind, describe};

use super::blocks::Block;

const INTRODUCTION: &str = "\
# Where manual, assembler and tables differ

The tables say what NVIDIA's assembler accepts. Where that is not what the manual says, or where a table deliberately
says more or less than the assembler, the block of the instruction has a line `differs` with the reason; a form or a rule
that only the assembler knows is marked `ptxas`. This is the list of both.

";

pub(crate) fn page(blocks: &[Block]) -> Result<String> {
    let mut out = String::from(INTRODUCTION);
    writeln!(
        out,
        "## Reasons\n\n| section | instruction | what differs |\n|---|---|---|"
    )?;
    for block in blocks {
        let mut seen: Vec<&str> = Vec::new();
        for reason in block.forms.iter().flat_map(|f| f.differences()) {
            if !seen.contains(reason) {
                seen.push(reason);
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
        "\n## Forms and rules that only the assembler knows\n\n| section | instruction | form or rule |\n|---|---|---|"
    )?;
    for block in blocks {
        let mut lines: Vec<String> = Vec::new();
        for form in &block.forms {
            if form.is_undocumented() {
                lines.push(format!("`{}`", form.syntax()));
            }
            for rule in form.rules().iter().filter(|r| r.ptxas) {
                let bare = ptx_isa::Rule {
                    ptxas: false,
                    ..*rule
                };
                let line = match rule.kind {
                    RuleKind::RequiresTarget(..) => {
                        format!("needs {}", describe::rule(form, &bare))
                    }
                    _ => describe::rule(form, &bare).to_string(),
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
    let listed = |is: fn(Modifier) -> bool| {
        let words = Modifier::ALL.iter().filter(|&&m| is(m));
        words
            .map(|m| format!("`{m}`"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    writeln!(
        out,
        "\n## Words\n\n- Accepted without effect where no slot takes them: {}\n- Accepted twice where they are accepted once: {}\n- The order of words of different classes is free; the manual knows only one.",
        listed(Modifier::is_ignored),
        listed(Modifier::may_be_doubled)
    )?;
    Ok(out)
}

fn names(block: &Block) -> String {
    let names: Vec<String> = block.names.iter().map(|n| format!("`{n}`")).collect();
    names.join(" ")
}

/// A bar would end the cell.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
