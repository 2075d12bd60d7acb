//! Translation of expressions to terms.

use super::NotExpressible;
use super::definition::{CARRY, Sort, UNDEFINED, sources};
use super::float::Float;
use super::integer::Integer;
use super::number::Number;
use super::term::{Bits, Term, Terms};
use crate::fold::computation::{Inputs, Scope, element_width, is_source};
use crate::fold::element;
use crate::fold::value::exact;
use alloc::format;
use alloc::vec::Vec;
use ptx_isa::internals::{Assignment, Computation, Destination, Expr};
use ptx_isa::{ExprFunction as Function, Marks, Role, ScalarType, TypeKind};

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Integer(Integer),
    Predicate(Term),
    Number(Number),
}

/// The kind of the value of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Integer,
    Predicate,
    Number,
    /// An undefined value, which can have any kind.
    Undefined,
}

/// An earlier assignment.
#[derive(Clone, Debug)]
enum Assigned {
    /// The expression that was assigned to a name. It is translated at each use.
    Local(Expr),
    /// The value that was assigned to a result.
    Result(Value),
}

/// The terms of the sources of an instruction in a script.
#[derive(Debug)]
pub(super) struct Bindings {
    /// The term of each operand of the form; `None` for operands that are not sources.
    pub(super) operands: Vec<Option<Term>>,
    pub(super) carry: Term,
    /// The number of the undefined bits of the first operand. Those of the other operands have the following numbers.
    pub(super) undefined: u32,
}

/// The translation of the computation of a form.
#[derive(Debug)]
pub(super) struct Translation<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) terms: Terms,
    assignments: &'static [Assignment],
    assigned: Vec<Assigned>,
    /// The terms of the sources; `None` if the names of the operands are their terms.
    bindings: Option<Bindings>,
    /// The operand that the current assignment assigns to.
    result: usize,
    /// The index of the current element of packed operands.
    element_index: u32,
    /// The conditions of the branches around the current expression, and whether they hold.
    assumed: Vec<(Term, bool)>,
}

impl<'a> Translation<'a> {
    /// A translation in which the names of the operands are their terms.
    pub(super) fn new(inputs: &'a Inputs<'a>) -> Result<Self, NotExpressible> {
        let computation = inputs.form.computation().ok_or(NotExpressible::Unstated)?;
        Ok(Self {
            inputs,
            terms: Terms::default(),
            assignments: computation.assignments(),
            assigned: Vec::new(),
            bindings: None,
            result: 0,
            element_index: 0,
            assumed: Vec::new(),
        })
    }

    /// A translation to terms of a script.
    pub(super) fn with_bindings(
        inputs: &'a Inputs<'a>,
        computation: &'static Computation,
        terms: Terms,
        bindings: Bindings,
    ) -> Self {
        Self {
            inputs,
            terms,
            assignments: computation.assignments(),
            assigned: Vec::new(),
            bindings: Some(bindings),
            result: 0,
            element_index: 0,
            assumed: Vec::new(),
        }
    }

    /// The term of a source.
    pub(super) fn source(&mut self, operand: usize, name: &'static str) -> Term {
        let binding = self.bindings.as_ref().map(|b| b.operands.get(operand));
        match binding {
            Some(Some(Some(term))) => *term,
            _ => self.terms.leaf(name),
        }
    }

    /// The results and the carry flag, if it is written.
    pub(super) fn results(&mut self) -> Result<Vec<(Destination, Term, Sort)>, NotExpressible> {
        let first = self
            .inputs
            .form
            .operands()
            .iter()
            .position(|operand| operand.role() == Role::Def)
            .ok_or(NotExpressible::Unstated)?;
        let first_destination = Destination::Operand(first as u8);
        let result_type = self.result_type(first)?;
        let mut results: Vec<(Destination, Term, Sort)> = Vec::new();
        for element_index in 0..u32::from(result_type.elements().max(1)) {
            self.element_index = element_index;
            for (destination, term) in self.element_results()? {
                let result = results
                    .iter_mut()
                    .find(|(existing, ..)| *existing == destination);
                match result {
                    Some((_, low_elements, _)) if destination == first_destination => {
                        *low_elements = self.terms.apply("concat", &[term, *low_elements]);
                    }
                    Some((_, previous, _)) => *previous = term,
                    None => results.push((destination, term, self.sort(destination)?)),
                }
            }
        }
        Ok(results)
    }

