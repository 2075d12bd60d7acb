//! Expressions as terms.

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
use ptx_isa::{
    Assignment, Computation, Destination, Expr, ExprFunction as Function, Marks, Role, ScalarType,
    TypeKind,
};

/// The value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Integer(Integer),
    Predicate(Term),
    Number(Number),
}

/// What kind of value an expression has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Integer,
    Predicate,
    Number,
    /// Any: it is undefined.
    Open,
}

/// An earlier assignment.
#[derive(Clone, Debug)]
enum Assigned {
    /// To a name: its expression is used as it is.
    Local(Expr),
    /// To a result: the value that the result has.
    Result(Value),
}

/// The terms that the sources of an instruction have in a script.
#[derive(Debug)]
pub(super) struct Bindings {
    /// By the index of the operand of the form; `None` for operands that are not sources.
    pub(super) operands: Vec<Option<Term>>,
    pub(super) carry: Term,
    /// The number of the undefined bits of the first operand. Those of the other operands have the following numbers.
    pub(super) undefined: u32,
}

/// The translation of what a form computes.
#[derive(Debug)]
pub(super) struct Translation<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) terms: Terms,
    assignments: &'static [Assignment],
    assigned: Vec<Assigned>,
    /// The terms of the sources; `None` if the names of the operands are their terms.
    bindings: Option<Bindings>,
    /// The operand that is assigned to.
    result: usize,
    /// The element of packed operands.
    lane: u32,
    /// Conditions of the branches that the expression is in, and whether they hold.
    assumed: Vec<(Term, bool)>,
}

impl<'a> Translation<'a> {
    pub(super) fn new(inputs: &'a Inputs<'a>) -> Result<Self, NotExpressible> {
        let computation = inputs.form.computation().ok_or(NotExpressible::Unstated)?;
        Ok(Self {
            inputs,
            terms: Terms::default(),
            assignments: computation.assignments(),
            assigned: Vec::new(),
            bindings: None,
            result: 0,
            lane: 0,
            assumed: Vec::new(),
        })
    }

