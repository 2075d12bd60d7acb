//! Evaluation of forms for several threads at once.
//!
//! Integers of the notation are exact; here they have 128 bits. If an integer has more bits, or a value is neither an integer nor a predicate, there is no
//! result: [`fold_partial`](super::fold_partial) computes it for one thread at a time.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use ptx_isa::internals::{Destination, Expr};
use ptx_isa::{ExprFunction as Function, Modifier, Opcode, Role, ScalarType, TypeKind};

use super::computation::Inputs;
use super::parts::PARTS;
use super::{Folded, Sources, Video, element, float_functions, mask, signed, with_form};

/// The values of an operand or a result in several threads, at most 64 bits each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PerThread {
    /// The value is the same in all threads.
    Same(u64),
    /// The value of each thread, by the index of the thread.
    Each(Arc<[u64]>),
}

impl PerThread {
    /// Joins the values of all threads.
    #[must_use]
    pub fn from_values(values: Vec<u64>) -> Self {
        match values.first() {
            None => Self::Same(0),
            Some(first) if values.iter().all(|value| value == first) => Self::Same(*first),
            Some(_) => Self::Each(values.into()),
        }
    }

    /// The values of a function of the value of each thread.
    #[must_use]
    pub(crate) fn map(&self, function: impl Fn(u64) -> u64) -> Self {
        match self {
            Self::Same(value) => Self::Same(function(*value)),
            Self::Each(values) => Self::Each(values.iter().map(|value| function(*value)).collect()),
        }
    }

    /// The value in a thread; 0 if there is no such thread.
    #[must_use]
    pub fn get(&self, thread: usize) -> u64 {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values.get(thread).copied().unwrap_or(0),
        }
    }
}

/// The value of a subexpression in each thread.
#[derive(Clone, Debug)]
enum Column<T> {
    /// The value is the same in all threads.
    Same(T),
    /// The value of each thread, by the index of the thread.
    Each(Vec<T>),
}

impl<T: Copy> Column<T> {
    /// Applies a function to the value of each thread. `None` if it has no result in a thread.
    fn map<U>(&self, function: impl Fn(T) -> Option<U>) -> Option<Column<U>> {
        Some(match self {
            Self::Same(value) => Column::Same(function(*value)?),
            Self::Each(values) => {
                Column::Each(collect(values.iter().map(|value| function(*value)))?)
            }
        })
    }

    /// Applies a function to two values of each thread. `None` if it has no result in a thread.
    fn zip<B: Copy, U>(
        &self,
        right: &Column<B>,
        function: impl Fn(T, B) -> Option<U>,
    ) -> Option<Column<U>> {
        match (self, right) {
            (Self::Same(a), right) => right.map(|b| function(*a, b)),
            (left, Column::Same(b)) => left.map(|a| function(a, *b)),
            (Self::Each(left), Column::Each(right)) => {
                let results = left.iter().zip(right).map(|(a, b)| function(*a, *b));
                Some(Column::Each(collect(results)?))
            }
        }
    }

    fn get(&self, thread: usize) -> Option<T> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(thread).copied(),
        }
    }
}

/// Collects results; `None` if one of them is missing. Unlike `Iterator::collect`, it allocates once.
fn collect<T>(results: impl ExactSizeIterator<Item = Option<T>>) -> Option<Vec<T>> {
    let mut collected = Vec::with_capacity(results.len());
    for result in results {
        collected.push(result?);
    }
    Some(collected)
}

/// The value of an expression in each thread.
#[derive(Clone, Debug)]
enum Value {
    Integers(Column<i128>),
    Predicates(Column<bool>),
}

impl Value {
    fn integer(value: impl Into<i128>) -> Self {
        Self::Integers(Column::Same(value.into()))
    }

    fn predicate(holds: bool) -> Self {
        Self::Predicates(Column::Same(holds))
    }
}

