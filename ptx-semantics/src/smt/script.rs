//! Terms over common inputs: applies instructions to terms, and prints or compares their results.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;
use ptx_ir::InstId;
use ptx_isa::internals::Destination;
use ptx_isa::{Modifier, Opcode, find_instruction};

use super::NotExpressible;
use super::definition::{Sort, inexpressible_construct, sources, value_count};
use super::term::{Bits, Term, Terms};
use super::translate::{Bindings, Translation};
use crate::fold::Video;
use crate::fold::computation::Inputs;
use crate::operands::{Extension, Place};

/// A term of a [`Script`], with its sort.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortedTerm {
    term: Term,
    sort: Sort,
}

impl SortedTerm {
    /// The sort that the term has.
    #[must_use]
    pub const fn sort(self) -> Sort {
        self.sort
    }

    /// The bits of the term; `None` for a `Bool`.
    fn bits(self) -> Option<Bits> {
        match self.sort {
            Sort::Bool => None,
            Sort::BitVec(width) => Some(Bits {
                term: self.term,
                width,
            }),
        }
    }
}

impl From<Bits> for SortedTerm {
    fn from(bits: Bits) -> Self {
        Self {
            term: bits.term,
            sort: Sort::BitVec(bits.width),
        }
    }
}

/// The meaning of a free constant of a script.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Input {
    /// The value of a place before the first instruction: an operand, or the carry flag.
    Place(Place),
    /// Bits that the PTX ISA manual does not define. Each result has another number.
    Undefined(u32),
    /// The value of a place after an instruction that has no term.
    Opaque(InstId, Place),
    /// A value of the caller.
    Free(u32),
}

/// The term of a result of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultTerm {
    pub(super) destination: Destination,
    pub(super) term: SortedTerm,
}

/// The terms of the results of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Applied {
    /// The results, in the order of the operands of the form.
    pub results: Vec<SortedTerm>,
    /// The carry flag, if the instruction writes it.
    pub carry: Option<SortedTerm>,
}

/// Terms over common inputs. Equal terms are stored once, so the size of a script is linear in the number of instructions.
///
/// ```
/// use ptx_isa::{Modifier, Opcode};
/// use ptx_semantics::smt::{Input, Script, Sort};
///
/// let mut script = Script::new();
/// let x = script.input(Input::Free(0), Sort::BitVec(32));
/// let [two, one] = [2, 1].map(|n| script.constant(n, Sort::BitVec(32)));
/// let product = script.apply(Opcode::Mul, &[Modifier::Lo, Modifier::U32], &[x, two])?.results[0];
/// let shifted = script.apply(Opcode::Shl, &[Modifier::B32], &[x, one])?.results[0];
/// assert_eq!(script.text(shifted), "(bvshl x0 #x00000001)");
/// // A solver answers `unsat`: no value of `x0` makes them differ.
/// let question = script.inequality(&[(product, shifted)]);
/// assert!(question.starts_with("(declare-const x0 (_ BitVec 32))\n(assert "), "{question}");
/// # Ok::<(), ptx_semantics::smt::NotExpressible>(())
/// ```
#[derive(Debug, Default)]
pub struct Script {
    terms: Terms,
    inputs: Vec<(Input, SortedTerm)>,
    /// The number of the next undefined bits.
    next_undefined: u32,
}

impl Script {
    /// A script without terms.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The free constants, in the order of their creation. Their names are `x0`, `x1` and so on; undefined bits have names such as
    /// `undefined3`.
    #[must_use]
    pub fn inputs(&self) -> &[(Input, SortedTerm)] {
        &self.inputs
    }

    /// The free constant for an input, which is created if there is none with this sort.
    pub fn input(&mut self, input: Input, sort: Sort) -> SortedTerm {
        let existing = self
            .inputs
            .iter()
            .find(|(existing, term)| *existing == input && term.sort == sort);
        if let Some((_, term)) = existing {
            return *term;
        }
        let name = match input {
            Input::Undefined(number) => format!("undefined{number}"),
            _ => format!("x{}", self.inputs.len()),
        };
        let term = SortedTerm {
            term: self.terms.leaf(name),
            sort,
        };
        self.inputs.push((input, term));
        term
    }

