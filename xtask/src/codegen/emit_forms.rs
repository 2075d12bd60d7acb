//! Writes the forms, one Rust file a family, and the list of instructions by name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};

use super::dead_defs::Used;
use super::naming::variant;
use super::notation::Family;
use super::output::Output;
use super::resolve::Binder;
use super::resolve_rules;
use super::source::Error;
use super::tables::Tables;
use super::vocabulary::Vocabulary;

/// What the run says at its end.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) opcodes: usize,
    pub(crate) blocks: usize,
    pub(crate) complete: usize,
    pub(crate) forms: usize,
    pub(crate) complete_forms: usize,
    pub(crate) instructions: usize,
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} opcodes, {} instructions, {} blocks ({} with legality), {} forms ({} with legality)",
            self.opcodes,
            self.instructions,
            self.blocks,
            self.complete,
            self.forms,
            self.complete_forms
        )
    }
}

const IMPORTS: &str = "#[allow(unused_imports, reason = \"not every family uses everything\")]\nuse crate::{\nAccess, Cell, Completion, Cond, Control, Effect, Availability, ConvergenceScope, EffectKind, Form, Length, Marks, Modifier, Operand, OperandTest,\nProxy, Role, Row, Rule, RuleKind, ScalarType, Size, Spaces, AsyncPhase, ModifierSet, ModifierSource, Nesting, Table, TypeExpr,\n};\n\n";

pub(crate) fn emit(
    v: &Vocabulary,
    families: &[Family],
    opcodes: &[String],
    out: &mut Output,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut tables = Tables::default();
    let mut words = HashSet::new();
    // Name to the forms it has, as paths of statics.
    let mut instructions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut sections = HashMap::new();
    let mut name_floors = HashMap::new();
    for family in families {
        let mut shared = HashSet::new();
        let mut list = String::new();
        let mut count = 0;
        for block in &family.blocks {
            let mut used = Used::default();
            counts.blocks += 1;
            counts.complete += usize::from(!block.syntax_only);
            if block.forms.is_empty() {
                return Err(Error {
                    pos: block.pos.clone(),
                    message: "the block has no form".into(),
                }
                .into());
            }
            if let Some(first) = sections.insert((&block.names, &block.section), &block.pos) {
                let message = format!(
                    "{} of section {} is at {first} already",
                    block.names.join(" "),
                    block.section
                );
                return Err(Error {
                    pos: block.pos.clone(),
                    message,
                }
                .into());
            }
            for (name, pos, floors) in &block.name_floors {
                if !block.names.contains(name) {
                    return Err(Error {
                        pos: pos.clone(),
                        message: format!("{name} is no name of this block"),
                    }
                    .into());
                }
                name_floors.insert(name.clone(), resolve_rules::floors(v, floors)?);
            }
            for name in &block.names {
                for word in super::read_block::split(name.trim_start_matches(|c| c != '.')) {
                    if !v.modifiers.iter().any(|m| m.text == word) {
                        let message = format!("{word} of the name {name} is not in modifiers.isa");
                        return Err(Error {
                            pos: block.pos.clone(),
                            message,
                        }
                        .into());
                    }
                }
                let paths = instructions.entry(name.clone()).or_default();
                for i in 0..block.forms.len() {
                    paths.push(format!("&super::{}::FORMS[{}]", family.name, count + i));
                }
                words.extend(super::read_block::split(
                    name.trim_start_matches(|c| c != '.'),
                ));
            }
            for form in &block.forms {
                let text = Binder::new(v, &mut tables, &mut used, family, block, form).bind()?;
                writeln!(list, "// {} {}\n{text},", block.names[0], form.text)?;
                count += 1;
                counts.forms += 1;
                counts.complete_forms += usize::from(!block.syntax_only);
            }
            used.check(block)?;
            shared.extend(used.shared);
            words.extend(used.words);
        }
        for def in &family.shared {
            if !shared.contains(&def.name) {
                return Err(Error {
                    pos: def.pos.clone(),
                    message: format!("no form uses {}", def.name),
                }
                .into());
            }
        }
        let mut text = format!(
            "// Generated by `cargo xtask codegen` from ptx-isa/isa/{0}.isa; do not edit.\n//! The forms of the family {0}.\n\n{IMPORTS}",
            family.name
        );
        writeln!(
            text,
            "pub(crate) static FORMS: [Form; {count}] = [\n{list}];"
        )?;
        out.add(&format!("{}.rs", family.name), text);
    }
    for (name, _, pos) in &v.ignored_on {
        if !instructions.contains_key(name) {
            return Err(Error {
                pos: pos.clone(),
                message: format!("there is no instruction {name}"),
            }
            .into());
        }
    }
    let unused: Vec<&str> = v
        .modifiers
        .iter()
        .filter(|m| {
            !m.ignored && !["type", "format", "lane"].contains(&v.classes[m.class].name.as_str())
        })
        .map(|m| m.text.as_str())
        .filter(|m| !words.contains(*m))
        .collect();
    ensure!(
        unused.is_empty(),
        "no form and no name uses the modifiers {}",
        unused.join(" ")
    );
    counts.instructions = instructions.len();
    emit_instructions(v, &instructions, &name_floors, opcodes, out)?;
    out.add("sets.rs", tables.emit(v)?);
    Ok(counts)
}

fn emit_instructions(
    v: &Vocabulary,
    instructions: &BTreeMap<String, Vec<String>>,
    name_floors: &HashMap<String, String>,
    opcodes: &[String],
    out: &mut Output,
) -> Result<()> {
    let mut text = String::from(
        "// Generated by `cargo xtask codegen` from ptx-isa/isa/*.isa; do not edit.\n//! All instructions by name.\n\nuse crate::{Availability, Instruction, Modifier, Opcode};\n\n",
    );
    writeln!(
        text,
        "pub(crate) static INSTRUCTIONS: [Instruction; {}] = [",
        instructions.len()
    )?;
    let mut by_opcode = Vec::new();
    let mut next = 0;
    for opcode in opcodes {
        let start = next;
        let prefix = format!("{opcode}.");
        for (name, forms) in instructions
            .iter()
            .filter(|(n, _)| *n == opcode || n.starts_with(&prefix))
        {
            let mut words = Vec::new();
            for word in
                super::read_block::split(name.strip_prefix(opcode.as_str()).context("a prefix")?)
            {
                ensure!(
                    v.modifiers.iter().any(|m| m.text == word),
                    "{name}: {word} is not in modifiers.isa"
                );
                words.push(format!("Modifier::{}", variant(&word)));
            }
            writeln!(
                text,
                "Instruction {{ name: {name:?}, opcode: Opcode::{}, words: &[{}], floors: {}, forms: &[{}] }},",
                variant(opcode),
                words.join(", "),
                name_floors.get(name).map_or("&[]", String::as_str),
                forms.join(", ")
            )?;
            next += 1;
        }
        by_opcode.push(format!("({start}, {next})"));
    }
    ensure!(next == instructions.len(), "an instruction has no opcode");
    writeln!(
        text,
        "];\n\n/// First and last of the instructions of each opcode."
    )?;
    writeln!(
        text,
        "pub(crate) static BY_OPCODE: [(u16, u16); {}] = [{}];",
        by_opcode.len(),
        by_opcode.join(", ")
    )?;
    out.add("instructions.rs", text);
    Ok(())
}
