//! Conditions on instructions, such as `bytes>=8 && !guarded`: their fields, grammar and evaluation.
//!
//! [`fields`] is the only list of fields: conditions, error messages, the help and `docs/queries.md` are made from it.

mod fields;
mod help;
mod parse;
mod paths;
mod rule;
mod site;
mod values;

use ptx_ir::{EntityId, Statement};
use ptx_report::operand_text;
use wildmatch::WildMatch;

use fields::{Comparison, Direction, Field};
use values::Value;

pub(crate) use help::fields_text;
pub(crate) use parse::{similar, unknown_word};
pub(crate) use site::{InFunction, Site, visit};

/// The operands in the text of an instruction.
pub(crate) fn operands(text: &[u8]) -> Vec<String> {
    let mut operands = Vec::new();
    operand_text::each(text, &mut |operand| operands.push(operand.to_owned()));
    operands
}

/// A condition on an instruction.
pub(crate) struct Query {
    condition: Condition,
    /// The conditions of `after` and `before`, inner ones first.
    paths: Vec<(Direction, Condition)>,
}

enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    /// Whether a value of a field passes a test. With an index, only the values of that operand are tested.
    Field(&'static Field, Option<usize>, Test),
    /// Whether one memory access satisfies the condition.
    Access(Box<Condition>),
    /// Whether every path contains an instruction that satisfies the condition of this index.
    Path(usize),
}

/// A test of the values of a field.
enum Test {
    Flag(bool),
    Number(Comparison, i64),
    /// A comparison of the number of values.
    Count(Comparison, i64),
    /// Whether the value matches the pattern, or, with `false`, does not match it.
    Text(WildMatch, bool),
}

impl Query {
    /// Parses a condition. The error message states what was expected, and where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        parse::parse(text)
    }

    /// Prepares for the instructions of a function: examines its paths for `after` and `before`.
    pub(crate) fn enter(&self, function: &mut InFunction<'_>) {
        function.paths.clear();
        for (direction, condition) in &self.paths {
            let statements = paths::statements_on_paths(function, *direction, |stmt| {
                let Some(Statement::Inst(inst)) = function.body.statement(stmt) else {
                    return false;
                };
                let site = function.site(stmt, inst);
                site.facts.guard().is_none() && condition.holds(&site)
            });
            function.paths.push(statements);
        }
    }

    /// Whether the condition is true of an instruction of the entered function.
    pub(crate) fn holds(&self, site: &Site<'_, '_>) -> bool {
        self.condition.holds(site)
    }
}

impl Condition {
    fn holds(&self, site: &Site<'_, '_>) -> bool {
        match self {
            Self::Any(conditions) => conditions.iter().any(|c| c.holds(site)),
            Self::All(conditions) => conditions.iter().all(|c| c.holds(site)),
            Self::Not(inner) => !inner.holds(site),
            Self::Field(field, index, test) => test.passes(field, *index, site),
            Self::Access(inner) => site
                .accesses()
                .any(|access| inner.holds(&site.with_access(access))),
            Self::Path(index) => {
                let statements = site.function.paths.get(*index);
                statements.and_then(|s| s.get(site.stmt.index())) == Some(&true)
            }
        }
    }
}

impl Test {
    fn passes(&self, field: &Field, index: Option<usize>, site: &Site<'_, '_>) -> bool {
        let (mut is_accepted, mut count) = (false, 0);
        (field.values)(site, index, &mut |value| {
            count += 1;
            is_accepted |= self.accepts(value);
        });
        match self {
            Self::Count(comparison, expected) => comparison.holds(count, *expected),
            _ => is_accepted,
        }
    }

    fn accepts(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::Flag(expected), Value::Flag(flag)) => flag == *expected,
            (Self::Number(comparison, expected), Value::Number(n)) => {
                comparison.holds(n, *expected)
            }
            (Self::Text(pattern, equal), Value::Text(text)) => pattern.matches(text) == *equal,
            (Self::Text(pattern, equal), Value::Names(names)) => {
                names.iter().any(|name| pattern.matches(name)) == *equal
            }
            (Self::Text(pattern, equal), Value::Spellings(names)) => {
                names.iter().any(|name| pattern.matches(name)) == *equal
            }
            _ => false,
        }
    }
}