    /// A constant with these bits, of which those above the width of the sort are ignored.
    pub fn constant(&mut self, bits: u128, sort: Sort) -> SortedTerm {
        let term = match sort {
            Sort::Bool => self.terms.truth(bits & 1 == 1),
            Sort::BitVec(width) => self.terms.code(bits, width).term,
        };
        SortedTerm { term, sort }
    }

    /// The results of an instruction for these sources: one for each operand that it reads. A vector is one source, with the first element
    /// lowest. If a source is wider than its operand, the lowest bits are read.
    ///
    /// # Errors
    ///
    /// The instruction is unknown or needs other sources, or its results are not expressible.
    pub fn apply(
        &mut self,
        opcode: Opcode,
        modifiers: &[Modifier],
        operands: &[SortedTerm],
    ) -> Result<Applied, NotExpressible> {
        let instruction = find_instruction(opcode, modifiers).ok_or(NotExpressible::Unknown)?;
        let choices = modifiers
            .get(instruction.words().len()..)
            .ok_or(NotExpressible::Unknown)?;
        let mut reason = NotExpressible::Unknown;
        for form in instruction.forms() {
            let Some(slots) = form.match_modifiers(choices) else {
                continue;
            };
            if sources(form, &slots).count() != operands.len() {
                continue;
            }
            let values = vec![None; value_count(form, &slots)];
            let inputs = Inputs {
                form,
                slots: &slots,
                modifiers,
                operands: &values,
                carry: None,
                video: Video::default(),
                choose: false,
            };
            if !inputs.fit() || !inputs.are_legal() {
                continue;
            }
            let carry = self.input(Input::Place(Place::Carry), Sort::Bool);
            match self.results(&inputs, operands, carry) {
                Ok(results) => return Ok(Applied::new(results)),
                // Another form may be expressible, such as that of registers beside that of special registers.
                Err(error) => reason = error,
            }
        }
        Err(reason)
    }

    /// The results of a form for these sources.
    pub(super) fn results(
        &mut self,
        inputs: &Inputs<'_>,
        operands: &[SortedTerm],
        carry: SortedTerm,
    ) -> Result<Vec<ResultTerm>, NotExpressible> {
        let computation = inputs.form.computation().ok_or(NotExpressible::Unstated)?;
        if let Some(construct) = inexpressible_construct(computation) {
            return Err(NotExpressible::Construct(construct));
        }
        let mut operand_terms: Vec<Option<Term>> = vec![None; inputs.form.operands().len()];
        for ((index, _), operand) in sources(inputs.form, inputs.slots).zip(operands) {
            let sort = source_sort(inputs, index);
            let term = self.resized(*operand, sort)?;
            if let Some(operand_term) = operand_terms.get_mut(index) {
                *operand_term = Some(term.term);
            }
        }
        let bindings = Bindings {
            operands: operand_terms,
            carry: carry.term,
            undefined: self.next_undefined,
        };
        let terms = core::mem::take(&mut self.terms);
        let mut translation = Translation::with_bindings(inputs, computation, terms, bindings);
        let results = translation.results();
        self.terms = translation.terms;
        let results = results?;
        for (destination, _, sort) in &results {
            let Destination::Operand(index) = *destination else {
                continue;
            };
            let number = self.next_undefined + u32::from(index);
            let name = format!("undefined{number}");
            if results
                .iter()
                .any(|(_, term, _)| self.terms.mentions(*term, &name))
            {
                self.input(Input::Undefined(number), *sort);
            }
        }
        self.next_undefined += inputs.form.operands().len() as u32;
        Ok(results
            .into_iter()
            .map(|(destination, term, sort)| ResultTerm {
                destination,
                term: SortedTerm { term, sort },
            })
            .collect())
    }

    /// An input for further undefined bits.
    pub(super) fn undefined_bits(&mut self, sort: Sort) -> SortedTerm {
        let number = self.next_undefined;
        self.next_undefined += 1;
        self.input(Input::Undefined(number), sort)
    }

    /// The inverse of a `Bool`.
    pub(super) fn not(&mut self, condition: SortedTerm) -> SortedTerm {
        SortedTerm {
            term: self.terms.not(condition.term),
            ..condition
        }
    }

    /// One of two terms of the same sort.
    pub(super) fn select(
        &mut self,
        condition: SortedTerm,
        then: SortedTerm,
        otherwise: SortedTerm,
    ) -> SortedTerm {
        SortedTerm {
            term: self.terms.ite(condition.term, then.term, otherwise.term),
            sort: then.sort,
        }
    }

