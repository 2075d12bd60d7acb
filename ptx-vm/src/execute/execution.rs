//! The execution of a step by lanes of a warp.

use ptx_isa::TypeKind;
use ptx_semantics::fold::Operation;
use ptx_semantics::internals::fold_with_choices;

use super::asynchronous::Pass;
use super::block::Block;
use super::grid::Grid;
use super::groups::State;
use super::warp::Warp;
use crate::error::StopReason;
use crate::lanes::{Place, Registers, lanes, lanes_where};
use crate::program::{Fold, Function, Step};

/// A step that lanes of a warp execute, and what it can change.
pub(crate) struct Execution<'e> {
    pub(crate) warp: &'e mut Warp,
    pub(crate) block: &'e mut Block,
    pub(crate) grid: &'e Grid<'e>,
    pub(crate) function: &'e Function,
    pub(crate) function_id: ptx_ir::FuncId,
    /// The index of the group of the lanes.
    pub(super) group: usize,
    /// The index of the call that they are in.
    pub(crate) call: usize,
    /// The index of the step.
    pub(crate) step_index: u32,
    /// The lanes of the group.
    pub(crate) mask: u32,
    /// The lanes of the group whose guard holds.
    pub(crate) active: u32,
    /// Whether the observer sees accesses to memory one by one.
    pub(super) by_byte: bool,
    /// The part of asynchronous operations that is performed.
    pub(super) pass: Pass,
}

/// The work of an instruction that is evaluated lane by lane, as the number of bytes whose handling takes as long.
const FOLD: u64 = 1 << 8;

/// The continuation after a step.
pub(crate) enum Control {
    Next,
    /// The lanes of a mask go to a step, the others to the next one.
    Jump(u32, u32),
    /// The lanes that execute the step wait; it is executed again.
    Wait(State),
    /// The groups were changed.
    Moved,
}

/// The reason why a step failed, and the lane for which it did.
pub(crate) type Failed = (StopReason, usize);

pub(super) type Outcome = Result<Control, Failed>;