/// The results of an instruction in several threads.
#[derive(Clone, Debug)]
pub struct FoldedColumns {
    value: Column<u64>,
    ty: ScalarType,
    second: Option<Column<bool>>,
}

impl FoldedColumns {
    /// The results in one thread.
    #[must_use]
    pub fn get(&self, thread: usize) -> Option<Folded> {
        Some(Folded {
            value: self.value.get(thread)?.into(),
            ty: self.ty,
            second: match &self.second {
                Some(second) => Some(second.get(thread)?),
                None => None,
            },
            carry: None,
        })
    }
}

/// The results of an instruction that neither reads nor writes the carry flag, for the operands of several threads at once; `None` if
/// [`fold_partial`](super::fold_partial) has to be called for each thread. Linear in the number of threads.
#[must_use]
pub fn fold_columns(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[PerThread],
) -> Option<FoldedColumns> {
    let of_first_thread: Vec<Option<u128>> = operands
        .iter()
        .map(|operand| Some(operand.get(0).into()))
        .collect();
    let sources = Sources {
        operands: &of_first_thread,
        carry: None,
        video: Video::default(),
    };
    with_form(opcode, modifiers, sources, |inputs| {
        let columns = Columns {
            inputs: *inputs,
            operands,
            assigned: Vec::new(),
        };
        columns.evaluate()
    })
}

/// The evaluation of a form.
struct Columns<'a> {
    /// The form, with the operands of the first thread.
    inputs: Inputs<'a>,
    operands: &'a [PerThread],
    /// The values of earlier assignments.
    assigned: Vec<Option<Value>>,
}

