//! The explanation of one word, instruction or code, before it is formatted.

use std::borrow::Cow;

use serde::Serialize;

use crate::SCHEMA;

/// One explanation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    schema: u32,
    /// `instruction`, `directive`, `special register`, `type`, `state space`, `modifier` or `diagnostic`.
    pub kind: &'static str,
    pub name: String,
    /// The section of the PTX ISA manual.
    pub section: Option<&'static str>,
    pub summary: &'static str,
    /// Single facts, such as the version it requires.
    pub facts: Vec<String>,
    pub examples: Vec<Cow<'static, str>>,
    pub pitfalls: &'static [&'static str],
    pub forms: Vec<Details>,
    /// Instructions with a longer name.
    pub see_also: Vec<&'static str>,
    /// The page of a diagnostic.
    pub page: Option<&'static str>,
}

impl Entry {
    pub(super) fn new(kind: &'static str, name: impl Into<String>, summary: &'static str) -> Self {
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
        }
    }
}

/// One form of an instruction.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Details {
    /// The name, the modifiers and the operands.
    pub syntax: String,
    pub section: &'static str,
    pub undocumented: bool,
    /// What it does, if other forms do something else.
    pub summary: Option<&'static str>,
    pub modifiers: Vec<String>,
    pub operands: Vec<String>,
    pub rules: Vec<String>,
    pub since: Vec<String>,
    pub effects: Vec<String>,
    pub notes: Vec<String>,
    pub differences: Vec<String>,
    /// The lines of each table of legal combinations.
    pub tables: Vec<Vec<String>>,
}

impl Details {
    /// The lists with their headings, and whether they are a part of short descriptions.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&'static str, &[String], Importance)> {
        use Importance::{High, Low, Main};
        let lists = [
            ("modifiers", &self.modifiers, Main),
            ("operands", &self.operands, Main),
            ("rules", &self.rules, High),
            ("since", &self.since, High),
            ("effects", &self.effects, High),
            ("note", &self.notes, Low),
            ("differs", &self.differences, Low),
        ];
        let lists = lists
            .into_iter()
            .map(|(title, list, of)| (title, &list[..], of));
        let tables = self.tables.iter();
        let tables = tables.map(|t| ("legal combinations", &t[..], importance(t)));
        lists.chain(tables).filter(|(_, list, _)| !list.is_empty())
    }

    /// The number of legal combinations in tables that are too long for short descriptions.
    pub(super) fn rows(&self) -> usize {
        let long = |t: &&Vec<String>| importance(t) == Importance::Low;
        // The first line is the head.
        let rows = |t: &Vec<String>| t.len().saturating_sub(1);
        self.tables.iter().filter(long).map(rows).sum()
    }
}

fn importance(table: &[String]) -> Importance {
    if table.len() <= 4 {
        Importance::High
    } else {
        Importance::Low
    }
}

/// How much of a list is a part of short descriptions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Importance {
    /// Most of it.
    Main,
    /// The beginning.
    High,
    /// Nothing.
    Low,
}
