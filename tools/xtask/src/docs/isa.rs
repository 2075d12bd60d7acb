//! `docs/isa`: all instructions and their forms, a page for each part of chapter 9.7 of the PTX ISA manual.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use ptx_isa::internals::describe::{self, Topic};
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

/// The pages by file name: an index, and a page for each part of the chapter.
pub(crate) fn pages(blocks: &[Block]) -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::from([("README.md".to_owned(), index(blocks)?)]);
    for part in sections::parts() {
        let title = sections::part_title(part);
        let mut page = format!(
            "# 9.7.{part} {title}\n\n[All instructions](README.md), and how to read this page.\n"
        );
        let mut last_heading = String::new();
        for block in blocks_of_part(blocks, part) {
            let heading = heading(block);
            if heading != last_heading {
                writeln!(page, "\n## {heading}\n")?;
            }
            last_heading = heading;
            self::block(&mut page, block)?;
        }
        pages.insert(sections::part_page(part), page);
    }
    Ok(pages)
}

fn blocks_of_part(blocks: &[Block], part: usize) -> impl Iterator<Item = &Block> {
    blocks
        .iter()
        .filter(move |block| sections::part_of_section(block.section) == Some(part))
}

/// The section with the names that share its forms.
fn heading(block: &Block) -> String {
    let names: Vec<String> = block.names.iter().map(|n| format!("`{n}`")).collect();
    format!("{} {}", block.section, names.join(" "))
}

/// The fragment of a link to a heading, as GitHub derives it: lower case, with hyphens for spaces and without punctuation.
pub(super) fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| {
        if c == ' ' {
            '-'
        } else {
            c.to_ascii_lowercase()
        }
    })
    .collect()
}

/// The numbers of each part, and an alphabetical list of links to all instructions.
fn index(blocks: &[Block]) -> Result<String> {
    let mut out = String::from(INTRODUCTION);
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
        let (title, page) = (sections::part_title(part), sections::part_page(part));
        let counts = counts(blocks_of_part(blocks, part));
        writeln!(out, "| 9.7.{part} | [{title}]({page}) | {counts} |")?;
    }
    writeln!(out, "| | **all** | {} |", counts(blocks.iter()))?;
    writeln!(
        out,
        "\nAn instruction with forms in several parts is counted in each.\n\n## Alphabetical index\n"
    )?;
    let mut links: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for block in blocks {
        let part = sections::part_of_section(block.section)
            .with_context(|| format!("section {} is not of chapter 9.7", block.section))?;
        let target = format!("{}#{}", sections::part_page(part), anchor(&heading(block)));
        for name in &block.names {
            let link = format!("[{}]({target})", block.section);
            let of_name = links.entry(name).or_default();
            if !of_name.contains(&link) {
                of_name.push(link);
            }
        }
    }
    writeln!(out, "| instruction | sections |\n|---|---|")?;
    for (name, links) in links {
        writeln!(out, "| `{name}` | {} |", links.join(", "))?;
    }
    Ok(out)
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