impl Columns<'_> {
    fn evaluate(mut self) -> Option<FoldedColumns> {
        let inputs = self.inputs;
        let computation = inputs.form.computation()?;
        let changes_result = inputs.has(Modifier::Sat) || inputs.has(Modifier::Relu);
        if computation.is_approximate() || changes_result || inputs.writes_carry() {
            return None;
        }
        let mut operands = inputs.form.operands().iter();
        let result = operands.position(|o| o.role() == Role::Def)?;
        let ty = self.scalar_type(result)?;
        let mut value = None;
        let mut second = None;
        for assignment in computation.assignments() {
            let mut assigned_value = self.value(&assignment.value());
            match (assignment.target(), &assigned_value) {
                (Destination::Operand(index), _) if usize::from(index) == result => {
                    value = Some(bits(ty, assigned_value.as_ref()?)?);
                    assigned_value = read(ty, value.as_ref()?);
                }
                (Destination::Operand(_), Some(Value::Predicates(holds))) => {
                    second = Some(holds.clone());
                }
                (Destination::Local, _) => {}
                _ => return None,
            }
            self.assigned.push(assigned_value);
        }
        Some(FoldedColumns {
            value: value?,
            ty,
            second,
        })
    }

    /// The type of an operand, if it is one integer or predicate of at most 64 bits.
    fn scalar_type(&self, operand: usize) -> Option<ScalarType> {
        let ty = self.inputs.value_type(operand)?;
        (ty.elements() <= 1 && !ty.is_float() && ty.bits() <= 64).then_some(ty)
    }

    fn value(&self, expr: &Expr) -> Option<Value> {
        let inputs = &self.inputs;
        Some(match *expr {
            Expr::Operand(index) => self.operand(index.into())?,
            Expr::Assigned(index) => self.assigned.get(usize::from(index))?.clone()?,
            Expr::Integer(value) => Value::integer(value),
            Expr::Has(modifier) => Value::predicate(inputs.has(modifier)),
            Expr::Filled(slot) => Value::predicate(inputs.slots.is_filled(slot.into())),
            Expr::If([condition, then, otherwise]) => match self.predicates(condition)? {
                Column::Same(true) => self.value(then)?,
                Column::Same(false) => self.value(otherwise)?,
                Column::Each(condition) => {
                    select(&condition, self.value(then)?, self.value(otherwise)?)?
                }
            },
            Expr::Call(function, list) => self.call(function, list)?,
            _ => return None,
        })
    }

    fn operand(&self, operand: usize) -> Option<Value> {
        let marks = self.inputs.form.operands().get(operand)?.marks();
        if marks.intersects(PARTS) {
            return None;
        }
        let value = self.operands.get(self.inputs.position(operand)?)?;
        let column = match value {
            PerThread::Same(bits) => Column::Same(*bits),
            PerThread::Each(values) => Column::Each(values.to_vec()),
        };
        match self.inputs.value_type(operand) {
            // The operand is a constant without a type.
            None => Some(Value::Integers(column.map(|bits| Some(bits.into()))?)),
            Some(_) => read(self.scalar_type(operand)?, &column),
        }
    }

    fn integers(&self, expr: &Expr) -> Option<Column<i128>> {
        match self.value(expr)? {
            Value::Integers(column) => Some(column),
            Value::Predicates(_) => None,
        }
    }

    fn predicates(&self, expr: &Expr) -> Option<Column<bool>> {
        match self.value(expr)? {
            Value::Predicates(column) => Some(column),
            Value::Integers(_) => None,
        }
    }

    /// The type that the first argument is.
    fn ty(&self, list: &[Expr]) -> Option<ScalarType> {
        self.inputs.scope().ty(list.first()?)
    }

    fn call(&self, function: Function, list: &[Expr]) -> Option<Value> {
        match function {
            Function::Width => Some(Value::integer(i128::from(element(self.ty(list)?).bits()))),
            Function::Signed => {
                let ty = element(self.ty(list)?);
                Some(Value::predicate(ty.kind() == TypeKind::Signed))
            }
            Function::Floating => Some(Value::predicate(element(self.ty(list)?).is_float())),
            Function::Packed => Some(Value::predicate(self.ty(list)?.elements() > 1)),
            Function::Unsigned => {
                let ones = mask(element(self.ty(list)?).bits()) as i128;
                let integers = self.integers(list.get(1)?)?;
                Some(Value::Integers(integers.map(|a| Some(a & ones))?))
            }
            Function::Not => Some(match self.value(list.first()?)? {
                Value::Integers(a) => Value::Integers(a.map(|a| Some(!a))?),
                Value::Predicates(a) => Value::Predicates(a.map(|a| Some(!a))?),
            }),
            Function::Negate | Function::Abs => {
                let a = self.integers(list.first()?)?;
                let result = match function {
                    Function::Abs => a.map(i128::checked_abs),
                    _ => a.map(i128::checked_neg),
                };
                result.map(Value::Integers)
            }
            Function::Compare => {
                let test = self.modifier(list.first()?)?;
                let (a, b) = (self.integers(list.get(1)?)?, self.integers(list.get(2)?)?);
                let holds = a.zip(&b, |a, b| float_functions::ordered(test, a.cmp(&b)))?;
                Some(Value::Predicates(holds))
            }
            Function::Combine => {
                let function = match self.modifier(list.first()?)? {
                    Modifier::And => Function::And,
                    Modifier::Or => Function::Or,
                    Modifier::Xor => Function::Xor,
                    _ => return None,
                };
                binary(
                    function,
                    self.value(list.get(1)?)?,
                    self.value(list.get(2)?)?,
                )
            }
            _ => match list {
                [a, b] => binary(function, self.value(a)?, self.value(b)?),
                _ => None,
            },
        }
    }

    fn modifier(&self, argument: &Expr) -> Option<Modifier> {
        self.inputs.scope().modifier(argument)
    }
}

/// The value of the lowest bits, interpreted as a type.
fn read(ty: ScalarType, bits: &Column<u64>) -> Option<Value> {
    let width = ty.bits();
    let ones = mask(width);
    Some(match ty.kind() {
        TypeKind::Predicate => Value::Predicates(bits.map(|bits| Some(bits != 0))?),
        TypeKind::Signed => {
            Value::Integers(bits.map(|bits| Some(signed(u128::from(bits) & ones, width)))?)
        }
        TypeKind::Unsigned | TypeKind::Bits => {
            Value::Integers(bits.map(|bits| Some((u128::from(bits) & ones) as i128))?)
        }
        _ => return None,
    })
}

