//! `docs/isa.md`: every instruction and all its forms, by the sections of the manual.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use ptx_isa::{Form, Instruction, PtxVersion, RuleKind, describe};

use super::blocks::Block;
use super::chapters;
use super::facts::Facts;
use super::text::columns;

const INTRODUCTION: &str = "\
# The instructions of PTX

Every instruction of chapter 9.7 of the manual, as the tables of `ptx-isa` know it. `ptx explain` says the same of one
instruction, and of a mnemonic only what concerns it.

In the syntax, braces hold what may be left out, and a word that stands for others is listed below it. A line that does
not hold for all forms of its section ends with the numbers of its forms. `sm_90 and newer` is every target from there
on, `sm_90a` that one alone, `family sm_100f` the targets of that family from there on.

";

pub(crate) fn page(blocks: &[Block]) -> Result<String> {
    let mut out = String::from(INTRODUCTION);
    coverage(&mut out, blocks)?;
    let mut part = 0;
    let mut section = "";
    for block in blocks {
        let own = chapters::part(block.section)
            .with_context(|| format!("section {} is not of chapter 9.7", block.section))?;
        if own != part {
            part = own;
            writeln!(out, "\n## 9.7.{part} {}", chapters::title(part))?;
        }
        // A section may hold several blocks.
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
        "## Coverage\n\nPTX {}; a form is complete when the tables say when it is legal, not only how it is written.\n",
        PtxVersion::CURRENT
    )?;
    writeln!(
        out,
        "| part | | sections | instructions | forms | complete |"
    )?;
    writeln!(out, "|---|---|--:|--:|--:|--:|")?;
    let row = |of: &[&Block]| {
        let sections: BTreeSet<&str> = of.iter().map(|b| b.section).collect();
        let names: BTreeSet<&str> = of.iter().flat_map(|b| b.names.iter().copied()).collect();
        let forms = of.iter().flat_map(|b| &b.forms);
        let complete = forms.clone().filter(|f| f.is_complete()).count();
        (sections.len(), names.len(), forms.count(), complete)
    };
    for part in chapters::parts() {
        let of: Vec<&Block> = blocks
            .iter()
            .filter(|b| chapters::part(b.section) == Some(part))
            .collect();
        let (sections, names, forms, complete) = row(&of);
        let title = chapters::title(part);
        writeln!(
            out,
            "| 9.7.{part} | {title} | {sections} | {names} | {forms} | {complete} |"
        )?;
    }
    let all: Vec<&Block> = blocks.iter().collect();
    let (sections, names, forms, complete) = row(&all);
    writeln!(
        out,
        "| | **all** | {sections} | {names} | {forms} | {complete} |"
    )?;
    writeln!(
        out,
        "\nAn instruction with forms in several parts counts in each."
    )?;
    Ok(())
}

fn block(out: &mut String, block: &Block) -> Result<()> {
    let Some(name) = block.names.first() else {
        return Ok(());
    };
    let many = block.forms.len() > 1;
    let mut syntax = Vec::new();
    for (i, form) in block.forms.iter().enumerate() {
        let mut remark = if many {
            format!("{}", i + 1)
        } else {
            String::new()
        };
        if form.is_undocumented() {
            remark += " only the assembler";
        }
        let blank = if form.syntax().starts_with(['.', '{']) {
            ""
        } else {
            " "
        };
        let line = format!("{name}{blank}{}", form.syntax());
        syntax.push(match remark.trim() {
            "" => vec![line.trim_end().to_string()],
            remark => vec![line, format!("// {remark}")],
        });
    }
    writeln!(out, "```\n{}```\n", columns(&syntax))?;
    if let [_, others @ ..] = &block.names[..]
        && !others.is_empty()
    {
        let others: Vec<String> = others.iter().map(|n| format!("`{n}`")).collect();
        writeln!(out, "The same for {}.\n", others.join(", "))?;
    }
    let mut groups: Vec<(&str, Facts)> = Vec::new();
    for (i, form) in block.forms.iter().enumerate() {
        for (group, line) in lines(form) {
            match groups.iter_mut().find(|(g, _)| *g == group) {
                Some((_, facts)) => facts.add(i, line),
                None => {
                    let mut facts = Facts::default();
                    facts.add(i, line);
                    groups.push((group, facts));
                }
            }
        }
    }
    groups.sort_by_key(|(group, _)| GROUPS.iter().position(|g| g == group));
    let floors = name_floors(&block.names);
    for (group, facts) in &groups {
        let more = if *group == SINCE { &floors[..] } else { &[] };
        let all: Vec<String> = facts
            .lines(block.forms.len())
            .chain(more.iter().cloned())
            .collect();
        match &all[..] {
            [one] => writeln!(out, "- {group}: {one}")?,
            _ => {
                writeln!(out, "- {group}:")?;
                for line in all {
                    writeln!(out, "  - {line}")?;
                }
            }
        }
    }
    tables(out, block)
}

