//! What functions must satisfy: limits of metrics, and instructions that are denied.

use anyhow::Result;
use toml::de::DeTable;

use crate::config::{Entry, Text, Value};
use crate::metrics::Metric;
use crate::query::Query;
use ptx_report::demangle::Wanted;

/// Rules for the functions that a pattern denotes.
#[derive(Default)]
pub(super) struct Section {
    /// `None` for all: limits are about kernels then.
    pub(super) function: Option<Wanted>,
    /// Where it is, for messages.
    pub(super) place: String,
    /// Whether there may be no such function.
    pub(super) optional: bool,
    pub(super) limits: Vec<Limit>,
    pub(super) denied: Vec<Denied>,
}

/// A limit of a metric.
pub(super) struct Limit {
    pub(super) bound: Bound,
    pub(super) amount: Amount,
    pub(super) place: String,
}

/// Which values a limit excludes.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Bound {
    Max,
    Min,
}

/// A metric and a value.
#[derive(Clone, Debug)]
pub(super) struct Amount {
    pub(super) metric: Metric,
    pub(super) value: u64,
}

/// Instructions that are denied.
pub(super) struct Denied {
    pub(super) query: Query,
    pub(super) text: String,
    pub(super) place: String,
}

impl Amount {
    /// Of `pressure=64`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected METRIC=VALUE")?;
        let metric = Metric::parse(name.trim())?;
        let value = metric.amount(value.trim())?;
        Ok(Self { metric, value })
    }
}

impl Denied {
    pub(super) fn parse(text: &str, place: String) -> Result<Self, String> {
        Ok(Self {
            query: Query::rule(text)?,
            text: text.to_owned(),
            place,
        })
    }
}

impl Limit {
    /// Whether both are about the same, so that the later one counts.
    fn replaces(&self, other: &Self) -> bool {
        let name = |limit: &Self| limit.amount.metric.to_string();
        self.bound == other.bound && name(self) == name(other)
    }
}

/// The limits of several sections that count.
pub(super) fn limits<'r>(sections: impl Iterator<Item = &'r Section>) -> Vec<&'r Limit> {
    let mut found: Vec<&Limit> = Vec::new();
    for limit in sections.flat_map(|section| &section.limits) {
        match found.iter_mut().find(|old| limit.replaces(old)) {
            Some(old) => *old = limit,
            None => found.push(limit),
        }
    }
    found
}

/// The sections of a file: that about all functions, then those about some, in the order of the file.
pub(super) fn read<'t>(text: &'t Text, table: &'t DeTable<'t>) -> Result<Vec<Section>> {
    let mut all = Section::default();
    let mut sections = Vec::new();
    for entry in text.section(table, "gate")? {
        entry.expect_one_of(&["max", "min", "deny", "function"])?;
        if entry.key != "function" {
            add(&mut all, &entry)?;
            continue;
        }
        for function in entry.value.table()? {
            let mut section = Section {
                function: Some(Wanted::new(&function.key)),
                place: function.place(),
                ..Section::default()
            };
            for entry in function.value.table()? {
                entry.expect_one_of(&["max", "min", "deny", "optional"])?;
                match &*entry.key {
                    "optional" => section.optional = entry.value.flag()?,
                    _ => add(&mut section, &entry)?,
                }
            }
            sections.push(section);
        }
    }
    sections.insert(0, all);
    Ok(sections)
}

/// Adds limits or denied instructions to a section.
fn add(section: &mut Section, entry: &Entry<'_>) -> Result<()> {
    let bound = match &*entry.key {
        "max" => Bound::Max,
        "min" => Bound::Min,
        _ => {
            for value in entry.value.list() {
                let denied = Denied::parse(value.text()?, value.place());
                section.denied.push(denied.map_err(|e| value.error(&e))?);
            }
            return Ok(());
        }
    };
    for leaf in entry.value.leaves()? {
        section.limits.push(limit(bound, &leaf)?);
    }
    Ok(())
}

fn limit(bound: Bound, leaf: &Entry<'_>) -> Result<Limit> {
    let metric = Metric::parse(&leaf.key).map_err(|error| leaf.error(&error))?;
    let value: Value<'_> = leaf.value;
    let amount = metric.amount(&value.amount()?);
    Ok(Limit {
        bound,
        place: leaf.place(),
        amount: Amount {
            value: amount.map_err(|error| value.error(&error))?,
            metric,
        },
    })
}