    /// The results for the current element of packed operands.
    fn element_results(&mut self) -> Result<Vec<(Destination, Term)>, NotExpressible> {
        self.assigned.clear();
        let mut results = Vec::new();
        for assignment in self.assignments {
            let (destination, expr) = (assignment.target(), assignment.value());
            let assigned = match destination {
                Destination::Operand(index) => {
                    self.result = index.into();
                    let (term, value) = self.assign(index.into(), &expr)?;
                    results.push((destination, term));
                    Assigned::Result(value)
                }
                Destination::Carry if self.inputs.writes_carry() => {
                    let flag = self.low_bits(&expr, 1)?;
                    results.push((destination, self.terms.lowest_bit(flag)));
                    Assigned::Local(expr)
                }
                _ => Assigned::Local(expr),
            };
            self.assigned.push(assigned);
        }
        Ok(results)
    }

    /// The sort that a result or the carry flag has.
    fn sort(&self, destination: Destination) -> Result<Sort, NotExpressible> {
        match destination {
            Destination::Operand(index) => Ok(Sort::of(self.result_type(index.into())?)),
            _ => Ok(Sort::Bool),
        }
    }

    /// The type of a result.
    pub(super) fn result_type(&self, operand: usize) -> Result<ScalarType, NotExpressible> {
        self.inputs
            .value_type(operand)
            .ok_or(NotExpressible::Construct("a result without a type"))
    }

    /// The undefined bits of the current element of a result of this type.
    pub(super) fn undefined(&mut self, result_type: ScalarType) -> Bits {
        let term = match &self.bindings {
            Some(bindings) => {
                let number = bindings.undefined + self.result as u32;
                self.terms.leaf(format!("undefined{number}"))
            }
            None => self.terms.leaf(UNDEFINED),
        };
        let width = u32::from(result_type.bits());
        let result_bits = Bits { term, width };
        match result_type.elements() {
            0 | 1 => result_bits,
            lanes => {
                let width = width / u32::from(lanes);
                self.terms
                    .extract(result_bits, self.element_index * width, width)
            }
        }
    }

