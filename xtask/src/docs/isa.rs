//! `docs/isa.md`: all instructions and their forms, by sections of the PTX ISA manual.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use ptx_isa::describe::{self, Topic};
use ptx_isa::{Form, Instruction, PtxVersion};

use super::blocks::Block;
use super::chapters;
use super::facts::Facts;
use super::text::columns;

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
        let own = chapters::part(block.section)
            .with_context(|| format!("section {} is not of chapter 9.7", block.section))?;
        if own != part {
            part = own;
            writeln!(out, "\n## 9.7.{part} {}", chapters::title(part))?;
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
    let counts = |of: &[&Block]| {
        let sections: BTreeSet<&str> = of.iter().map(|b| b.section).collect();
        let names: BTreeSet<&str> = of.iter().flat_map(|b| b.names.iter().copied()).collect();
        let forms: usize = of.iter().map(|b| b.forms.len()).sum();
        format!("{} | {} | {forms}", sections.len(), names.len())
    };
    for part in chapters::parts() {
        let of: Vec<&Block> = blocks
            .iter()
            .filter(|b| chapters::part(b.section) == Some(part))
            .collect();
        writeln!(
            out,
            "| 9.7.{part} | {} | {} |",
            chapters::title(part),
            counts(&of)
        )?;
    }
    let all: Vec<&Block> = blocks.iter().collect();
    writeln!(out, "| | **all** | {} |", counts(&all))?;
    writeln!(
        out,
        "\nAn instruction with forms in several parts is counted in each."
    )?;
    Ok(())
}

fn block(out: &mut String, block: &Block) -> Result<()> {
    let Some(name) = block.names.first() else {
        return Ok(());
    };
    summaries(out, block)?;
    let many = block.forms.len() > 1;
    let mut syntax = Vec::new();
    for (i, form) in block.forms.iter().enumerate() {
        let mut remark = if many {
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
        writeln!(out, "Also for {}.\n", others.join(", "))?;
    }
    let mut groups: Vec<(Topic, Facts)> = Vec::new();
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
    groups.sort_by_key(|&(topic, _)| topic);
    let floors = name_floors(&block.names);
    for (group, facts) in &groups {
        let more = if *group == Topic::Since {
            &floors[..]
        } else {
            &[]
        };
        let all: Vec<String> = facts
            .lines(block.forms.len())
            .chain(more.iter().cloned())
            .collect();
        match &all[..] {
            [one] => writeln!(out, "- {}: {one}", group.title())?,
            _ => {
                writeln!(out, "- {}:", group.title())?;
                for line in all {
                    writeln!(out, "  - {line}")?;
                }
            }
        }
    }
    tables(out, block)
}

/// What the instructions do, each sentence once.
fn summaries(out: &mut String, block: &Block) -> Result<()> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut add = |sentence, name| match all.iter_mut().find(|(s, _)| *s == sentence) {
        Some((_, names)) => names.push(name),
        None => all.push((sentence, vec![name])),
    };
    match block
        .forms
        .iter()
        .map(|f| f.summary())
        .collect::<Option<BTreeSet<_>>>()
    {
        Some(own) => own.iter().for_each(|s| add(s, "")),
        None => {
            let named = |name: &&str| Instruction::ALL.iter().find(|i| i.name() == *name);
            let described = block.names.iter().filter_map(named);
            described.for_each(|i| add(i.summary(), i.name()));
        }
    }
    if let [(sentence, _)] = &all[..] {
        return Ok(writeln!(out, "{sentence}\n")?);
    }
    for (sentence, names) in &all {
        writeln!(out, "- `{}`: {sentence}", names.join("`, `"))?;
    }
    Ok(writeln!(out)?)
}

/// The statements about a form, by topic.
fn lines(form: &'static Form) -> Vec<(Topic, String)> {
    let mut all = Vec::new();
    let kept = describe::each_fact(form, None, &mut |topic, line| {
        all.push((topic, line.to_string()));
        Ok(())
    });
    debug_assert!(kept.is_ok(), "collecting lines cannot fail");
    all
}

/// Requirements of single names beyond those of their forms.
fn name_floors(names: &[&str]) -> Vec<String> {
    let needs = |name: &&str| {
        let instruction = Instruction::ALL.iter().find(|i| i.name() == *name)?;
        let floors = instruction.since();
        (!floors.is_empty()).then(|| format!("`{name}`: {}", describe::floors(floors)))
    };
    names.iter().filter_map(needs).collect()
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
        let of = if forms.is_empty() {
            String::new()
        } else {
            format!(" ({forms})")
        };
        writeln!(out, "\nLegal combinations{of}:\n\n```\n{table}\n```")?;
    }
    Ok(())
}
