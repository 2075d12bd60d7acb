//! Conditions on the end of an execution, such as `[flag] == 1 && 0.1:%r4 != 0`.

use ptx_isa::{ScalarType, TypeKind};
use ptx_semantics::Place;

use super::failures::MemoryValue;
use super::{Kernel, KernelError};
use crate::explore::Ending;

/// A value in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Term {
    Constant(i128),
    Memory {
        address: u64,
        ty: ScalarType,
    },
    /// A register of one thread, or of each thread.
    Register {
        thread: Option<usize>,
        place: Place,
        bits: u16,
    },
}

/// A part of a condition, in postfix order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Compare(Comparison, Term, Term),
    Not,
    And,
    Or,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// A condition that the end of each execution has to satisfy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelCondition {
    parts: Vec<Part>,
    is_forbidden: bool,
}

impl KernelCondition {
    /// The locations that the condition mentions.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.terms().filter_map(|term| match term {
            Term::Memory { address, ty } => Some((address, u32::from(ty.bits() / 8).max(1))),
            _ => None,
        })
    }

    /// Whether the condition is about a single thread.
    pub(super) fn names_thread(&self) -> bool {
        self.terms().any(|term| {
            matches!(
                term,
                Term::Register {
                    thread: Some(_),
                    ..
                }
            )
        })
    }

    fn terms(&self) -> impl Iterator<Item = Term> + '_ {
        self.parts.iter().flat_map(|part| match *part {
            Part::Compare(_, first, second) => vec![first, second],
            _ => Vec::new(),
        })
    }

    /// Whether an end satisfies the condition. A condition on the registers of each thread has to hold for each, or, if it is forbidden, for none.
    pub(super) fn is_satisfied(
        &self,
        memory: &[MemoryValue],
        ending: &Ending<'_, Kernel<'_>>,
    ) -> bool {
        let count = ending.execution.threads.len();
        (0..count).all(|thread| self.holds(memory, ending, thread) != self.is_forbidden)
    }

    fn holds(
        &self,
        memory: &[MemoryValue],
        ending: &Ending<'_, Kernel<'_>>,
        thread: usize,
    ) -> bool {
        let mut stack: Vec<bool> = Vec::new();
        for part in &self.parts {
            let result = match *part {
                Part::Compare(comparison, first, second) => {
                    compare(comparison, first, second, &|term| match term {
                        Term::Constant(value) => value as u128,
                        Term::Memory { address, ty } => {
                            let bytes = u32::from(ty.bits() / 8).max(1);
                            memory
                                .iter()
                                .find(|value| (value.address, value.bytes) == (address, bytes))
                                .and_then(|value| value.bits)
                                .unwrap_or(0)
                        }
                        Term::Register {
                            thread: named,
                            place,
                            ..
                        } => ending
                            .thread(named.unwrap_or(thread))
                            .and_then(|state| state.register(place))
                            .unwrap_or(0),
                    })
                }
                Part::Not => !stack.pop().unwrap_or(false),
                Part::And => {
                    let (b, a) = (stack.pop(), stack.pop());
                    a.unwrap_or(false) && b.unwrap_or(false)
                }
                Part::Or => {
                    let (b, a) = (stack.pop(), stack.pop());
                    a.unwrap_or(false) || b.unwrap_or(false)
                }
            };
            stack.push(result);
        }
        stack.pop().unwrap_or(true)
    }
}

/// Compares two values as signed numbers if one of them has a signed type or is negative.
fn compare(
    comparison: Comparison,
    first: Term,
    second: Term,
    bits_of: &dyn Fn(Term) -> u128,
) -> bool {
    let width = |term: Term| match term {
        Term::Constant(_) => None,
        Term::Memory { ty, .. } => Some(u32::from(ty.bits())),
        Term::Register { bits, .. } => Some(u32::from(bits)),
    };
    let is_signed = [first, second].into_iter().any(|term| match term {
        Term::Constant(value) => value < 0,
        Term::Memory { ty, .. } => ty.kind() == TypeKind::Signed,
        Term::Register { .. } => false,
    });
    let bits = width(first).max(width(second)).unwrap_or(128).clamp(1, 128);
    let value = |term: Term| {
        let term_bits = width(term).unwrap_or(bits).clamp(1, 128);
        bits_of(term) << (128 - term_bits) >> (128 - term_bits)
    };
    let order = if is_signed {
        let signed = |term: Term| (value(term) << (128 - bits)) as i128;
        signed(first).cmp(&signed(second))
    } else {
        value(first).cmp(&value(second))
    };
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// An operator or parenthesis that waits for its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Parenthesis,
    Or,
    And,
    Not,
}

