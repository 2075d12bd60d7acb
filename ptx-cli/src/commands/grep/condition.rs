//! Conditions on facts: `bytes>=8 && !guarded`.

use ptx_ir::facts::{Facts, Flow, MemoryAccess, Space};
use ptx_isa::{Access, Modifier};

use crate::render::labels;

/// A condition.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Flag(Flag),
    Number(Number, Order, i64),
    Word(Word, bool, String),
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Flag {
    Guarded,
    Memory,
    Atomic,
    Volatile,
    Barrier,
    Fence,
    Control,
    Call,
    SideEffects,
    Known,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Number {
    Bytes,
    Offset,
    Reads,
    Writes,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Word {
    Space,
    Order,
    Scope,
    Access,
    Function,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Order {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

const FLAGS: &[(&str, Flag)] = &[
    ("guarded", Flag::Guarded),
    ("memory", Flag::Memory),
    ("atomic", Flag::Atomic),
    ("volatile", Flag::Volatile),
    ("barrier", Flag::Barrier),
    ("fence", Flag::Fence),
    ("control", Flag::Control),
    ("call", Flag::Call),
    ("side_effects", Flag::SideEffects),
    ("known", Flag::Known),
];
const NUMBERS: &[(&str, Number)] = &[
    ("bytes", Number::Bytes),
    ("offset", Number::Offset),
    ("reads", Number::Reads),
    ("writes", Number::Writes),
];
const WORDS: &[(&str, Word)] = &[
    ("space", Word::Space),
    ("order", Word::Order),
    ("scope", Word::Scope),
    ("access", Word::Access),
    ("function", Word::Function),
];
/// The longer ones first.
const ORDERS: &[(&str, Order)] = &[
    ("==", Order::Equal),
    ("!=", Order::Unequal),
    ("<=", Order::AtMost),
    (">=", Order::AtLeast),
    ("<", Order::Less),
    (">", Order::More),
];
/// Parentheses and `!` nest no deeper.
const DEPTH: u32 = 64;

fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(n, _)| *n == name).map(|&(_, t)| t)
}

impl Condition {
    /// Reads a condition.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader {
            rest: text.trim_start(),
        };
        let condition = reader.any(0)?;
        if reader.rest.is_empty() {
            Ok(condition)
        } else {
            Err(format!("nothing is expected at `{}`", reader.rest))
        }
    }

    /// Whether it is true of an instruction. A question about memory is true if it is true of one access.
    pub(crate) fn holds(&self, facts: &Facts<'_>, function: &str) -> bool {
        match self {
            Self::Any(all) => all.iter().any(|c| c.holds(facts, function)),
            Self::All(all) => all.iter().all(|c| c.holds(facts, function)),
            Self::Not(inner) => !inner.holds(facts, function),
            Self::Flag(flag) => flag.holds(facts),
            Self::Number(number, order, value) => {
                let compare = |n: i64| match order {
                    Order::Equal => n == *value,
                    Order::Unequal => n != *value,
                    Order::Less => n < *value,
                    Order::AtMost => n <= *value,
                    Order::More => n > *value,
                    Order::AtLeast => n >= *value,
                };
                match number {
                    Number::Reads => compare(facts.reads().count() as i64),
                    Number::Writes => {
                        let writes = facts.writes().count() + facts.conditional_writes().count();
                        compare(writes as i64)
                    }
                    Number::Bytes => facts
                        .memory()
                        .any(|m| m.bytes.is_some_and(|b| compare(b as i64))),
                    Number::Offset => facts.memory().any(|m| m.offset.is_some_and(compare)),
                }
            }
            Self::Word(Word::Function, equal, word) => (function == word) == *equal,
            Self::Word(kind, equal, word) => facts
                .memory()
                .any(|m| (kind.of(&m) == Some(word.as_str())) == *equal),
        }
    }
}

impl Flag {
    fn holds(self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Guarded => facts.guard().is_some(),
            Self::Memory => facts.memory().next().is_some(),
            Self::Atomic => facts.memory().any(|m| m.access == Access::ReadModifyWrite),
            Self::Volatile => facts.is_volatile(),
            Self::Barrier => facts.is_barrier(),
            Self::Fence => facts.is_fence(),
            Self::Control => facts.flow() != Flow::Next,
            Self::Call => facts.flow() == Flow::Call,
            Self::SideEffects => facts.has_side_effects(),
            Self::Known => facts.is_known(),
        }
    }
}

impl Word {
    fn of(self, access: &MemoryAccess) -> Option<&'static str> {
        let text = |word: Option<Modifier>| word.map(|w| w.text().trim_start_matches('.'));
        match self {
            Self::Order => text(access.order),
            Self::Scope => text(access.scope),
            Self::Access => Some(labels::access(access.access)),
            _ => Some(match access.space {
                // A window of a space is that space here.
                Space::State(space) => labels::space(Space::State(space.base())),
                other => labels::space(other),
            }),
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// Letters, digits and what may stand in a name.
    fn word(&mut self) -> &'a str {
        let inside =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | ':' | '.' | '-');
        let end = self.rest.find(|c| !inside(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn any(&mut self, depth: u32) -> Result<Condition, String> {
        let mut all = vec![self.all(depth)?];
        while self.eat("||") {
            all.push(self.all(depth)?);
        }
        Ok(Condition::Any(all))
    }

    fn all(&mut self, depth: u32) -> Result<Condition, String> {
        let mut all = vec![self.one(depth)?];
        while self.eat("&&") {
            all.push(self.one(depth)?);
        }
        Ok(Condition::All(all))
    }

    fn one(&mut self, depth: u32) -> Result<Condition, String> {
        if depth > DEPTH {
            return Err("too many parentheses".into());
        }
        if self.eat("(") {
            let inner = self.any(depth + 1)?;
            return if self.eat(")") {
                Ok(inner)
            } else {
                Err(format!("`)` is expected at `{}`", self.rest))
            };
        }
        if !self.rest.starts_with("!=") && self.eat("!") {
            return Ok(Condition::Not(Box::new(self.one(depth + 1)?)));
        }
        let name = self.word();
        if let Some(flag) = named(FLAGS, name) {
            return Ok(Condition::Flag(flag));
        }
        let number = named(NUMBERS, name);
        let word = named(WORDS, name);
        if number.is_none() && word.is_none() {
            return Err(format!("`{name}` is no fact; see `ptxkit grep --help`"));
        }
        let order = ORDERS
            .iter()
            .find(|(text, _)| self.eat(text))
            .map(|&(_, o)| o);
        let Some(order) = order else {
            return Err(format!("`{name}` needs a comparison such as `{name}==…`"));
        };
        let value = self.word();
        match (number, word, order) {
            (Some(number), ..) => {
                let value = value
                    .parse()
                    .map_err(|_| format!("`{value}` is no number"))?;
                Ok(Condition::Number(number, order, value))
            }
            (_, Some(word), Order::Equal | Order::Unequal) => Ok(Condition::Word(
                word,
                order == Order::Equal,
                value.to_owned(),
            )),
            _ => Err(format!("`{name}` is a word: compare it with `==` or `!=`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in [
            "", "bytes", "bytes>", "bytes>=x", "nothing", "space>1", "(guarded", "guarded)", "!",
        ] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
        assert!(Condition::parse(&"(".repeat(100_000)).is_err());
        assert!(Condition::parse("bytes >= 8 && !guarded || (space==global)").is_ok());
    }
}
