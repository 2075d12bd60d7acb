//! The values that instructions write.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, RegisterComponent, TypedOperand};
use ptx_ir::{ConstKind, Operand, StmtId};
use ptx_isa::internals::{Destination, Length};
use ptx_isa::{Action, Marks, Modifier, ScalarType, TypeKind, Uniformity};

use super::expression::{Scope, Term, selected};
use super::number::{Number, ones, varying_bits};
use super::rows::Rows;
use super::{Assumed, Fact, Masks, WarpValues};
use crate::cfg::BlockId;
use crate::memory_access::requests::LANES;
use crate::reg_lanes::VariableId;
use crate::ssa::{Ssa, ValueId};
use crate::values::{AffineSymbol, AffineSymbolId};

/// The maximum number of operands of a form whose values are used.
const MAX_OPERANDS: usize = 12;
/// The alignment of the windows of state spaces in the generic address space.
const WINDOW_BITS: u32 = 8;
/// The alignment of allocations of global memory.
const ALLOCATION_BITS: u32 = 8;
/// A mask of all lanes as the operand of a shuffle.
const ALL_LANES: i128 = 0xffff_ffff;

impl<'a> WarpValues<'a> {
    /// The value of a register after a statement.
    pub(super) fn definition(
        &self,
        stmt: StmtId,
        variable: VariableId,
        old: Option<ValueId>,
    ) -> Fact {
        let id = self
            .ssa
            .defs(stmt)
            .find(|def| self.ssa.variable(*def) == Some(variable));
        let (Some(id), Some(block)) = (id, self.function.cfg().of_statement(stmt)) else {
            return Fact::Unknown;
        };
        let reads_new = self
            .ssa
            .uses(stmt)
            .iter()
            .any(|read| self.is_new(read.value));
        if reads_new || old.is_some_and(|old| self.is_new(old)) {
            return Fact::New;
        }
        let fact = self.defined(stmt, variable, old, block);
        match fact {
            Fact::Number(number) => Fact::Number(Box::new(self.refined(id, *number))),
            Fact::Unknown => match self.uniformity.def(stmt, variable) {
                Uniformity::Varying => Fact::Unknown,
                uniformity => self.uniform(id, uniformity),
            },
            fact => fact,
        }
    }

    fn is_new(&self, id: ValueId) -> bool {
        self.entry(id).is_some_and(|entry| entry.fact == Fact::New)
    }

    fn defined(
        &self,
        stmt: StmtId,
        variable: VariableId,
        old: Option<ValueId>,
        block: BlockId,
    ) -> Fact {
        let Some(inst) = self.instruction(stmt) else {
            return Fact::Unknown;
        };
        let facts = self.facts.inst(inst);
        if !facts.is_known() {
            return Fact::Unknown;
        }
        let Some(class) = self.function.variables().class(variable) else {
            return Fact::Unknown;
        };
        let width = u32::from(class.bits());
        let new = self.written(stmt, &facts, variable, block);
        let Some(old) = old else {
            return Fact::of(new, width);
        };
        let old = if old == Ssa::UNKNOWN {
            None
        } else {
            self.read(old, block).term()
        };
        let (Some(new), Some(old)) = (new, old) else {
            return Fact::Unknown;
        };
        let selected = self
            .guard_masks(stmt, &facts, block)
            .and_then(|masks| selected(masks, new, old));
        Fact::of(selected, width)
    }

    /// The sets of lanes in which the guard of an instruction may hold; `None` if they are unknown.
    pub(super) fn guard_masks(
        &self,
        stmt: StmtId,
        facts: &Facts<'_>,
        block: BlockId,
    ) -> Option<Masks> {
        if facts.guard().is_none() {
            return Some(Masks::known(u32::MAX));
        }
        let (place, sense) = facts.guard_register()?;
        let masks = self
            .read(self.register(stmt, place)?, block)
            .term()?
            .masks()?;
        Some(if sense.is_negated() {
            masks.negated()
        } else {
            masks
        })
    }

