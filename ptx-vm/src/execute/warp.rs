//! A warp and the execution of its steps.

use ptx_analysis::fold::{Operation, fold};
use ptx_ir::FuncId;
use ptx_isa::TypeKind;

use super::block::Block;
use super::grid::Grid;
use super::groups::{CallFrame, Groups, SLICE, State};
use crate::error::Reason;
use crate::lanes::{LANES, Place};
use crate::program::{Fold, Function, Step};

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) groups: Groups,
    /// The stack of each lane.
    pub(crate) stacks: Vec<Vec<u8>>,
    /// The index of its first thread in the CTA.
    pub(crate) first: u32,
    /// The register files of calls that ended, by function.
    spare: Vec<(FuncId, crate::lanes::Registers)>,
    /// The phase of the barrier of the cluster that each lane waits for to end.
    pub(crate) arrived: [Option<u64>; LANES],
}

/// What follows a step.
pub(crate) enum Control {
    Next,
    /// The lanes of a mask go to a step, the others to the next one.
    Jump(u32, u32),
    /// The lanes that execute the step wait; it is executed again.
    Wait(State),
    /// The groups were changed.
    Moved,
}

/// Where an error happened.
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) function: Option<FuncId>,
    pub(crate) at: u32,
    pub(crate) lane: usize,
}

/// A step that a group executes.
#[derive(Copy, Clone)]
pub(crate) struct Now<'a> {
    pub(crate) function: &'a Function,
    /// The index of the group.
    pub(crate) group: usize,
    pub(crate) call: usize,
    pub(crate) at: u32,
    /// The lanes of the group.
    pub(crate) mask: u32,
    /// Those whose guard holds.
    pub(crate) active: u32,
}

/// The lanes of a mask for which a guard holds.
fn guarded(guard: Option<(u32, bool)>, mask: u32, registers: &crate::lanes::Registers) -> u32 {
    let Some((predicate, inverted)) = guard else {
        return mask;
    };
    let bits = registers.predicates.get(predicate as usize);
    let bits = bits.copied().unwrap_or(0);
    mask & if inverted { !bits } else { bits }
}

/// The lanes of a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