const SINCE: &str = "since";
const GROUPS: &[&str] = &[
    "modifiers",
    "operands",
    "rules",
    SINCE,
    "effects",
    "note",
    "differs",
];

/// What the form says, by group.
fn lines(form: &'static Form) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for slot in form.slots() {
        let words = describe::alternatives(slot).to_string();
        if words != slot.name() {
            let default = slot
                .default()
                .map_or(String::new(), |d| format!(", else `{d}`"));
            all.push((
                "modifiers",
                format!("`{}`: `{words}`{default}", slot.name()),
            ));
        }
    }
    for operand in form.operands() {
        let text = describe::operand(form, operand);
        all.push(("operands", format!("`{}`: {text}", operand.name)));
    }
    for rule in form.rules() {
        let group = match rule.kind {
            RuleKind::Since(..) | RuleKind::Until(..) => SINCE,
            _ => "rules",
        };
        all.push((group, describe::rule(form, rule).to_string()));
    }
    for effect in form.effects() {
        all.push(("effects", describe::effect(form, effect).to_string()));
    }
    all.extend(form.notes().iter().map(|n| ("note", n.to_string())));
    all.extend(
        form.differences()
            .iter()
            .map(|n| ("differs", n.to_string())),
    );
    all
}

/// What single names need beyond their forms.
fn name_floors(names: &[&str]) -> Vec<String> {
    let needs = |name: &&str| {
        let instruction = Instruction::ALL.iter().find(|i| i.name() == *name)?;
        let floors = instruction.floors();
        (!floors.is_empty()).then(|| format!("`{name}`: {}", describe::floors(floors)))
    };
    names.iter().filter_map(needs).collect()
}

/// The tables of legal combinations, each once.
fn tables(out: &mut String, block: &Block) -> Result<()> {
    let mut facts = Facts::default();
    for (i, form) in block.forms.iter().enumerate() {
        for table in form.tables() {
            facts.add(i, super::isa::table(form, table));
        }
    }
    for table in facts.lines(block.forms.len()) {
        let (table, forms) = table.rsplit_once("\n").unwrap_or((&table, ""));
        let forms = forms.trim_start_matches(" — ");
        let of = if forms.is_empty() {
            String::new()
        } else {
            format!(" ({forms})")
        };
        writeln!(out, "\nLegal combinations{of}:\n\n```\n{table}\n```")?;
    }
    Ok(())
}

fn table(form: &'static Form, table: &ptx_isa::Table) -> String {
    let slot = |&i: &u8| form.slot(i.into()).map_or("", |s| s.name()).to_string();
    let operand = |&i: &u8| {
        let operand = form.operands().get(usize::from(i));
        format!("length of {}", operand.map_or("", |o| o.name))
    };
    let mut rows = vec![
        (table.columns.iter().map(slot))
            .chain(table.operands.iter().map(operand))
            .collect::<Vec<_>>(),
    ];
    for row in table.rows {
        let cells = row
            .cells
            .iter()
            .map(|c| describe::cell(form, c).to_string());
        let lengths = row.lengths.iter().map(|l| describe::lengths(l).to_string());
        let mut line: Vec<String> = cells.chain(lengths).collect();
        if !row.floors.is_empty() {
            line.push(describe::floors(row.floors).to_string());
        }
        rows.push(line);
    }
    columns(&rows)
}