    /// The result of an instruction in a register.
    fn written(
        &self,
        stmt: StmtId,
        facts: &Facts<'a>,
        variable: VariableId,
        block: BlockId,
    ) -> Option<Term> {
        let (form, slots) = facts.form()?;
        match form.action() {
            Some(Action::ToGeneric | Action::FromGeneric | Action::MapShared) => {
                return self.converted_address(stmt, facts, block)?.term();
            }
            Some(Action::Shuffle) => {
                return self.shuffled(stmt, facts, block).map(Term::Number);
            }
            _ => {}
        }
        let inst = self.facts.body().inst(facts.id())?;
        let signature = self.facts.module().signature(inst.sig);
        let computation = form.computation().filter(|c| !c.is_approximate())?;
        let changes_result = signature.has(Modifier::Sat) || signature.has(Modifier::Relu);
        if changes_result || facts.reads_carry() || facts.memory().next().is_some() {
            return None;
        }
        let mut operands: [Option<Term>; MAX_OPERANDS] = [None; MAX_OPERANDS];
        for source in facts.sources() {
            if let Some(entry) = operands.get_mut(source.index) {
                *entry = self.source(
                    stmt,
                    &source,
                    form.operands().get(source.index)?.length(),
                    block,
                );
            }
        }
        let symbols = self.symbols(stmt, facts);
        let mut scope = Scope {
            symbols: &symbols,
            form,
            slots,
            signature,
            operands: &operands,
            assigned: Vec::new(),
        };
        let mut result = None;
        for assignment in computation.assignments() {
            let mut value = scope.value(&assignment.value());
            if let Destination::Operand(index) = assignment.target() {
                let index = usize::from(index);
                let ty = scope.operand_type(index)?;
                value = value.and_then(|value| assigned(value, ty));
                if let Some(operand) = facts.operand(index)
                    && let Some(part) = self.part(facts, &operand, variable)
                {
                    result = value.and_then(|value| self.extended(value, ty, part, variable));
                }
            }
            scope.assigned.push(value);
        }
        result
    }

    /// The operands that are multiples of a symbol, which is the same in all lanes, with the factors.
    fn symbols(
        &self,
        stmt: StmtId,
        facts: &Facts<'_>,
    ) -> [Option<(AffineSymbolId, i64)>; MAX_OPERANDS] {
        let mut symbols = [None; MAX_OPERANDS];
        for source in facts.sources() {
            let Some(slot) = symbols.get_mut(source.index) else {
                continue;
            };
            let Operand::Reg(register) = source.operand else {
                continue;
            };
            let form = self
                .register(stmt, register.into())
                .map(|id| self.values.affine(id));
            if let Some(form) = form
                && form.constant() == 0
                && let [term] = form.terms()
            {
                *slot = Some((term.symbol, term.factor));
            }
        }
        symbols
    }

    /// The part of a result that a register holds: its number and the number of parts.
    fn part(
        &self,
        facts: &Facts<'_>,
        operand: &TypedOperand,
        variable: VariableId,
    ) -> Option<(u32, u32)> {
        let is_written = |operand: Operand| {
            let place = facts.place(operand)?;
            (self.function.variables().of(place).single() == Some(variable)).then_some(())
        };
        let Operand::Vector(list) = operand.operand else {
            return is_written(operand.operand).map(|()| (0, 1));
        };
        let elements = self.facts.body().pool().list(list);
        let position = elements
            .iter()
            .position(|element| is_written(*element).is_some())?;
        Some((position as u32, elements.len() as u32))
    }

    /// A part of a result of a type, extended to the register.
    fn extended(
        &self,
        value: Term,
        ty: ScalarType,
        (position, count): (u32, u32),
        variable: VariableId,
    ) -> Option<Term> {
        let bits = u32::from(ty.bits());
        let number = match value {
            Term::Number(number) => number,
            Term::Rows(rows) if count == 1 => return rows.truncated(bits).term(),
            Term::Rows(rows) => {
                return Rows::equal_where(core::iter::once(rows))
                    .truncated(bits / count)
                    .term();
            }
            Term::Masks(_) => return Some(value),
        };
        if count > 1 {
            let length = bits / count;
            let part = number
                .truncated(bits, false)
                .shifted_right(length * position)?;
            return Some(Term::Number(part.truncated(length, false)));
        }
        let width = u32::from(self.function.variables().class(variable)?.bits());
        if width > bits {
            return Some(Term::Number(number.truncated(bits, is_signed(ty))));
        }
        Some(value)
    }

    /// A source of an instruction, read with its type.
    fn source(
        &self,
        stmt: StmtId,
        source: &TypedOperand,
        length: Length,
        block: BlockId,
    ) -> Option<Term> {
        let Operand::Vector(list) = source.operand else {
            return self.operand(stmt, source.operand, source.ty, block);
        };
        if length != Length::Scalar {
            return None;
        }
        // The elements of a vector are the parts of one integer, the lowest first.
        let elements = self.facts.body().pool().list(list);
        let bits = u32::from(source.ty?.bits()).checked_div(elements.len() as u32)?;
        let mut sum = Number::constant(0);
        for (position, element) in (0..).zip(elements) {
            let element = self.operand(stmt, *element, None, block)?.number()?;
            let element = element.truncated(bits, false).shifted_left(bits * position);
            sum = sum.sum(element)?;
        }
        Some(Term::Number(sum))
    }