    /// The translation to terms of a script.
    pub(super) fn bound(
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
            lane: 0,
            assumed: Vec::new(),
        }
    }

    /// The term of a source.
    pub(super) fn source(&mut self, operand: usize, name: &'static str) -> Term {
        let bound = self.bindings.as_ref().map(|b| b.operands.get(operand));
        match bound {
            Some(Some(Some(term))) => *term,
            _ => self.terms.leaf(name),
        }
    }

    /// The results and the carry flag, if it is written.
    pub(super) fn results(&mut self) -> Result<Vec<(Destination, Term, Sort)>, NotExpressible> {
        let mut operands = self.inputs.form.operands().iter();
        let first = operands.position(|o| o.role() == Role::Def);
        let first = first.ok_or(NotExpressible::Unstated)?;
        let whole = self.result_type(first)?;
        let mut found: Vec<(Destination, Term, Sort)> = Vec::new();
        for lane in 0..u32::from(whole.lanes().max(1)) {
            self.lane = lane;
            for (destination, term) in self.lane_results()? {
                match found.iter_mut().find(|(of, ..)| *of == destination) {
                    Some((_, lower, _)) if destination == Destination::Operand(first as u8) => {
                        *lower = self.terms.apply("concat", &[term, *lower]);
                    }
                    Some((_, earlier, _)) => *earlier = term,
                    None => found.push((destination, term, self.sort(destination)?)),
                }
            }
        }
        Ok(found)
    }

    /// The results for one element of packed operands.
    fn lane_results(&mut self) -> Result<Vec<(Destination, Term)>, NotExpressible> {
        self.assigned.clear();
        let mut results = Vec::new();
        for assignment in self.assignments {
            let (destination, expr) = (assignment.target(), assignment.value());
            let assigned = match destination {
                Destination::Operand(at) => {
                    self.result = at.into();
                    let (term, value) = self.assign(at.into(), &expr)?;
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

    fn sort(&self, destination: Destination) -> Result<Sort, NotExpressible> {
        match destination {
            Destination::Operand(at) => Ok(Sort::of(self.result_type(at.into())?)),
            _ => Ok(Sort::Bool),
        }
    }

    /// The type of a result.
    pub(super) fn result_type(&self, operand: usize) -> Result<ScalarType, NotExpressible> {
        let ty = self.inputs.value_type(operand);
        ty.ok_or(NotExpressible::Construct("a result without a type"))
    }

    /// What is left open of the current element of a result of this type.
    pub(super) fn undefined(&mut self, whole: ScalarType) -> Bits {
        let term = match &self.bindings {
            Some(bindings) => {
                let number = bindings.undefined + self.result as u32;
                self.terms.leaf(format!("undefined{number}"))
            }
            None => self.terms.leaf(UNDEFINED),
        };
        let width = u32::from(whole.bits());
        let all = Bits { term, width };
        match whole.lanes() {
            0 | 1 => all,
            lanes => {
                let width = width / u32::from(lanes);
                self.terms.extract(all, self.lane * width, width)
            }
        }
    }

    /// Where types and modifiers are looked up.
    pub(super) fn scope(&self) -> Scope<'a> {
        self.inputs.scope()
    }

    /// The expression of an earlier assignment to a name.
    pub(super) fn local(&self, at: u8) -> Option<Expr> {
        match self.assigned.get(usize::from(at)) {
            Some(Assigned::Local(expr)) => Some(*expr),
            _ => None,
        }
    }

    /// What kind of value an expression has.
    pub(super) fn kind(&self, expr: &Expr) -> Result<Kind, NotExpressible> {
        Ok(match *expr {
            Expr::Operand(at) => self.operand_kind(at),
            Expr::Assigned(at) => match self.assigned.get(usize::from(at)) {
                Some(Assigned::Local(expr)) => self.kind(expr)?,
                Some(Assigned::Result(Value::Integer(_))) => Kind::Integer,
                Some(Assigned::Result(Value::Predicate(_))) => Kind::Predicate,
                Some(Assigned::Result(Value::Number(_))) => Kind::Number,
                None => return Err(NotExpressible::Construct("a name before its assignment")),
            },
            Expr::Carry | Expr::Integer(_) | Expr::Lane => Kind::Integer,
            Expr::Has(_) | Expr::Filled(_) => Kind::Predicate,
            Expr::Undefined => Kind::Open,
            Expr::If([_, then, otherwise]) => joined(self.kind(then)?, self.kind(otherwise)?),
            Expr::Call(function, list) => self.call_kind(function, list)?,
            _ => return Err(NotExpressible::Construct("an argument without a value")),
        })
    }

    fn operand_kind(&self, at: u8) -> Kind {
        let ty = self
            .inputs
            .value_type(at.into())
            .map(|ty| element(ty).kind());
        match ty {
            Some(TypeKind::Predicate) => Kind::Predicate,
            None | Some(TypeKind::Signed | TypeKind::Unsigned) => Kind::Integer,
            Some(TypeKind::Bits | TypeKind::Fixed) => Kind::Integer,
            _ => Kind::Number,
        }
    }

    fn call_kind(&self, function: Function, list: &[Expr]) -> Result<Kind, NotExpressible> {
        let of_arguments = || {
            let mut kind = Kind::Open;
            for argument in list {
                kind = joined(kind, self.kind(argument)?);
            }
            Ok(kind)
        };
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
            | Function::Not => of_arguments(),
            Function::Element => list.first().map_or(Ok(Kind::Open), |a| self.kind(a)),
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

    pub(super) fn value(&mut self, expr: &Expr) -> Result<Value, NotExpressible> {
        Ok(match *expr {
            Expr::Operand(at) => self.operand(at.into(), self.lane)?,
            Expr::Assigned(at) => match self.assigned.get(usize::from(at)) {
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
            Expr::Lane => Value::Integer(self.terms.constant(exact(self.lane.into()))),
            Expr::Integer(value) => Value::Integer(self.terms.constant(exact(value))),
            Expr::Has(modifier) => Value::Predicate(self.terms.truth(self.inputs.has(modifier))),
            Expr::Filled(slot) => {
                let filled = self.inputs.slots.is_filled(slot.into());
                Value::Predicate(self.terms.truth(filled))
            }
            Expr::If([when, then, otherwise]) => self.either(when, then, otherwise)?,
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

    /// An element of an operand; of one that is not packed, its value.
    pub(super) fn operand(&mut self, at: usize, lane: u32) -> Result<Value, NotExpressible> {
        let operand = self.inputs.form.operands().get(at);
        let operand = operand.filter(|o| is_source(o));
        let operand = operand.ok_or(NotExpressible::Construct(
            "an address or a special register",
        ))?;
        let term = self.source(at, operand.name());
        let is_lane = operand
            .marks()
            .intersects(Marks::LANES16.union(Marks::LANES8));
        let Some(whole) = self.inputs.value_type(at) else {
            // A constant without a type.
            return Ok(Value::Integer(Terms::natural(Bits { term, width: 64 })));
        };
        if whole == ScalarType::Pred {
            return Ok(Value::Predicate(term));
        }
        let all = Bits {
            term,
            width: whole.bits().into(),
        };
        if let Some(parts) = self.inputs.parts(at) {
            let part = parts.get(lane as usize);
            let part = part.ok_or(NotExpressible::Construct("a lane that an operand lacks"))?;
            // Lanes are numbered through the registers of the first two sources; a part of another operand is in its own register.
            let register = match is_lane {
                true => self.register_of_lane(part.position / all.width)?,
                false => term,
            };
            let register = Bits {
                term: register,
                ..all
            };
            let position = part.position % all.width;
            let bits = self.terms.extract(register, position, part.length.into());
            return Ok(Value::Integer(match whole.kind() {
                TypeKind::Signed => Terms::signed(bits),
                _ => Terms::natural(bits),
            }));
        }
        let part = element(whole);
        let offset = match whole.lanes() {
            0 | 1 => 0,
            _ => lane * u32::from(element_width(whole)),
        };
        let bits = self.terms.extract(all, offset, part.bits().into());
        self.read(part, bits, self.inputs.flushes(part))
    }

    /// The register of the first or the second source.
    fn register_of_lane(&mut self, number: u32) -> Result<Term, NotExpressible> {
        let mut sources = sources(self.inputs.form, self.inputs.slots);
        let source = sources.nth(number as usize);
        let (index, operand) =
            source.ok_or(NotExpressible::Construct("a lane that an operand lacks"))?;
        Ok(self.source(index, operand.name()))
    }

    /// The value of bits by their type; with `flush` a subnormal number counts as zero.
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

    /// The value of one of two expressions.
    fn either(
        &mut self,
        when: &Expr,
        then: &Expr,
        otherwise: &Expr,
    ) -> Result<Value, NotExpressible> {
        let when = self.predicate(when)?;
        match self.decided(when) {
            Some(true) => return self.value(then),
            Some(false) => return self.value(otherwise),
            None => {}
        }
        let then = self.assuming(when, true, |this| this.value(then))?;
        let otherwise = self.assuming(when, false, |this| this.value(otherwise))?;
        Ok(match (then, otherwise) {
            (Value::Integer(a), Value::Integer(b)) => Value::Integer(self.terms.select(when, a, b)),
            (Value::Predicate(a), Value::Predicate(b)) => {
                Value::Predicate(self.terms.ite(when, a, b))
            }
            (Value::Number(a), Value::Number(b)) => {
                let [a, b] = self.terms.aligned_floats(a, b)?;
                Value::Number(Number::Exact(
                    a.replaced(self.terms.ite(when, a.term, b.term)),
                ))
            }
            _ => {
                return Err(NotExpressible::Construct(
                    "branches with different kinds of values",
                ));
            }
        })
    }

    /// The bits of one of two branches, each made under its condition.
    pub(super) fn branch(
        &mut self,
        when: Term,
        width: u32,
        mut make: impl FnMut(&mut Self, bool) -> Result<Bits, NotExpressible>,
    ) -> Result<Bits, NotExpressible> {
        if let Some(taken) = self.decided(when) {
            return make(self, taken);
        }
        let then = self.assuming(when, true, |this| make(this, true))?;
        let otherwise = self.assuming(when, false, |this| make(this, false))?;
        let chosen = self.terms.choose(when, then, otherwise);
        Ok(Bits { width, ..chosen })
    }

    /// Makes something for another element.
    pub(super) fn in_lane<T>(&mut self, lane: u32, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = core::mem::replace(&mut self.lane, lane);
        let made = make(self);
        self.lane = before;
        made
    }

    fn assuming<T>(&mut self, when: Term, holds: bool, make: impl FnOnce(&mut Self) -> T) -> T {
        self.assumed.push((when, holds));
        let made = make(self);
        self.assumed.pop();
        made
    }

    /// Whether a condition holds here, if that is known.
    pub(super) fn decided(&self, condition: Term) -> Option<bool> {
        let mut assumed = self.assumed.iter();
        let known = assumed.find(|(of, _)| *of == condition);
        self.terms
            .decided(condition)
            .or(known.map(|(_, holds)| *holds))
    }
}

/// The kind of what is one of both.
fn joined(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        (Kind::Open, kind) | (kind, Kind::Open) => kind,
        (Kind::Number, _) | (_, Kind::Number) => Kind::Number,
        (a, _) => a,
    }
}
