//! `docs/isa.md`: all instructions and their forms, by sections of the PTX ISA manual.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use ptx_isa::describe::{self, Topic};
use ptx_isa::{Form, Instruction, PtxVersion};

use super::columns;
use super::sections::{self, Block};

const INTRODUCTION: &str = "\
# The instructions of PTX

All instructions of chapter 9.7 of the PTX ISA manual, generated from the tables of `ptx-isa`. `ptxkit explain` prints the
same text for one instruction; for a mnemonic with modifiers, it prints only the parts that apply.

In the syntax, braces enclose optional parts, and a placeholder such as `.type` is defined in the list below it. A line
that does not apply to all forms of its section ends with the numbers of the forms it applies to. `sm_90 and newer` means
sm_90 and all newer targets, `sm_90a` means only sm_90a, and `the sm_100f family` means sm_100f and the newer targets of its family.

";

pub(crate) fn page(blocks: &[Block]) -> Result<String> {
    let mut out = String::from(INTRODUCTION);
    coverage(&mut out, blocks)?;
    let mut part = 0;
    let mut section = "";
    for block in blocks {
        let block_part = sections::part_of_section(block.section)
            .with_context(|| format!("section {} is not of chapter 9.7", block.section))?;
        if block_part != part {
            part = block_part;
            writeln!(out, "\n## 9.7.{part} {}", sections::part_title(part))?;
        }
        // A section may have several blocks.
        if block.section != section || !block.names.is_empty() {
            section = block.section;
            let names: Vec<String> = block.names.iter().map(|n| format!("`{n}`")).collect();
            writeln!(out, "\n### {section} {}\n", names.join(" "))?;
        }
        self::block(&mut out, block)?;
    }
    Ok(out)
}

fn coverage(out: &mut String, blocks: &[Block]) -> Result<()> {
    writeln!(
        out,
        "## Contents\n\nThe instructions of PTX {}.\n",
        PtxVersion::CURRENT
    )?;
    writeln!(
        out,
        "| part | title | sections | instructions | forms |\n|---|---|--:|--:|--:|"
    )?;
    for part in sections::parts() {
        let part_blocks = blocks
            .iter()
            .filter(|b| sections::part_of_section(b.section) == Some(part));
        writeln!(
            out,
            "| 9.7.{part} | {} | {} |",
            sections::part_title(part),
            counts(part_blocks)
        )?;
    }
    writeln!(out, "| | **all** | {} |", counts(blocks.iter()))?;
    writeln!(
        out,
        "\nAn instruction with forms in several parts is counted in each."
    )?;
    Ok(())
}

/// The numbers of sections, instructions and forms of some blocks, as cells of a table.
fn counts<'a>(blocks: impl Iterator<Item = &'a Block>) -> String {
    let mut sections = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut forms = 0;
    for block in blocks {
        sections.insert(block.section);
        names.extend(block.names.iter().copied());
        forms += block.forms.len();
    }
    format!("{} | {} | {forms}", sections.len(), names.len())
}

fn block(out: &mut String, block: &Block) -> Result<()> {
    let Some(name) = block.names.first() else {
        return Ok(());
    };
    summaries(out, block)?;
    writeln!(out, "```\n{}```\n", columns(&syntax_lines(block, name)))?;
    if let [_, aliases @ ..] = &block.names[..]
        && !aliases.is_empty()
    {
        let aliases: Vec<String> = aliases.iter().map(|n| format!("`{n}`")).collect();
        writeln!(out, "Also for {}.\n", aliases.join(", "))?;
    }
    let mut groups: BTreeMap<Topic, Facts> = BTreeMap::new();
    for (i, form) in block.forms.iter().enumerate() {
        for (topic, line) in lines(form) {
            groups.entry(topic).or_default().add(i, line);
        }
    }
    for (topic, facts) in &groups {
        let mut lines: Vec<String> = facts.lines(block.forms.len()).collect();
        if *topic == Topic::Since {
            lines.extend(name_floors(&block.names));
        }
        match &lines[..] {
            [line] => writeln!(out, "- {}: {line}", topic.title())?,
            _ => {
                writeln!(out, "- {}:", topic.title())?;
                for line in lines {
                    writeln!(out, "  - {line}")?;
                }
            }
        }
    }
    tables(out, block)
}