    /// An operand that is read with a type, or with all bits of its register.
    fn operand(
        &self,
        stmt: StmtId,
        operand: Operand,
        ty: Option<ScalarType>,
        block: BlockId,
    ) -> Option<Term> {
        let pool = self.facts.body().pool();
        if ty.is_some_and(|ty| ty.is_float() || ty.elements() > 1 || ty.bits() > 64) {
            return None;
        }
        match operand {
            Operand::Reg(register) => self.register_term(stmt, register.into(), ty, block),
            Operand::Not(inner) => match pool.get(inner) {
                Operand::Reg(register) => {
                    let term = self.register_term(stmt, register.into(), ty, block)?;
                    Some(Term::Masks(term.masks()?.negated()))
                }
                _ => None,
            },
            Operand::Component(selector, vector) => {
                let component = selector.element()?;
                match pool.get(vector) {
                    Operand::Special(register) => {
                        self.indices.special(register, component).map(Term::Number)
                    }
                    Operand::Reg(register) => {
                        let place = RegisterComponent {
                            register,
                            component: Some(component),
                        };
                        self.register_term(stmt, place, ty, block)
                    }
                    _ => None,
                }
            }
            Operand::Special(register) if !register.is_vector() => {
                self.indices.special(register, 0).map(Term::Number)
            }
            Operand::Small(value) => Some(constant(value.into(), ty)),
            Operand::Imm(id) => {
                let value = pool.immediate(id)?.value;
                match value.kind() {
                    ConstKind::Signed => Some(constant((value.bits() as i64).into(), ty)),
                    ConstKind::Unsigned => Some(constant(value.bits().into(), ty)),
                    _ => None,
                }
            }
            Operand::Symbol(_) | Operand::Var(_) => self.variable_address(operand, 0),
            Operand::Address(id) => {
                let address = pool.address(id)?;
                self.variable_address(address.base, address.byte_offset(pool)?)
            }
            _ => None,
        }
    }

    fn register_term(
        &self,
        stmt: StmtId,
        place: RegisterComponent,
        ty: Option<ScalarType>,
        block: BlockId,
    ) -> Option<Term> {
        let id = self.register(stmt, place)?;
        let term = self.read(id, block).term()?;
        let number = match (term, ty) {
            (Term::Number(number), _) => number,
            (Term::Rows(rows), Some(ty)) => return rows.truncated(ty.bits().into()).term(),
            _ => return Some(term),
        };
        Some(Term::Number(match ty {
            Some(ty) => number.truncated(ty.bits().into(), is_signed(ty)),
            None => number,
        }))
    }

    /// The address of a variable with an offset.
    fn variable_address(&self, variable: Operand, offset: i64) -> Option<Term> {
        let symbol = self.values.address_symbol(variable);
        let form = symbol.map(crate::values::Affine::symbol);
        let alignment = form.map_or(1, |form| self.values.alignment_of(&form).divisor());
        let base = ones(64) & !ones(alignment.trailing_zeros());
        let address = Number::uniform(base).sum(Number::constant(offset.into()))?;
        Some(Term::Number(address))
    }

    /// An address that is converted to another state space, or to that of another CTA.
    fn converted_address(&self, stmt: StmtId, facts: &Facts<'_>, block: BlockId) -> Option<Rows> {
        let mut sources = facts.sources();
        let address = sources.next()?;
        let address = Rows::of_term(&self.operand(stmt, address.operand, address.ty, block)?)?;
        for other in sources {
            let other = self
                .operand(stmt, other.operand, other.ty, block)?
                .number()?;
            if !other.is_uniform() {
                return None;
            }
        }
        address.sum(Rows::single(Number::uniform(ones(64) & !ones(WINDOW_BITS))))
    }

    /// The register of another lane.
    fn shuffled(&self, stmt: StmtId, facts: &Facts<'_>, block: BlockId) -> Option<Number> {
        let marked = |mark: Marks| {
            let operand = facts.marked(mark).next()?;
            self.operand(stmt, operand, None, block)?.number()
        };
        let is_whole = facts.guard().is_none()
            && facts
                .marked(Marks::PARTICIPANTS)
                .next()
                .is_none_or(|operand| {
                    let mask = self.operand(stmt, operand, None, block);
                    let mask = mask.and_then(Term::number).and_then(|mask| mask.single());
                    mask.is_some_and(|mask| mask & ALL_LANES == ALL_LANES)
                })
            && self.uniformity.block(block) <= Uniformity::Warp;
        let source = facts.sources().next()?;
        let number = self.operand(stmt, source.operand, None, block)?.number()?;
        if !is_whole {
            return None;
        }
        let (index, segments) = (marked(Marks::LANE_INDEX)?, marked(Marks::LANE_SEGMENT)?);
        if !index.is_known() || !segments.is_known() {
            return (number.is_uniform()).then_some(number);
        }
        let lanes: [usize; LANES] = core::array::from_fn(|lane| {
            source_lane(facts, lane, index.offsets[lane], segments.offsets[lane])
        });
        Some(
            Number {
                offsets: lanes.map(|lane| number.offsets[lane % LANES]),
                ..number
            }
            .assuming(index.assumed)
            .simplified(),
        )
    }