impl Warp {
    pub(crate) fn new(first: u32) -> Self {
        Self {
            groups: Groups::default(),
            stacks: vec![Vec::new(); LANES],
            first,
            spare: Vec::new(),
            arrived: [None; LANES],
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.groups.all.is_empty()
    }

    /// The call of an index.
    pub(crate) fn call(&mut self, index: usize) -> Option<&mut CallFrame> {
        self.groups.calls.get_mut(index)?.as_mut()
    }

    /// The bits of a value in a lane.
    pub(crate) fn get(&self, call: usize, place: Place, lane: usize) -> u128 {
        let call = self.groups.calls.get(call).and_then(Option::as_ref);
        call.map_or(0, |c| c.registers.get(place, lane))
    }

    pub(crate) fn set(&mut self, call: usize, place: Place, lane: usize, bits: u128) {
        if let Some(call) = self.call(call) {
            call.registers.set(place, lane, bits);
        }
    }

    /// The register file at the start of a call.
    pub(crate) fn registers(&mut self, id: FuncId, function: &Function) -> crate::lanes::Registers {
        match self.spare.iter().position(|(of, _)| *of == id) {
            Some(at) => self.spare.swap_remove(at).1,
            None => function.code.initial.clone(),
        }
    }

    /// Keeps the register file of a call that ended. What registers hold at the start of a call is undefined.
    pub(crate) fn recycle(&mut self, id: FuncId, registers: crate::lanes::Registers) {
        if self.spare.len() < 16 {
            self.spare.push((id, registers));
        }
    }

    /// Executes at most that many steps; gives how many were executed.
    pub(crate) fn run(
        &mut self,
        block: &mut Block,
        grid: &Grid<'_>,
        most: u64,
    ) -> Result<u64, Failure> {
        let mut done = 0;
        let mut fair = false;
        while done < most {
            let rank = |group: &super::groups::Group, call: &CallFrame| {
                let function = grid.program.function(call.function);
                let step = function.and_then(|f| f.steps.get(group.at as usize));
                step.map_or(u32::MAX, |s| s.rank)
            };
            let Some(group) = self.groups.next(fair, rank) else {
                return Ok(done);
            };
            let (steps, whole) = self.run_group(group, fair, block, grid, most - done)?;
            done += steps;
            fair = whole && !fair;
        }
        Ok(done)
    }

    /// Runs a group until another one may be next, with `fair` for its whole slice; gives the number of steps, and whether it used its whole slice.
    fn run_group(
        &mut self,
        mut index: usize,
        fair: bool,
        block: &mut Block,
        grid: &Grid<'_>,
        most: u64,
    ) -> Result<(u64, bool), Failure> {
        let mut steps = 0;
        loop {
            index = self.groups.join(index);
            let Some(group) = self.groups.all.get(index) else {
                return Ok((steps, false));
            };
            let (call, at, mask) = (group.call, group.at, group.mask);
            let frame = self.groups.calls.get_mut(call).and_then(Option::as_mut);
            let Some(frame) = frame else {
                return Ok((steps, false));
            };
            let id = frame.function;
            let Some(function) = grid.program.function(id) else {
                return Ok((steps, false));
            };
            steps += 1;
            let Some(target) = function.steps.get(at as usize) else {
                // The end of the body is a return.
                self.return_from(index, mask, grid);
                return Ok((steps, false));
            };
            let active = guarded(target.guard, mask, &frame.registers);
            let (first, end) = target.before;
            if first != end && active != 0 {
                for op in &function.code.ops[first as usize..end as usize] {
                    frame.registers.execute(op, active);
                }
            }
            let control = if let Step::Lanes(first, end) = target.step {
                if active != 0 {
                    for op in &function.code.ops[first as usize..end as usize] {
                        frame.registers.execute(op, active);
                    }
                }
                Control::Next
            } else if active == 0 {
                Control::Next
            } else {
                let now = Now {
                    function,
                    group: index,
                    call,
                    at,
                    mask,
                    active,
                };
                let failed = |(reason, lane)| Failure {
                    reason,
                    function: Some(id),
                    at,
                    lane,
                };
                self.step(now, &target.step, block, grid).map_err(failed)?
            };
            match control {
                Control::Next => self.groups.all[index].at = at + 1,
                Control::Jump(taken, to) if taken == mask => self.groups.all[index].at = to,
                Control::Jump(taken, to) => {
                    let group = &mut self.groups.all[index];
                    (group.mask, group.at) = (mask & !taken, at + 1);
                    self.groups.add(taken, call, to);
                    return Ok((steps, false));
                }
                Control::Wait(state) => {
                    self.wait(now_of(index, call, at, mask, active), state);
                    return Ok((steps, false));
                }
                Control::Moved => return Ok((steps, false)),
            }
            let alone = self.groups.all.len() == 1;
            if steps >= most || !alone && steps >= u64::from(SLICE) {
                return Ok((steps, true));
            }
            if !alone && !fair && !self.is_first(index, grid) {
                return Ok((steps, false));
            }
        }
    }

    /// Whether no other group that is ready comes before a group.
    fn is_first(&mut self, index: usize, grid: &Grid<'_>) -> bool {
        let key = |group: &super::groups::Group| {
            let call = self.groups.calls.get(group.call).and_then(Option::as_ref);
            let depth = call.map_or(0, |c| c.depth);
            let function = call.and_then(|c| grid.program.function(c.function));
            let step = function.and_then(|f| f.steps.get(group.at as usize));
            (
                u32::MAX - depth,
                step.map_or(u32::MAX, |s| s.rank),
                group.at,
            )
        };
        let own = key(&self.groups.all[index]);
        let others = self.groups.all.iter().enumerate();
        others
            .filter(|(i, g)| *i != index && g.state == State::Ready)
            .all(|(_, g)| key(g) > own)
    }

    /// Lanes wait; those whose guard does not hold go on.
    fn wait(&mut self, now: (usize, usize, u32, u32, u32), state: State) {
        let (index, call, at, mask, active) = now;
        let group = &mut self.groups.all[index];
        (group.mask, group.state) = (active, state);
        if active != mask {
            self.groups.add(mask & !active, call, at + 1);
        }
    }

    /// Executes a step other than operations on all lanes.
    fn step(
        &mut self,
        now: Now<'_>,
        step: &Step,
        block: &mut Block,
        grid: &Grid<'_>,
    ) -> Result<Control, (Reason, usize)> {
        let first = now.active.trailing_zeros() as usize;
        match step {
            Step::Lanes(..) => Ok(Control::Next),
            Step::Fold(fold) => {
                self.fold(now, fold);
                Ok(Control::Next)
            }
            Step::Load(access) => self.load(now, access, block, grid),
            Step::Store(access) => self.store(now, access, block, grid),
            Step::Atomic(atomic) => self.atomic(now, atomic, block, grid),
            Step::Special(register, place) => {
                for lane in lanes(now.active) {
                    let bits = block.special(*register, 0, self.first, lane, grid);
                    self.set(now.call, *place, lane, bits);
                }
                Ok(Control::Next)
            }
            Step::Jump(to) => Ok(Control::Jump(now.active, *to)),
            Step::Table(index, targets) => self.table(now, *index, targets),
            Step::Call(call) => self.enter(now, call, block, grid),
            Step::Return => {
                self.return_from(now.group, now.active, grid);
                Ok(Control::Moved)
            }
            Step::Exit => {
                self.exit(now.group, now.active);
                Ok(Control::Moved)
            }
            Step::Trap => Err((Reason::Trap, first)),
            Step::Act(act) => self.act(now, act, block, grid),
            Step::Unsupported(why) => Err((Reason::Unsupported(why.to_string()), first)),
        }
    }

    fn table(
        &mut self,
        now: Now<'_>,
        index: Place,
        targets: &[u32],
    ) -> Result<Control, (Reason, usize)> {
        let first = now.active.trailing_zeros() as usize;
        let value = self.get(now.call, index, first);
        let to = usize::try_from(value).ok().and_then(|v| targets.get(v));
        let to = *to.ok_or((Reason::BadTarget, first))?;
        let same = lanes(now.active).filter(|&l| self.get(now.call, index, l) == value);
        let taken = same.fold(0, |all, lane| all | 1 << lane);
        if taken == now.active {
            return Ok(Control::Jump(taken, to));
        }
        // The lanes with another index execute the instruction again.
        let group = &mut self.groups.all[now.group];
        group.mask = now.active & !taken;
        self.groups.add(taken, now.call, to);
        if now.active != now.mask {
            self.groups
                .add(now.mask & !now.active, now.call, now.at + 1);
        }
        Ok(Control::Moved)
    }

    fn fold(&mut self, now: Now<'_>, of: &Fold) {
        let mut operands = Vec::with_capacity(of.sources.len());
        for lane in lanes(now.active) {
            operands.clear();
            operands.extend(of.sources.iter().map(|s| self.get(now.call, *s, lane)));
            let carry = Place::Predicate(crate::lower::Code::CARRY);
            let folded = fold(&Operation {
                opcode: of.opcode,
                modifiers: &of.modifiers,
                operands: &operands,
                carry: of.reads_carry.then(|| self.get(now.call, carry, lane) != 0),
                video: of.video,
            });
            let (value, ty) = match &folded {
                Some(folded) => (folded.value, Some(folded.ty)),
                None => (undefined(of.ty), of.ty),
            };
            self.write_result(now.call, of, lane, value, ty);
            if let (Some(second), Some(bit)) = (of.second, folded.as_ref().and_then(|f| f.second)) {
                self.set(now.call, second, lane, bit.into());
            }
            if let (true, Some(bit)) = (of.writes_carry, folded.and_then(|f| f.carry)) {
                self.set(now.call, carry, lane, bit.into());
            }
        }
    }

    fn write_result(
        &mut self,
        call: usize,
        of: &Fold,
        lane: usize,
        value: u128,
        ty: Option<ptx_isa::ScalarType>,
    ) {
        let signed = ty.is_some_and(|t| t.kind() == TypeKind::Signed);
        let bits = ty.map_or(32, ptx_isa::ScalarType::bits);
        let extended = match signed && bits < 64 && value >> (bits - 1) & 1 == 1 {
            true => value | u128::MAX << bits,
            false => value,
        };
        if let [place] = of.results[..] {
            self.set(call, place, lane, extended);
            return;
        }
        let each = u32::from(bits) / of.results.len().max(1) as u32;
        for (n, place) in (0u32..).zip(&of.results) {
            let part = value.checked_shr(n * each).unwrap_or(0);
            self.set(call, *place, lane, part & ((1 << each) - 1));
        }
    }
}

fn now_of(
    index: usize,
    call: usize,
    at: u32,
    mask: u32,
    active: u32,
) -> (usize, usize, u32, u32, u32) {
    (index, call, at, mask, active)
}

/// The bits of a result that is not defined: the NaN that the hardware makes, or all ones.
fn undefined(ty: Option<ptx_isa::ScalarType>) -> u128 {
    let Some(ty) = ty else { return 0 };
    let bits = ty.bits().clamp(1, 127);
    let ones = (1u128 << bits) - 1;
    match (ty.is_float(), bits) {
        (true, 64) => 0xfff8_0000_0000_0000,
        (true, _) => ones >> 1,
        (false, _) => ones,
    }
}
