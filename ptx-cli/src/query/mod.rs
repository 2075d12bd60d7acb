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
    let mut all = Vec::new();
    operand_text::each(text, &mut |operand| all.push(operand.to_owned()));
    all
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
    /// Whether one value of a field passes; of one operand, if there is an index.
    Field(&'static Field, Option<usize>, Test),
    /// Whether one memory access satisfies the condition.
    Access(Box<Condition>),
    /// Whether every path passes an instruction that satisfies the condition of this index.
    Path(usize),
}

/// What a value has to be.
enum Test {
    Flag(bool),
    Number(Comparison, i64),
    /// The number of values.
    Count(Comparison, i64),
    /// Whether it matches the pattern, or does not.
    Text(WildMatch, bool),
}

impl Query {
    /// Parses a condition; the error says what was expected and where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        parse::parse(text)
    }

    /// Prepares for the instructions of a function: follows its paths, if the condition asks for them.
    pub(crate) fn enter(&self, function: &mut InFunction<'_>) {
        function.paths.clear();
        for (direction, condition) in &self.paths {
            let passed = paths::passed(function, *direction, |stmt| {
                let Some(Statement::Inst(inst)) = function.body.statement(stmt) else {
                    return false;
                };
                let site = function.site(stmt, inst);
                site.facts.guard().is_none() && condition.holds(&site)
            });
            function.paths.push(passed);
        }
    }

    /// Whether it is true of an instruction of the entered function.
    pub(crate) fn holds(&self, site: &Site<'_, '_>) -> bool {
        self.condition.holds(site)
    }
}

impl Condition {
    fn holds(&self, site: &Site<'_, '_>) -> bool {
        match self {
            Self::Any(all) => all.iter().any(|c| c.holds(site)),
            Self::All(all) => all.iter().all(|c| c.holds(site)),
            Self::Not(inner) => !inner.holds(site),
            Self::Field(field, index, test) => test.passes(field, *index, site),
            Self::Access(inner) => {
                let mut accesses = site.accesses();
                accesses.any(|access| inner.holds(&site.with_access(access)))
            }
            Self::Path(index) => {
                let passed = site.function.paths.get(*index);
                passed.and_then(|p| p.get(site.stmt.index())) == Some(&true)
            }
        }
    }
}

impl Test {
    fn passes(&self, field: &Field, index: Option<usize>, site: &Site<'_, '_>) -> bool {
        let (mut found, mut count) = (false, 0);
        (field.values)(site, index, &mut |value| {
            count += 1;
            found |= self.accepts(value);
        });
        match self {
            Self::Count(comparison, wanted) => comparison.holds(count, *wanted),
            _ => found,
        }
    }

    fn accepts(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::Flag(wanted), Value::Flag(flag)) => flag == *wanted,
            (Self::Number(comparison, wanted), Value::Number(n)) => comparison.holds(n, *wanted),
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
