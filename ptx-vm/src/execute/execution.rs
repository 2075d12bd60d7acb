//! The execution of a step by lanes of a warp.

use ptx_isa::TypeKind;
use ptx_semantics::fold::{Operation, fold_with_choices};

use super::block::Block;
use super::grid::Grid;
use super::groups::State;
use super::warp::Warp;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::lanes::{Place, Registers};
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
}

/// The work of an instruction that is evaluated lane by lane.
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

/// Why a step failed, and the lane for which it did.
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
                let worked = self.warp.work(FOLD, self.grid);
                worked.map_err(|reason| (reason, first))?;
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
            Step::Jump(to) => Ok(Control::Jump(self.active, *to)),
            Step::Table(index, targets) => self.table(*index, targets),
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

    fn table(&mut self, index: Place, targets: &[u32]) -> Outcome {
        let first = self.first();
        let value = self.get(index, first);
        let to = usize::try_from(value).ok().and_then(|v| targets.get(v));
        let to = *to.ok_or((StopReason::BadTarget, first))?;
        let with_index = lanes(self.active).filter(|&l| self.get(index, l) == value);
        let jumping = with_index.fold(0, |all, lane| all | 1 << lane);
        if jumping == self.active {
            return Ok(Control::Jump(jumping, to));
        }
        // The lanes with another index execute the instruction again.
        let group = &mut self.warp.groups.all[self.group];
        group.mask = self.active & !jumping;
        self.warp.groups.add(jumping, self.call, to);
        if self.active != self.mask {
            self.warp
                .groups
                .add(self.mask & !self.active, self.call, self.step_index + 1);
        }
        Ok(Control::Moved)
    }

    fn fold(&mut self, of: &Fold) {
        let mut operands = Vec::with_capacity(of.sources.len());
        for lane in lanes(self.active) {
            operands.clear();
            operands.extend(of.sources.iter().map(|s| self.get(*s, lane)));
            let carry = Place::Predicate(crate::lower::Code::CARRY);
            let folded = fold_with_choices(&Operation {
                opcode: of.opcode,
                modifiers: &of.modifiers,
                operands: &operands,
                carry: of.reads_carry.then(|| self.get(carry, lane) != 0),
                video: of.video,
            });
            let (value, ty) = match &folded {
                Some(folded) => (folded.value, Some(folded.ty)),
                None => (undefined(of.ty, &operands), of.ty),
            };
            self.write_result(of, lane, value, ty);
            if let (Some(second), Some(bit)) = (of.second, folded.as_ref().and_then(|f| f.second)) {
                self.set(second, lane, bit.into());
            }
            if let (true, Some(bit)) = (of.writes_carry, folded.and_then(|f| f.carry)) {
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
        let each = u32::from(bits) / fold.results.len().max(1) as u32;
        for (n, place) in (0u32..).zip(&fold.results) {
            let part = value.checked_shr(n * each).unwrap_or(0);
            self.set(*place, lane, part & ((1 << each) - 1));
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
            let mut all = [0; 3];
            for (to, &from) in all.iter_mut().zip(sources) {
                *to = from as u64;
            }
            crate::lanes::nan_of(all).into()
        }
        (true, _) => ones >> 1,
        (false, _) => ones,
    }
}