struct Parser<'k, 'm, 't> {
    kernel: &'k Kernel<'m>,
    text: &'t str,
}

impl Parser<'_, '_, '_> {
    fn accept(&mut self, token: &str) -> bool {
        self.text = self.text.trim_start();
        match self.text.strip_prefix(token) {
            Some(tail) => {
                self.text = tail;
                true
            }
            None => false,
        }
    }

    /// Parses a condition without recursion.
    fn condition(&mut self) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        let mut waiting: Vec<Waiting> = Vec::new();
        loop {
            loop {
                if self.accept("(") {
                    waiting.push(Waiting::Parenthesis);
                } else if !self.text.trim_start().starts_with("!=") && self.accept("!") {
                    waiting.push(Waiting::Not);
                } else {
                    break;
                }
            }
            parts.push(self.comparison()?);
            while self.accept(")") {
                pop_until(&mut waiting, &mut parts, Waiting::Parenthesis);
                if waiting.pop() != Some(Waiting::Parenthesis) {
                    return Err("`)` without `(`".to_owned());
                }
            }
            let operator = if self.accept("&&") {
                Waiting::And
            } else if self.accept("||") {
                Waiting::Or
            } else {
                break;
            };
            pop_until(&mut waiting, &mut parts, operator);
            waiting.push(operator);
        }
        if !self.text.trim().is_empty() {
            return Err(format!(
                "expected `&&` or `||`, found `{}`",
                self.text.trim()
            ));
        }
        pop_until(&mut waiting, &mut parts, Waiting::Parenthesis);
        if waiting.is_empty() {
            Ok(parts)
        } else {
            Err("`(` without `)`".to_owned())
        }
    }

    fn comparison(&mut self) -> Result<Part, String> {
        let first = self.term()?;
        let comparison = COMPARISONS
            .into_iter()
            .find(|(token, _)| self.accept(token));
        let Some((_, comparison)) = comparison else {
            return Err("expected a comparison such as `==`".to_owned());
        };
        Ok(Part::Compare(comparison, first, self.term()?))
    }

    fn term(&mut self) -> Result<Term, String> {
        if self.accept("[") {
            let (inside, tail) = self.text.split_once(']').ok_or("`[` without `]`")?;
            self.text = tail;
            return self.memory(inside.trim());
        }
        self.text = self.text.trim_start();
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_$%.:-".contains(c);
        let end = self
            .text
            .find(|c: char| !is_word(c))
            .unwrap_or(self.text.len());
        let (word, tail) = self.text.split_at(end);
        self.text = tail;
        if let Some(value) = integer(word) {
            return Ok(Term::Constant(value));
        }
        match word.split_once(':') {
            Some((thread, register)) => {
                let thread = self.thread(thread).ok_or_else(|| {
                    format!("`{thread}` is not a thread: expected `CTA.THREAD` or a number")
                })?;
                self.register(Some(thread), register)
            }
            None => self.register(None, word),
        }
    }

    /// The location in `[TYPE NAME+OFFSET]`.
    fn memory(&self, text: &str) -> Result<Term, String> {
        let (ty, name) = match text.split_once(char::is_whitespace) {
            Some((ty, name)) => {
                let ty =
                    ScalarType::from_text(format!(".{}", ty.trim_start_matches('.')).as_bytes())
                        .ok_or_else(|| format!("`{ty}` is not a type"))?;
                (Some(ty), name.trim())
            }
            None => (None, text),
        };
        let (name, offset) = match name.split_once('+') {
            Some((name, offset)) => {
                let offset = integer(offset.trim()).and_then(|value| u64::try_from(value).ok());
                (name.trim(), offset.ok_or("the offset is not a number")?)
            }
            None => (name, 0),
        };
        let named = self.kernel.variables.named.iter();
        let named = named
            .clone()
            .find(|named| named.name == name)
            .ok_or_else(|| {
                let names: Vec<&str> = named.map(|named| named.name.as_str()).collect();
                format!(
                    "there is no variable or buffer `{name}`; there are: {}",
                    names.join(", ")
                )
            })?;
        let ty = ty.unwrap_or(named.ty);
        if offset.saturating_add(u64::from(ty.bits() / 8).max(1)) > named.bytes {
            return Err(format!(
                "`{text}` is outside of the {} bytes of `{name}`",
                named.bytes
            ));
        }
        Ok(Term::Memory {
            address: named.address + offset,
            ty,
        })
    }

    /// The thread in `CTA.THREAD`, or by its number in the launch.
    fn thread(&self, text: &str) -> Option<usize> {
        let threads = self.kernel.launch.threads as usize;
        let thread = match text.split_once('.') {
            Some((cta, thread)) => {
                let thread: usize = thread.parse().ok().filter(|thread| *thread < threads)?;
                cta.parse::<usize>().ok()?.checked_mul(threads)? + thread
            }
            None => text.parse().ok()?,
        };
        (thread < self.kernel.places.len()).then_some(thread)
    }

    fn register(&self, thread: Option<usize>, name: &str) -> Result<Term, String> {
        let facts = self.kernel.facts;
        let body = facts.body();
        let register = body.registers().ids().find(|&register| {
            let written = body.register_name(facts.module(), register);
            written == name || written.trim_start_matches('%') == name
        });
        let register = register.ok_or_else(|| {
            format!("`{name}` is neither a number nor a register; memory is written `[NAME]`")
        })?;
        let declared = body
            .reg_decl_of(register)
            .and_then(|declared| declared.ty.known());
        Ok(Term::Register {
            thread,
            place: Place::Register(register.into()),
            bits: declared.map_or(64, |ty| ty.bits().max(1)),
        })
    }
}

