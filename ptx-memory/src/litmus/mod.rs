//! Litmus tests: small programs in a notation of columns, with a condition on their final states.

mod condition;
mod dat3m;
mod decide;
mod instruction;
mod liveness;
mod program;
mod proxy_test;
mod states;

use std::fmt;

use crate::event::{Location, ThreadPlace};

pub use condition::{Comparison, Formula, Quantifier, Term};
pub use decide::{Verdict, Witness};
pub use instruction::{Arithmetic, AtomicOperation, Condition, Instruction, Operand};
pub use program::LitmusThread;
pub use states::{FinalState, FinalStates};

/// A litmus test.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Litmus {
    /// The name.
    pub name: String,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The variables.
    pub variables: Vec<Variable>,
    /// The quantifier of the condition.
    pub quantifier: Quantifier,
    /// The condition on final states.
    pub formula: Formula,
    /// Values that registers must have: other executions are ignored.
    pub assumptions: Vec<(usize, usize, i64)>,
}

/// A thread of a litmus test.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Thread {
    /// The name.
    pub name: String,
    /// The place.
    pub place: ThreadPlace,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The names of the registers, with their initial values.
    pub registers: Vec<(String, i64)>,
}

/// A variable of a litmus test.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The bytes.
    pub location: Location,
    /// The initial value.
    pub initial: i64,
}

/// An error in the text of a litmus test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LitmusError {
    /// What is wrong.
    pub message: String,
    /// The line, from 1; 0 if unknown.
    pub line: usize,
}

impl fmt::Display for LitmusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for LitmusError {}

fn error(line: usize, message: impl Into<String>) -> LitmusError {
    LitmusError {
        message: message.into(),
        line,
    }
}

/// The number of bytes of a variable.
pub(crate) const BYTES: u32 = 8;

impl Litmus {
    /// Reads a test in the format of Dat3M and herd for PTX.
    ///
    /// # Errors
    ///
    /// The first mistake in the text.
    pub fn parse(text: &str) -> Result<Self, LitmusError> {
        dat3m::parse(text)
    }

    /// Reads the tests of a file in the format of `.test` files of the mixed-proxy model. Each row of its table is a test.
    ///
    /// # Errors
    ///
    /// The first mistake in the text.
    pub fn parse_proxy_tests(text: &str) -> Result<Vec<Self>, LitmusError> {
        proxy_test::parse(text)
    }

    fn new(name: String) -> Self {
        Self {
            name,
            threads: Vec::new(),
            variables: Vec::new(),
            quantifier: Quantifier::Exists,
            formula: Formula::And(Vec::new()),
            assumptions: Vec::new(),
        }
    }

    fn variable(&self, name: &str) -> Option<usize> {
        self.variables
            .iter()
            .position(|variable| variable.name == name)
    }

    /// The variable with a name, which is added if it is new.
    fn add_variable(&mut self, name: &str) -> usize {
        if let Some(variable) = self.variable(name) {
            return variable;
        }
        let number = self.variables.len();
        self.variables.push(Variable {
            name: name.to_owned(),
            location: Location {
                address: 0x1000 + 16 * number as u64,
                bytes: BYTES,
                mapping: number as u32,
            },
            initial: 0,
        });
        number
    }

    /// Makes a variable an alias of another one: by the same virtual address, with another proxy, or by another virtual address.
    fn add_alias(&mut self, name: &str, target: &str, by_same_address: bool) {
        let target = self.add_variable(target);
        let alias = self.add_variable(name);
        let Some(original) = self.variables.get(target).cloned() else {
            return;
        };
        if let Some(variable) = self.variables.get_mut(alias) {
            variable.initial = original.initial;
            variable.location.address = original.location.address;
            if by_same_address {
                variable.location.mapping = original.location.mapping;
            }
        }
    }
}

impl Thread {
    /// The register with a name, which is added if it is new.
    fn add_register(&mut self, name: &str) -> usize {
        if let Some(register) = self
            .registers
            .iter()
            .position(|(register, _)| register == name)
        {
            return register;
        }
        self.registers.push((name.to_owned(), 0));
        self.registers.len() - 1
    }
}