impl Execution<'_> {
    /// The first lane that executes the step.
    pub(super) const fn first(&self) -> usize {
        self.active.trailing_zeros() as usize
    }

    /// The registers of the call.
    pub(super) fn registers(&mut self) -> Option<&mut Registers> {
        Some(&mut self.warp.call(self.call)?.registers)
    }

    /// The bits of a value in a lane.
    pub(crate) fn get(&self, place: Place, lane: usize) -> u128 {
        self.warp.get(self.call, place, lane)
    }

    pub(super) fn set(&mut self, place: Place, lane: usize, bits: u128) {
        self.warp.set(self.call, place, lane, bits);
    }

    /// Executes a step other than operations on all lanes, without the parts that only an observer sees.
    pub(super) fn step(&mut self, step: &Step) -> Outcome {
        let first = self.first();
        match step {
            Step::Lanes(..) => Ok(Control::Next),
            Step::Fold(fold) => {
                self.fold(fold);
                self.warp
                    .work(FOLD, self.grid)
                    .map_err(|reason| (reason, first))?;
                Ok(Control::Next)
            }
            Step::Load(access) => self.load(access),
            Step::Store(access) => self.store(access),
            Step::Atomic(atomic) => self.atomic(atomic),
            Step::Special(register, place, ops) => {
                for lane in lanes(self.active) {
                    let bits = self.block.special(*register, 0, self.warp, lane, self.grid);
                    self.set(*place, lane, bits);
                }
                let (function, active) = (self.function, self.active);
                if let Some(registers) = self.registers() {
                    super::warp::execute(function, registers, *ops, active);
                }
                Ok(Control::Next)
            }
            Step::Jump(target) => Ok(Control::Jump(self.active, *target)),
            Step::Table(index, targets) => self.jump_by_table(*index, targets),
            Step::Call(call) => self.enter(call),
            Step::Return => {
                self.warp.return_from(self.group, self.active, self.grid);
                Ok(Control::Moved)
            }
            Step::Exit => {
                self.warp.exit(self.group, self.active);
                Ok(Control::Moved)
            }
            Step::Trap => Err((StopReason::Trap, first)),
            Step::Act(act) => self.act(act),
            Step::Unsupported(why) => Err((StopReason::Unsupported(why.to_string()), first)),
        }
    }

    /// Jumps with the lanes whose index is that of the first one.
    fn jump_by_table(&mut self, index: Place, targets: &[u32]) -> Outcome {
        let first = self.first();
        let value = self.get(index, first);
        let position = usize::try_from(value).unwrap_or(usize::MAX);
        let target = targets.get(position);
        let target = *target.ok_or((StopReason::BadTarget, first))?;
        let jumping = lanes_where(self.active, |lane| self.get(index, lane) == value);
        if jumping == self.active {
            return Ok(Control::Jump(jumping, target));
        }
        // The lanes with another index execute the instruction again.
        let group = &mut self.warp.groups.all[self.group];
        group.mask = self.active & !jumping;
        self.warp.groups.add(jumping, self.call, target);
        if self.active != self.mask {
            self.warp
                .groups
                .add(self.mask & !self.active, self.call, self.step_index + 1);
        }
        Ok(Control::Moved)
    }

    /// Evaluates an instruction lane by lane.
    fn fold(&mut self, fold: &Fold) {
        let mut operands = Vec::with_capacity(fold.sources.len());
        for lane in lanes(self.active) {
            operands.clear();
            operands.extend(fold.sources.iter().map(|s| self.get(*s, lane)));
            let carry = Place::Predicate(crate::lower::Code::CARRY);
            let folded = fold_with_choices(&Operation {
                opcode: fold.opcode,
                modifiers: &fold.modifiers,
                operands: &operands,
                carry: fold.reads_carry.then(|| self.get(carry, lane) != 0),
                video: fold.video,
            });
            let (value, ty) = match &folded {
                Some(folded) => (folded.value, Some(folded.ty)),
                None => (undefined(fold.ty, &operands), fold.ty),
            };
            self.write_result(fold, lane, value, ty);
            if let (Some(second), Some(bit)) = (fold.second, folded.as_ref().and_then(|f| f.second))
            {
                self.set(second, lane, bit.into());
            }
            if let (true, Some(bit)) = (fold.writes_carry, folded.and_then(|f| f.carry)) {
                self.set(carry, lane, bit.into());
            }
        }
    }

    fn write_result(
        &mut self,
        fold: &Fold,
        lane: usize,
        value: u128,
        ty: Option<ptx_isa::ScalarType>,
    ) {
        let signed = ty.is_some_and(|t| t.kind() == TypeKind::Signed);
        let bits = ty.map_or(32, ptx_isa::ScalarType::bits);
        let extended = if signed && bits < 128 && value >> (bits - 1) & 1 == 1 {
            value | u128::MAX << bits
        } else {
            value
        };
        if let [place] = fold.results[..] {
            self.set(place, lane, extended);
            return;
        }
        let bits_of_element = u32::from(bits) / fold.results.len().max(1) as u32;
        for (index, place) in (0u32..).zip(&fold.results) {
            let element = value.checked_shr(index * bits_of_element).unwrap_or(0);
            self.set(*place, lane, element & ((1 << bits_of_element) - 1));
        }
    }
}

/// The bits of a result that is not defined: the NaN that the hardware makes, or all ones.
fn undefined(ty: Option<ptx_isa::ScalarType>, sources: &[u128]) -> u128 {
    let Some(ty) = ty else { return 0 };
    let bits = ty.bits().clamp(1, 127);
    let ones = (1u128 << bits) - 1;
    match (ty.is_float(), bits) {
        (true, 64) => {
            let mut operands = [0; 3];
            for (operand, &source) in operands.iter_mut().zip(sources) {
                *operand = source as u64;
            }
            crate::lanes::nan_of(operands).into()
        }
        (true, _) => ones >> 1,
        (false, _) => ones,
    }
}