/// The bits of a value in a result.
fn bits(ty: ScalarType, value: &Value) -> Option<Column<u64>> {
    let ones = mask(ty.bits());
    match value {
        Value::Predicates(column) => column.map(|bit| Some(bit.into())),
        Value::Integers(column) => column.map(|value| u64::try_from(value as u128 & ones).ok()),
    }
}

/// One of two values, selected by a condition in each thread.
fn select(condition: &[bool], then: Value, otherwise: Value) -> Option<Value> {
    Some(match (then, otherwise) {
        (Value::Integers(a), Value::Integers(b)) => {
            Value::Integers(select_column(condition, &a, &b)?)
        }
        (Value::Predicates(a), Value::Predicates(b)) => {
            Value::Predicates(select_column(condition, &a, &b)?)
        }
        _ => return None,
    })
}

fn select_column<T: Copy>(
    condition: &[bool],
    then: &Column<T>,
    otherwise: &Column<T>,
) -> Option<Column<T>> {
    let selected = condition.iter().enumerate().map(|(thread, holds)| {
        if *holds {
            then.get(thread)
        } else {
            otherwise.get(thread)
        }
    });
    Some(Column::Each(selected.collect::<Option<_>>()?))
}

/// The value of a function of two values.
fn binary(function: Function, a: Value, b: Value) -> Option<Value> {
    match (a, b) {
        (Value::Predicates(a), Value::Predicates(b)) => {
            let holds = match function {
                Function::And => a.zip(&b, |a, b| Some(a && b)),
                Function::Or => a.zip(&b, |a, b| Some(a || b)),
                Function::Xor => a.zip(&b, |a, b| Some(a != b)),
                _ => None,
            };
            holds.map(Value::Predicates)
        }
        (Value::Integers(a), Value::Integers(b)) => match comparison(function) {
            Some(test) => Some(Value::Predicates(a.zip(&b, |a, b| Some(test(a.cmp(&b))))?)),
            None => arithmetic(function, &a, &b).map(Value::Integers),
        },
        _ => None,
    }
}

/// The test of an order that a comparison is; `None` for other functions.
fn comparison(function: Function) -> Option<fn(Ordering) -> bool> {
    Some(match function {
        Function::Equal => Ordering::is_eq,
        Function::NotEqual => Ordering::is_ne,
        Function::Less => Ordering::is_lt,
        Function::LessEqual => Ordering::is_le,
        Function::Greater => Ordering::is_gt,
        Function::GreaterEqual => Ordering::is_ge,
        _ => return None,
    })
}

fn arithmetic(function: Function, a: &Column<i128>, b: &Column<i128>) -> Option<Column<i128>> {
    match function {
        Function::Add => a.zip(b, i128::checked_add),
        Function::Sub => a.zip(b, i128::checked_sub),
        Function::Mul => a.zip(b, i128::checked_mul),
        Function::Div => a.zip(b, i128::checked_div),
        Function::Rem => a.zip(b, i128::checked_rem),
        Function::Min => a.zip(b, |a, b| Some(a.min(b))),
        Function::Max => a.zip(b, |a, b| Some(a.max(b))),
        Function::And => a.zip(b, |a, b| Some(a & b)),
        Function::Or => a.zip(b, |a, b| Some(a | b)),
        Function::Xor => a.zip(b, |a, b| Some(a ^ b)),
        Function::ShiftLeft => a.zip(b, |a, amount| {
            let amount = u32::try_from(amount).ok()?;
            let shifted = a.checked_shl(amount)?;
            (shifted >> amount == a).then_some(shifted)
        }),
        Function::ShiftRight => a.zip(b, |a, amount| {
            Some(a >> u32::try_from(amount).ok()?.min(127))
        }),
        _ => None,
    }
}