/// Completes the operators that bind more than another one.
fn pop_until(waiting: &mut Vec<Waiting>, parts: &mut Vec<Part>, operator: Waiting) {
    while let Some(top) = waiting.last().copied() {
        let part = match top {
            Waiting::Not => Part::Not,
            Waiting::And if operator != Waiting::Not => Part::And,
            Waiting::Or if operator != Waiting::And => Part::Or,
            _ => return,
        };
        waiting.pop();
        parts.push(part);
    }
}

fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i128::from(u64::from_str_radix(digits, 16).ok()?),
        None => i128::from(digits.parse::<u64>().ok()?),
    };
    Some(sign * value)
}

impl Kernel<'_> {
    /// Reads a condition that the end of each execution has to satisfy: comparisons of numbers, registers `r0` or `CTA.THREAD:r0`, and memory
    /// `[NAME]`, `[NAME+OFFSET]` or `[u64 NAME]`, combined by `&&`, `||`, `!` and parentheses. A register without a thread means that of each
    /// thread.
    ///
    /// # Errors
    ///
    /// If the text is not a condition, or if a name is unknown.
    pub fn assertion(&self, text: &str) -> Result<KernelCondition, KernelError> {
        self.condition(text, false)
    }

    /// Reads a condition that no execution may satisfy at its end.
    ///
    /// # Errors
    ///
    /// As for [`assertion`](Self::assertion).
    pub fn forbidden(&self, text: &str) -> Result<KernelCondition, KernelError> {
        self.condition(text, true)
    }

    /// Sets the initial contents of a location such as `flag`, `data+4` or `u64 x`.
    ///
    /// # Errors
    ///
    /// If there is no such location, or if the value is not an integer.
    pub fn set_initial(&mut self, location: &str, value: &str) -> Result<(), KernelError> {
        let value =
            integer(value).ok_or_else(|| KernelError(format!("`{value}` is not an integer")))?;
        let parser = Parser {
            kernel: self,
            text: "",
        };
        if let Term::Memory { address, ty } = parser.memory(location).map_err(KernelError)? {
            let bytes = usize::from(ty.bits() / 8).max(1);
            self.variables
                .write(address, value.to_le_bytes().get(..bytes).unwrap_or(&[]));
        }
        Ok(())
    }

    fn condition(&self, text: &str, is_forbidden: bool) -> Result<KernelCondition, KernelError> {
        let mut parser = Parser { kernel: self, text };
        let parts = parser.condition().map_err(KernelError)?;
        Ok(KernelCondition {
            parts,
            is_forbidden,
        })
    }
}