    /// The lowest bits of a term, in a sort that is not wider.
    pub(super) fn resized(
        &mut self,
        term: SortedTerm,
        sort: Sort,
    ) -> Result<SortedTerm, NotExpressible> {
        match (term.bits(), sort) {
            _ if term.sort == sort => Ok(term),
            (Some(bits), Sort::BitVec(width)) if width < bits.width => {
                Ok(self.terms.extract(bits, 0, width).into())
            }
            _ => Err(NotExpressible::Construct(
                "a source that is narrower than its operand",
            )),
        }
    }

    /// The concatenation of terms, the first one lowest; `None` if one is a `Bool`, or there is none.
    pub(super) fn joined(&mut self, elements: &[SortedTerm]) -> Option<SortedTerm> {
        let mut joined: Option<Bits> = None;
        for element in elements {
            let high = element.bits()?;
            joined = Some(match joined {
                None => high,
                Some(low) => self
                    .terms
                    .bits("concat", &[high, low], high.width + low.width),
            });
        }
        joined.map(SortedTerm::from)
    }

    /// `width` bits of a term from the bit `low` on; `None` if the term lacks them.
    pub(super) fn part(&mut self, term: SortedTerm, low: u32, width: u32) -> Option<SortedTerm> {
        let bits = term.bits().filter(|bits| low + width <= bits.width)?;
        Some(self.terms.extract(bits, low, width).into())
    }

    /// A result in a register of this sort.
    pub(super) fn extended(
        &mut self,
        result: SortedTerm,
        extension: Option<Extension>,
        sort: Sort,
    ) -> Result<SortedTerm, NotExpressible> {
        let (Some(bits), Sort::BitVec(width)) = (result.bits(), sort) else {
            return self.resized(result, sort);
        };
        if width < bits.width {
            return Err(NotExpressible::Construct(
                "a register that is narrower than its result",
            ));
        }
        Ok(match extension {
            _ if width == bits.width => result,
            Some(extension) => {
                let is_signed = extension == Extension::Sign;
                self.terms.extend(bits, is_signed, width).into()
            }
            None => {
                let high_bits = self.undefined_bits(Sort::BitVec(width - bits.width));
                self.joined(&[result, high_bits]).unwrap_or(result)
            }
        })
    }

    /// A term in the syntax of SMT-LIB. Subterms that it contains more than once are bound with `let`.
    #[must_use]
    pub fn text(&self, term: SortedTerm) -> String {
        self.terms.print(term.term).trim_start().to_owned()
    }

    /// A script that asks a solver for inputs for which the terms of a pair differ. If it answers `unsat`, the terms of each pair are equal
    /// for all inputs, whatever undefined bits are. Pairs of different sorts differ.
    #[must_use]
    pub fn inequality(&self, pairs: &[(SortedTerm, SortedTerm)]) -> String {
        let mut text = String::new();
        for (_, input) in &self.inputs {
            let is_used = pairs.iter().any(|(a, b)| {
                let name = self.terms.name(input.term);
                self.terms.mentions(a.term, name) || self.terms.mentions(b.term, name)
            });
            if is_used {
                let name = self.terms.name(input.term);
                let _ = writeln!(text, "(declare-const {name} {})", input.sort);
            }
        }
        let mut differences = String::new();
        for (a, b) in pairs {
            let _ = if a.sort == b.sort {
                let (a, b) = (self.text(*a), self.text(*b));
                write!(differences, "\n(distinct {a} {b})")
            } else {
                write!(differences, "\ntrue")
            };
        }
        let _ = writeln!(text, "(assert (or false{differences}))\n(check-sat)");
        text
    }
}

impl Applied {
    fn new(results: Vec<ResultTerm>) -> Self {
        let mut applied = Self {
            results: Vec::new(),
            carry: None,
        };
        for result in results {
            match result.destination {
                Destination::Carry => applied.carry = Some(result.term),
                _ => applied.results.push(result.term),
            }
        }
        applied
    }
}

/// The sort for a source of a form. A constant without a type has 64 bits.
pub(super) fn source_sort(inputs: &Inputs<'_>, index: usize) -> Sort {
    inputs.value_type(index).map_or(Sort::BitVec(64), Sort::of)
}
