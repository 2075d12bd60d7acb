//! The rules of the gate: limits of metrics, and denied instructions.

use anyhow::Result;
use toml::de::DeTable;

use crate::config::{Entry, Text, Value};
use crate::metrics::Metric;
use crate::query::Query;
use ptx_report::demangle::FunctionPattern;

/// Rules for the functions that a pattern denotes.
#[derive(Default)]
pub(super) struct Section {
    /// `None` for all functions. Limits apply only to kernels then.
    pub(super) function: Option<FunctionPattern>,
    /// The position of the section, for messages.
    pub(super) place: String,
    /// Whether it is accepted that no function has the name.
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

/// The kind of a limit: the largest or the smallest legal value.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Bound {
    Max,
    Min,
}

/// A metric and a value.
#[derive(Clone, Debug)]
pub(super) struct Amount {
    pub(super) metric: Metric,
    /// The name of the metric as it was written, which may be the short one.
    pub(super) written_name: String,
    pub(super) value: u64,
}

/// Instructions that are denied.
pub(super) struct Denied {
    pub(super) query: Query,
    pub(super) text: String,
    pub(super) place: String,
}

impl Amount {
    /// Parses `pressure=64`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected METRIC=VALUE")?;
        let name = name.trim();
        let metric = Metric::parse(name)?;
        let value = metric.amount(value.trim())?;
        Ok(Self {
            metric,
            written_name: name.to_owned(),
            value,
        })
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
    /// Whether both limits are about the same metric and bound, so that the later one counts.
    fn replaces(&self, other: &Self) -> bool {
        let name = |limit: &Self| limit.amount.metric.to_string();
        self.bound == other.bound && name(self) == name(other)
    }
}

/// The limits of several sections, without those that later sections replace.
pub(super) fn limits<'r>(sections: impl Iterator<Item = &'r Section>) -> Vec<&'r Limit> {
    let mut limits: Vec<&Limit> = Vec::new();
    for limit in sections.flat_map(|section| &section.limits) {
        match limits.iter_mut().find(|previous| limit.replaces(previous)) {
            Some(previous) => *previous = limit,
            None => limits.push(limit),
        }
    }
    limits
}

/// The sections of a file: first the rules for all functions, then the rules for functions by name, in the order of the file.
pub(super) fn read<'t>(text: &'t Text, table: &'t DeTable<'t>) -> Result<Vec<Section>> {
    let mut general = Section::default();
    let mut sections = Vec::new();
    for entry in text.section(table, "gate")? {
        entry.expect_one_of(&["max", "min", "deny", "function"])?;
        if entry.key != "function" {
            add(&mut general, &entry)?;
            continue;
        }
        for function in entry.value.table()? {
            let mut section = Section {
                function: Some(FunctionPattern::new(&function.key)),
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
    sections.insert(0, general);
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
            written_name: leaf.key.to_string(),
        },
    })
}