/// The syntax of each form, and a remark if it has one.
fn syntax_lines(block: &Block, name: &str) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for (i, form) in block.forms.iter().enumerate() {
        let mut remark = if block.forms.len() > 1 {
            format!("{}", i + 1)
        } else {
            String::new()
        };
        if form.is_undocumented() {
            remark += " ptxas only";
        }
        let space = if form.syntax().starts_with(['.', '{']) {
            ""
        } else {
            " "
        };
        let line = format!("{name}{space}{}", form.syntax());
        lines.push(match remark.trim() {
            "" => vec![line.trim_end().to_string()],
            remark => vec![line, format!("// {remark}")],
        });
    }
    lines
}

/// Writes the summaries of the forms or of the instructions, each sentence once.
fn summaries(out: &mut String, block: &Block) -> Result<()> {
    let form_summaries: Option<BTreeSet<&str>> = block.forms.iter().map(|f| f.summary()).collect();
    let mut sentences: Vec<(&str, Vec<&str>)> = Vec::new();
    if let Some(summaries) = form_summaries {
        sentences.extend(summaries.into_iter().map(|summary| (summary, vec![""])));
    } else {
        for instruction in block.names.iter().filter_map(|name| find_instruction(name)) {
            let (summary, name) = (instruction.summary(), instruction.name());
            match sentences.iter_mut().find(|(s, _)| *s == summary) {
                Some((_, names)) => names.push(name),
                None => sentences.push((summary, vec![name])),
            }
        }
    }
    if let [(sentence, _)] = &sentences[..] {
        return Ok(writeln!(out, "{sentence}\n")?);
    }
    for (sentence, names) in &sentences {
        writeln!(out, "- `{}`: {sentence}", names.join("`, `"))?;
    }
    Ok(writeln!(out)?)
}

fn find_instruction(name: &str) -> Option<&'static Instruction> {
    Instruction::ALL.iter().find(|i| i.name() == name)
}

/// The statements about a form, by topic.
fn lines(form: &'static Form) -> Vec<(Topic, String)> {
    let mut lines = Vec::new();
    let result = describe::each_fact(form, None, &mut |topic, line| {
        lines.push((topic, line.to_string()));
        Ok(())
    });
    debug_assert!(result.is_ok(), "collecting lines cannot fail");
    lines
}

/// The requirements of single names, besides those of their forms.
fn name_floors(names: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for name in names {
        let floors = find_instruction(name).map_or(&[][..], |i| i.since());
        if !floors.is_empty() {
            lines.push(format!("`{name}`: {}", describe::floors(floors)));
        }
    }
    lines
}

/// The tables of legal combinations, each once.
fn tables(out: &mut String, block: &Block) -> Result<()> {
    let mut facts = Facts::default();
    for (i, form) in block.forms.iter().enumerate() {
        for table in form.tables() {
            facts.add(i, describe::table(form, table, None).to_string());
        }
    }
    for table in facts.lines(block.forms.len()) {
        let (table, forms) = table.rsplit_once("\n").unwrap_or((&table, ""));
        let forms = forms.trim_start_matches(" — ");
        let scope = if forms.is_empty() {
            String::new()
        } else {
            format!(" ({forms})")
        };
        writeln!(out, "\nLegal combinations{scope}:\n\n```\n{table}\n```")?;
    }
    Ok(())
}

/// The facts about the forms of a block in the order in which they were added, each with the indices of its forms.
#[derive(Default)]
struct Facts {
    lines: Vec<(String, Vec<usize>)>,
}

impl Facts {
    fn add(&mut self, form: usize, line: String) {
        match self.lines.iter_mut().find(|(l, _)| *l == line) {
            Some((_, forms)) if forms.last() == Some(&form) => {}
            Some((_, forms)) => forms.push(form),
            None => self.lines.push((line, vec![form])),
        }
    }

    /// The lines. A fact that is not true of all `form_count` forms is followed by the numbers of its forms, counted from one.
    fn lines(&self, form_count: usize) -> impl Iterator<Item = String> {
        self.lines.iter().map(move |(line, forms)| {
            if forms.len() == form_count {
                return line.clone();
            }
            let numbers: Vec<String> = forms.iter().map(|n| (n + 1).to_string()).collect();
            let word = if forms.len() == 1 { "form" } else { "forms" };
            format!("{line} — {word} {}", numbers.join(", "))
        })
    }
}
