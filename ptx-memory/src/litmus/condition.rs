//! Conditions on final states.

use super::{Litmus, LitmusError, error};

/// The quantifier of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantifier {
    /// An execution satisfies the condition.
    Exists,
    /// No execution satisfies the condition.
    NotExists,
    /// All executions satisfy the condition.
    ForAll,
}

/// A value in a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// A constant.
    Constant(i64),
    /// A register of a thread.
    Register(usize, usize),
    /// The final value of a variable.
    Variable(usize),
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

/// A condition on final states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Formula {
    /// A comparison of two values.
    Compare(Comparison, Term, Term),
    /// All of these hold.
    And(Vec<Formula>),
    /// One of these holds.
    Or(Vec<Formula>),
    /// The formula does not hold.
    Not(Box<Formula>),
}

impl Formula {
    /// Whether the formula holds if terms have these values.
    pub fn holds(&self, value: &dyn Fn(Term) -> i64) -> bool {
        match self {
            Self::Compare(comparison, a, b) => {
                let (a, b) = (value(*a), value(*b));
                match comparison {
                    Comparison::Equal => a == b,
                    Comparison::NotEqual => a != b,
                    Comparison::Less => a < b,
                    Comparison::LessOrEqual => a <= b,
                    Comparison::Greater => a > b,
                    Comparison::GreaterOrEqual => a >= b,
                }
            }
            Self::And(parts) => parts.iter().all(|part| part.holds(value)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(value)),
            Self::Not(part) => !part.holds(value),
        }
    }

    /// Calls a function for each term.
    pub(crate) fn visit_terms(&self, visit: &mut dyn FnMut(Term)) {
        match self {
            Self::Compare(_, a, b) => {
                visit(*a);
                visit(*b);
            }
            Self::And(parts) | Self::Or(parts) => {
                for part in parts {
                    part.visit_terms(visit);
                }
            }
            Self::Not(part) => part.visit_terms(visit),
        }
    }
}

/// Finds the thread and number of a register by its name.
pub(super) type RegisterNames = dyn Fn(&Litmus, &str) -> Option<(usize, usize)>;

/// The depth of parentheses that conditions may have.
const MAX_DEPTH: usize = 64;

/// The tokens of a condition: names, numbers and signs.
fn tokens(text: &str) -> Vec<String> {
    let signs = ["/\\", "\\/", "&&", "||", "==", "!=", "<=", ">="];
    let mut tokens: Vec<String> = Vec::new();
    let mut remaining = text.trim_start();
    while let Some(first) = remaining.chars().next() {
        let length = match signs.iter().find(|sign| remaining.starts_with(**sign)) {
            Some(sign) => sign.len(),
            None if first.is_alphanumeric() || first == '_' || first == '-' => remaining
                .char_indices()
                .skip(1)
                .find(|(_, c)| !c.is_alphanumeric() && *c != '_' && *c != '.')
                .map_or(remaining.len(), |(index, _)| index),
            None => first.len_utf8(),
        };
        let (token, others) = remaining.split_at(length);
        tokens.push(token.to_owned());
        remaining = others.trim_start();
    }
    tokens
}

pub(super) struct ConditionParser<'a> {
    litmus: &'a mut Litmus,
    tokens: std::iter::Peekable<std::vec::IntoIter<String>>,
    line: usize,
    /// The thread of a register that is written without one.
    find_register: &'a RegisterNames,
}

impl<'a> ConditionParser<'a> {
    pub(super) fn new(
        litmus: &'a mut Litmus,
        text: &str,
        line: usize,
        find_register: &'a RegisterNames,
    ) -> Self {
        Self {
            litmus,
            tokens: tokens(text).into_iter().peekable(),
            line,
            find_register,
        }
    }

    /// Reads a whole condition.
    pub(super) fn parse(mut self) -> Result<Formula, LitmusError> {
        let formula = self.disjunction(0)?;
        match self.tokens.next() {
            None => Ok(formula),
            Some(token) => Err(error(self.line, format!("unexpected `{token}`"))),
        }
    }

    fn takes(&mut self, wanted: &[&str]) -> bool {
        let is_wanted = self
            .tokens
            .peek()
            .is_some_and(|token| wanted.contains(&token.as_str()));
        if is_wanted {
            self.tokens.next();
        }
        is_wanted
    }

    fn disjunction(&mut self, depth: usize) -> Result<Formula, LitmusError> {
        let mut parts = vec![self.conjunction(depth)?];
        while self.takes(&["\\/", "||"]) {
            parts.push(self.conjunction(depth)?);
        }
        Ok(match <[Formula; 1]>::try_from(parts) {
            Ok([part]) => part,
            Err(parts) => Formula::Or(parts),
        })
    }

    fn conjunction(&mut self, depth: usize) -> Result<Formula, LitmusError> {
        let mut parts = vec![self.unary(depth)?];
        while self.takes(&["/\\", "&&"]) {
            parts.push(self.unary(depth)?);
        }
        Ok(match <[Formula; 1]>::try_from(parts) {
            Ok([part]) => part,
            Err(parts) => Formula::And(parts),
        })
    }

    fn unary(&mut self, depth: usize) -> Result<Formula, LitmusError> {
        if depth > MAX_DEPTH {
            return Err(error(self.line, "too many parentheses"));
        }
        if self.takes(&["~", "!"]) {
            return Ok(Formula::Not(Box::new(self.unary(depth + 1)?)));
        }
        if self.takes(&["("]) {
            let formula = self.disjunction(depth + 1)?;
            if !self.takes(&[")"]) {
                return Err(error(self.line, "a `)` is missing"));
            }
            return Ok(formula);
        }
        let left = self.term()?;
        let comparison = match self.tokens.next().as_deref() {
            Some("==" | "=") => Comparison::Equal,
            Some("!=") => Comparison::NotEqual,
            Some("<") => Comparison::Less,
            Some("<=") => Comparison::LessOrEqual,
            Some(">") => Comparison::Greater,
            Some(">=") => Comparison::GreaterOrEqual,
            _ => return Err(error(self.line, "expected a comparison")),
        };
        Ok(Formula::Compare(comparison, left, self.term()?))
    }

    fn term(&mut self) -> Result<Term, LitmusError> {
        let Some(token) = self.tokens.next() else {
            return Err(error(self.line, "the condition ends early"));
        };
        if self.takes(&[":"]) {
            let thread = self.thread(&token)?;
            let Some(name) = self.tokens.next() else {
                return Err(error(self.line, "a register is missing"));
            };
            let register = self
                .litmus
                .threads
                .get_mut(thread)
                .map_or(0, |thread| thread.add_register(&name));
            return Ok(Term::Register(thread, register));
        }
        if let Ok(value) = token.parse() {
            return Ok(Term::Constant(value));
        }
        let name = if token == "[" {
            let name = self.tokens.next().unwrap_or_default();
            self.takes(&["]"]);
            name
        } else {
            token
        };
        if let Some((thread, register)) = (self.find_register)(self.litmus, &name) {
            return Ok(Term::Register(thread, register));
        }
        match self.litmus.variable(&name) {
            Some(variable) => Ok(Term::Variable(variable)),
            None => Err(error(self.line, format!("unknown name `{name}`"))),
        }
    }

    /// The number of a thread: `P1` and `1` are the same.
    fn thread(&self, name: &str) -> Result<usize, LitmusError> {
        let number = name.strip_prefix('P').unwrap_or(name);
        self.litmus
            .threads
            .iter()
            .position(|thread| thread.name == name || thread.name.strip_prefix('P') == Some(number))
            .ok_or_else(|| error(self.line, format!("unknown thread `{name}`")))
    }
}