    /// The scope in which types and modifiers are looked up.
    pub(super) fn scope(&self) -> Scope<'a> {
        self.inputs.scope()
    }

    /// The expression of an earlier assignment to a name.
    pub(super) fn local(&self, index: u8) -> Option<Expr> {
        match self.assigned.get(usize::from(index)) {
            Some(Assigned::Local(expr)) => Some(*expr),
            _ => None,
        }
    }

    /// The kind of the value of an expression.
    pub(super) fn kind(&self, expr: &Expr) -> Result<Kind, NotExpressible> {
        Ok(match *expr {
            Expr::Operand(index) => self.operand_kind(index),
            Expr::Assigned(index) => match self.assigned.get(usize::from(index)) {
                Some(Assigned::Local(expr)) => self.kind(expr)?,
                Some(Assigned::Result(Value::Integer(_))) => Kind::Integer,
                Some(Assigned::Result(Value::Predicate(_))) => Kind::Predicate,
                Some(Assigned::Result(Value::Number(_))) => Kind::Number,
                None => return Err(NotExpressible::Construct("a name before its assignment")),
            },
            Expr::Carry | Expr::Integer(_) | Expr::Lane => Kind::Integer,
            Expr::Has(_) | Expr::Filled(_) => Kind::Predicate,
            Expr::Undefined => Kind::Undefined,
            Expr::If([_, then, otherwise]) => joined(self.kind(then)?, self.kind(otherwise)?),
            Expr::Call(function, list) => self.call_kind(function, list)?,
            _ => return Err(NotExpressible::Construct("an argument without a value")),
        })
    }

    fn operand_kind(&self, operand: u8) -> Kind {
        let type_kind = self
            .inputs
            .value_type(operand.into())
            .map(|ty| element(ty).kind());
        match type_kind {
            Some(TypeKind::Predicate) => Kind::Predicate,
            None | Some(TypeKind::Signed | TypeKind::Unsigned) => Kind::Integer,
            Some(TypeKind::Bits | TypeKind::Fixed) => Kind::Integer,
            _ => Kind::Number,
        }
    }

    fn call_kind(&self, function: Function, list: &[Expr]) -> Result<Kind, NotExpressible> {
        match function {
            Function::Add
            | Function::Sub
            | Function::Mul
            | Function::Div
            | Function::Rem
            | Function::Negate
            | Function::Min
            | Function::Max
            | Function::Abs
            | Function::And
            | Function::Or
            | Function::Xor
            | Function::Not => self.common_kind(list),
            Function::Element => list.first().map_or(Ok(Kind::Undefined), |a| self.kind(a)),
            Function::Equal
            | Function::NotEqual
            | Function::Less
            | Function::LessEqual
            | Function::Greater
            | Function::GreaterEqual
            | Function::Test
            | Function::Floating
            | Function::Signed
            | Function::Packed
            | Function::Compare
            | Function::Combine => Ok(Kind::Predicate),
            Function::Sqrt
            | Function::Number
            | Function::Integral
            | Function::Copysign
            | Function::Xorsign => Ok(Kind::Number),
            Function::ShiftLeft
            | Function::ShiftRight
            | Function::Width
            | Function::Highest
            | Function::Unsigned
            | Function::Field
            | Function::Ones
            | Function::Popcount
            | Function::BitLength
            | Function::Reverse
            | Function::FindNth
            | Function::Carryless
            | Function::Lookup
            | Function::Convert
            | Function::Bits
            | Function::Saturate
            | Function::Length
            | Function::Sign
            | Function::Merge
            | Function::Sum
            | Function::Byte => Ok(Kind::Integer),
            _ => Err(NotExpressible::Function(function)),
        }
    }

    /// The common kind of expressions.
    fn common_kind(&self, list: &[Expr]) -> Result<Kind, NotExpressible> {
        let mut kind = Kind::Undefined;
        for expr in list {
            kind = joined(kind, self.kind(expr)?);
        }
        Ok(kind)
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Value, NotExpressible> {
        Ok(match *expr {
            Expr::Operand(index) => self.operand(index.into(), self.element_index)?,
            Expr::Assigned(index) => match self.assigned.get(usize::from(index)) {
                Some(Assigned::Local(expr)) => {
                    let expr = *expr;
                    self.value(&expr)?
                }
                Some(Assigned::Result(value)) => value.clone(),
                None => return Err(NotExpressible::Construct("a name before its assignment")),
            },
            Expr::Carry => {
                let flag = match &self.bindings {
                    Some(bindings) => bindings.carry,
                    None => self.terms.leaf(CARRY),
                };
                Value::Integer(self.terms.zero_or_one(flag))
            }
            Expr::Lane => Value::Integer(self.terms.constant(exact(self.element_index.into()))),
            Expr::Integer(value) => Value::Integer(self.terms.constant(exact(value))),
            Expr::Has(modifier) => Value::Predicate(self.terms.truth(self.inputs.has(modifier))),
            Expr::Filled(slot) => {
                let is_filled = self.inputs.slots.is_filled(slot.into());
                Value::Predicate(self.terms.truth(is_filled))
            }
            Expr::If([condition, then, otherwise]) => {
                self.selected_value(condition, then, otherwise)?
            }
            Expr::Call(function, list) => self.call(function, list)?,
            Expr::Undefined => {
                return Err(NotExpressible::Construct("a part that is undefined"));
            }
            _ => return Err(NotExpressible::Construct("an argument without a value")),
        })
    }

    pub(super) fn integer(&mut self, expr: &Expr) -> Result<Integer, NotExpressible> {
        match self.value(expr)? {
            Value::Integer(value) => Ok(value),
            _ => Err(NotExpressible::Construct(
                "an integer made of a number or a predicate",
            )),
        }
    }

    pub(super) fn predicate(&mut self, expr: &Expr) -> Result<Term, NotExpressible> {
        match self.value(expr)? {
            Value::Predicate(value) => Ok(value),
            _ => Err(NotExpressible::Construct(
                "a condition that is not a predicate",
            )),
        }
    }

    pub(super) fn number(&mut self, expr: &Expr) -> Result<Number, NotExpressible> {
        match self.value(expr)? {
            Value::Number(value) => Ok(value),
            Value::Integer(value) => Ok(Number::Integer(value)),
            Value::Predicate(_) => Err(NotExpressible::Construct("a number made of a predicate")),
        }
    }

    /// The element of a packed operand with an index; the value of an operand that is not packed.
    pub(super) fn operand(
        &mut self,
        operand: usize,
        element_index: u32,
    ) -> Result<Value, NotExpressible> {
        let definition = self
            .inputs
            .form
            .operands()
            .get(operand)
            .filter(|definition| is_source(definition))
            .ok_or(NotExpressible::Construct(
                "an address or a special register",
            ))?;
        let term = self.source(operand, definition.name());
        let Some(ty) = self.inputs.value_type(operand) else {
            // The operand is a constant without a type.
            return Ok(Value::Integer(Terms::natural(Bits { term, width: 64 })));
        };
        if ty == ScalarType::Pred {
            return Ok(Value::Predicate(term));
        }
        let operand_bits = Bits {
            term,
            width: ty.bits().into(),
        };
        if let Some(parts) = self.inputs.parts(operand) {
            let part = parts
                .get(element_index as usize)
                .ok_or(NotExpressible::Construct("a lane that an operand lacks"))?;
            let has_lanes = definition
                .marks()
                .intersects(Marks::LANES16.union(Marks::LANES8));
            // Lanes are numbered through the registers of the first two sources. Parts of other operands are in their own register.
            let register = if has_lanes {
                self.source_register(part.position / operand_bits.width)?
            } else {
                term
            };
            let register_bits = Bits {
                term: register,
                ..operand_bits
            };
            let position = part.position % operand_bits.width;
            let bits = self
                .terms
                .extract(register_bits, position, part.length.into());
            return Ok(Value::Integer(match ty.kind() {
                TypeKind::Signed => Terms::signed(bits),
                _ => Terms::natural(bits),
            }));
        }
        let element_type = element(ty);
        let position = match ty.elements() {
            0 | 1 => 0,
            _ => element_index * u32::from(element_width(ty)),
        };
        let bits = self
            .terms
            .extract(operand_bits, position, element_type.bits().into());
        self.read(element_type, bits, self.inputs.flushes(element_type))
    }

    /// The term of the source with this number.
    fn source_register(&mut self, number: u32) -> Result<Term, NotExpressible> {
        let (index, operand) = sources(self.inputs.form, self.inputs.slots)
            .nth(number as usize)
            .ok_or(NotExpressible::Construct("a lane that an operand lacks"))?;
        Ok(self.source(index, operand.name()))
    }

    /// The value of bits, interpreted as a type. A subnormal number counts as zero if `flush`.
    pub(super) fn read(
        &mut self,
        ty: ScalarType,
        bits: Bits,
        flush: bool,
    ) -> Result<Value, NotExpressible> {
        Ok(match ty.kind() {
            TypeKind::Signed | TypeKind::Fixed => Value::Integer(Terms::signed(bits)),
            TypeKind::Unsigned | TypeKind::Bits => Value::Integer(Terms::natural(bits)),
            _ => Value::Number(Number::Exact(Float::read(
                &mut self.terms,
                ty,
                bits,
                flush,
            )?)),
        })
    }

    /// The value of one of two expressions, selected by a condition.
    fn selected_value(
        &mut self,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
    ) -> Result<Value, NotExpressible> {
        let condition = self.predicate(condition)?;
        match self.decided(condition) {
            Some(true) => return self.value(then),
            Some(false) => return self.value(otherwise),
            None => {}
        }
        let then = self.assuming(condition, true, |translation| translation.value(then))?;
        let otherwise =
            self.assuming(condition, false, |translation| translation.value(otherwise))?;
        Ok(match (then, otherwise) {
            (Value::Integer(a), Value::Integer(b)) => {
                Value::Integer(self.terms.select(condition, a, b))
            }
            (Value::Predicate(a), Value::Predicate(b)) => {
                Value::Predicate(self.terms.ite(condition, a, b))
            }
            (Value::Number(a), Value::Number(b)) => {
                let [a, b] = self.terms.aligned_floats(a, b)?;
                Value::Number(Number::Exact(
                    a.replaced(self.terms.ite(condition, a.term, b.term)),
                ))
            }
            _ => {
                return Err(NotExpressible::Construct(
                    "branches with different kinds of values",
                ));
            }
        })
    }

    /// The bits of one of two branches, selected by a condition. `translate` translates a branch; it gets the value of the condition.
    pub(super) fn branch(
        &mut self,
        condition: Term,
        width: u32,
        mut translate: impl FnMut(&mut Self, bool) -> Result<Bits, NotExpressible>,
    ) -> Result<Bits, NotExpressible> {
        if let Some(holds) = self.decided(condition) {
            return translate(self, holds);
        }
        let then = self.assuming(condition, true, |this| translate(this, true))?;
        let otherwise = self.assuming(condition, false, |this| translate(this, false))?;
        let selected = self.terms.choose(condition, then, otherwise);
        Ok(Bits { width, ..selected })
    }

    /// Calls `translate` with another element as the current one.
    pub(super) fn in_element<T>(
        &mut self,
        element_index: u32,
        translate: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let previous = core::mem::replace(&mut self.element_index, element_index);
        let result = translate(self);
        self.element_index = previous;
        result
    }

    /// Calls `translate` under the assumption that a condition holds or not.
    fn assuming<T>(
        &mut self,
        condition: Term,
        holds: bool,
        translate: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.assumed.push((condition, holds));
        let result = translate(self);
        self.assumed.pop();
        result
    }

    /// Whether a condition holds, if it is a constant or assumed.
    pub(super) fn decided(&self, condition: Term) -> Option<bool> {
        let assumption = self
            .assumed
            .iter()
            .find(|(assumed, _)| *assumed == condition);
        self.terms
            .decided(condition)
            .or(assumption.map(|(_, holds)| *holds))
    }
}

/// The common kind of two values.
fn joined(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        (Kind::Undefined, kind) | (kind, Kind::Undefined) => kind,
        (Kind::Number, _) | (_, Kind::Number) => Kind::Number,
        (a, _) => a,
    }
}
