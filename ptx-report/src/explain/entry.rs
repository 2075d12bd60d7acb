//! The explanation of one word, instruction or code, before it is formatted.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::SCHEMA;

/// One explanation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Entry {
    schema: u32,
    /// The kind of the word.
    pub kind: EntryKind,
    /// The word, instruction or code.
    pub name: String,
    /// The section of the PTX ISA manual.
    pub section: Option<&'static str>,
    /// One sentence.
    pub summary: &'static str,
    /// Single facts, such as the version it requires.
    pub facts: Vec<String>,
    /// Instructions or directives that ptxas accepts.
    pub examples: Vec<Cow<'static, str>>,
    /// Common mistakes, a sentence each.
    pub pitfalls: &'static [&'static str],
    /// The forms of an instruction, the most common one first.
    pub forms: Vec<Details>,
    /// Instructions with a longer name.
    pub see_also: Vec<&'static str>,
    /// The page of a diagnostic.
    pub page: Option<&'static str>,
    /// SMT-LIB functions that define the semantics of the instruction, if requested.
    pub smt: Option<String>,
}

/// The kind of an explained word.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EntryKind {
    /// An instruction.
    Instruction,
    /// A directive.
    Directive,
    /// A special register.
    #[serde(rename = "special register")]
    SpecialRegister,
    /// A type.
    Type,
    /// A state space.
    #[serde(rename = "state space")]
    StateSpace,
    /// A modifier.
    Modifier,
    /// A target.
    Target,
    /// A diagnostic.
    Diagnostic,
}

impl EntryKind {
    /// The name of the kind in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instruction => "instruction",
            Self::Directive => "directive",
            Self::SpecialRegister => "special register",
            Self::Type => "type",
            Self::StateSpace => "state space",
            Self::Modifier => "modifier",
            Self::Target => "target",
            Self::Diagnostic => "diagnostic",
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Entry {
    pub(super) fn new(kind: EntryKind, name: impl Into<String>, summary: &'static str) -> Self {
        Self {
            schema: SCHEMA,
            kind,
            name: name.into(),
            section: None,
            summary,
            facts: Vec::new(),
            examples: Vec::new(),
            pitfalls: &[],
            forms: Vec::new(),
            see_also: Vec::new(),
            page: None,
            smt: None,
        }
    }
}

/// One form of an instruction.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Details {
    /// The name, the modifiers and the operands.
    pub syntax: String,
    /// The section of the PTX ISA manual.
    pub section: &'static str,
    /// Whether ptxas accepts it although the PTX ISA manual does not describe it.
    pub undocumented: bool,
    /// The function of this form, if other forms have a different one.
    pub summary: Option<&'static str>,
    /// The meaning of each modifier.
    pub modifiers: Vec<String>,
    /// Kind and type of each operand.
    pub operands: Vec<String>,
    /// Legality rules beyond kinds and types.
    pub rules: Vec<String>,
    /// Versions and targets.
    pub since: Vec<String>,
    /// The results as functions of the operands.
    pub computes: Vec<String>,
    /// Effects besides writing the destination.
    pub effects: Vec<String>,
    /// Remarks.
    pub notes: Vec<String>,
    /// The differences between the PTX ISA manual and ptxas.
    pub differences: Vec<String>,
    /// The lines of each table of legal combinations.
    pub tables: Vec<Vec<String>>,
}

impl Details {
    /// The lists with their headings, without empty ones.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        let group = |title, lines, importance| Group {
            title,
            lines,
            importance,
        };
        let lists = [
            group("modifiers", &self.modifiers[..], Importance::Main),
            group("operands", &self.operands, Importance::Main),
            group("rules", &self.rules, Importance::High),
            group("since", &self.since, Importance::High),
            group("computes", &self.computes, Importance::Main),
            group("effects", &self.effects, Importance::High),
            group("note", &self.notes, Importance::Low),
            group("differs", &self.differences, Importance::Low),
        ];
        lists
            .into_iter()
            .chain(
                self.tables
                    .iter()
                    .map(move |table| group("legal combinations", table, table_importance(table))),
            )
            .filter(|group| !group.lines.is_empty())
    }

    /// The number of legal combinations in tables that are too long for short descriptions.
    pub(super) fn omitted_combinations(&self) -> usize {
        self.tables
            .iter()
            .filter(|table| table_importance(table) == Importance::Low)
            // The first line is the head.
            .map(|table| table.len().saturating_sub(1))
            .sum()
    }
}

/// A list of a form with its heading.
pub(super) struct Group<'a> {
    pub(super) title: &'static str,
    pub(super) lines: &'a [String],
    pub(super) importance: Importance,
}

fn table_importance(table: &[String]) -> Importance {
    if table.len() <= 4 {
        Importance::High
    } else {
        Importance::Low
    }
}

/// The part of a list that short descriptions contain.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Importance {
    /// Most lines.
    Main,
    /// The first lines.
    High,
    /// No lines.
    Low,
}