    /// A value that is the same in all lanes.
    pub(super) fn uniform(&self, id: ValueId, uniformity: Uniformity) -> Fact {
        let width = self.width(id);
        let assumed = Assumed {
            // What is the same in larger groups does not depend on which threads are a warp.
            shape: uniformity == Uniformity::Warp && self.values.bounds().threads.is_none(),
            ..Assumed::NOTHING
        };
        if width <= 1 {
            return Fact::Masks(Masks::UNIFORM.assuming(assumed));
        }
        let number = Number::uniform(ones(width)).assuming(assumed);
        let mut number = self.refined(id, super::stored(&number, width));
        if self.is_pointer(id) {
            number.base &= !ones(ALLOCATION_BITS);
            number.assumed.alignment = true;
        }
        Fact::Number(Box::new(number))
    }

    /// Returns whether a value is a parameter that points to memory.
    fn is_pointer(&self, id: ValueId) -> bool {
        let symbol = self.values.affine(id).as_symbol();
        let symbol = symbol.and_then(|symbol| self.values.symbol(symbol));
        matches!(symbol, Some(AffineSymbol::Parameter { variable, offset, bytes: 8 })
            if self.pointers.contains(&(variable, offset)))
    }

    /// An integer with what the analysis of single threads knows of it.
    fn refined(&self, id: ValueId, mut number: Number) -> Number {
        if varying_bits(&number.offsets) != 0 || number.inverted != 0 || number.base == 0 {
            return number;
        }
        let known = self.values.alignment(id);
        let low = ones(known.bits.into());
        if number.offsets[0] == 0 || low & number.base != 0 {
            if number.offsets[0] != 0 {
                // The offset is a part of the unknown number.
                number.base = super::number::sum_bits(number.base, number.offsets[0] as u128)
                    & ones(self.width(id));
            }
            number.base &= !low & self.possible_bits(id);
            number.offsets = [i128::from(known.residue) & low as i128; LANES];
        }
        number
    }

    /// The bits that may be one in an integer.
    pub(super) fn possible_bits(&self, id: ValueId) -> u128 {
        let range = self.values.interval(id);
        if range.min < 0 {
            return ones(self.width(id));
        }
        ones(128 - (range.max as u128).leading_zeros())
    }
}

/// The lane whose register a lane reads.
fn source_lane(facts: &Facts<'_>, lane: usize, index: i128, segments: i128) -> usize {
    let lane = lane as i128;
    let segment = segments >> 8 & 31;
    let clamp = segments & 31;
    let last = lane & segment | clamp & !segment;
    let first = lane & segment;
    let index = index & 31;
    let (source, is_inside) = if facts.has_modifier(Modifier::Up) {
        (lane - index, lane - index >= last)
    } else if facts.has_modifier(Modifier::Down) {
        (lane + index, lane + index <= last)
    } else if facts.has_modifier(Modifier::Bfly) {
        (lane ^ index, lane ^ index <= last)
    } else {
        let source = first | index & !segment;
        (source, source <= last)
    };
    usize::try_from(if is_inside { source } else { lane }).unwrap_or(0)
}

/// The value of a result of a type.
fn assigned(value: Term, ty: ScalarType) -> Option<Term> {
    match value {
        Term::Masks(_) if ty.kind() == TypeKind::Predicate => Some(value),
        Term::Rows(rows) if !ty.is_float() && ty.elements() <= 1 && ty.bits() <= 64 => {
            rows.truncated(ty.bits().into()).term()
        }
        Term::Number(number) if !ty.is_float() && ty.elements() <= 1 && ty.bits() <= 64 => {
            let kept = Number {
                bits: number.bits.min(ty.bits().into()),
                ..number
            };
            Some(Term::Number(kept))
        }
        _ => None,
    }
}

fn constant(value: i128, ty: Option<ScalarType>) -> Term {
    let number = Number::constant(value);
    Term::Number(match ty {
        Some(ty) => number.truncated(ty.bits().into(), is_signed(ty)),
        None => number,
    })
}

fn is_signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}
