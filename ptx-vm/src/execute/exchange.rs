//! Instructions that exchange data between the lanes of a warp.

use ptx_isa::{Action, Modifier};

use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::State;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::lanes::{LANES, Place};
use crate::program::{Act, ActOperand, Step};

/// The operands of a lane, and its results.
#[derive(Copy, Clone, Debug, Default)]
struct Lane {
    a: u64,
    b: u32,
    c: u32,
    result: u64,
    second: bool,
}

/// The places of the operands of an exchange.
struct Places {
    result: Option<Place>,
    second: Option<Place>,
    sources: Vec<Place>,
}

impl Act {
    /// The first place of an operand of the form.
    pub(super) fn place(&self, index: usize) -> Option<Place> {
        match self.operands.get(index)? {
            Some(ActOperand::Places(places)) => places.first().copied(),
            _ => None,
        }
    }

    /// The first place of the first operand.
    pub(crate) fn first_place(&self) -> Option<Place> {
        self.place(0)
    }

    /// The first place of the last operand that has one.
    pub(crate) fn last_place(&self) -> Option<Place> {
        (0..self.operands.len()).rev().find_map(|i| self.place(i))
    }

    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// The place of the mask of the lanes that an exchange or a barrier of the warp waits for; `None` if it does not wait.
    pub(super) fn member_mask(&self) -> Option<Place> {
        match self.action {
            Action::WarpBarrier => self.place(0),
            _ if self.has(Modifier::Sync) => self.places().sources.last().copied(),
            _ => None,
        }
    }

    /// Whether the form has two results.
    fn has_second(&self) -> bool {
        match self.action {
            Action::Shuffle | Action::Elect => true,
            Action::Match => self.has(Modifier::All),
            _ => false,
        }
    }

    fn places(&self) -> Places {
        let first = if self.has_second() { 2 } else { 1 };
        let sources = (first..self.operands.len()).filter_map(|i| self.place(i));
        Places {
            result: self.place(0),
            second: self.place(1).filter(|_| self.has_second()),
            sources: sources.collect(),
        }
    }
}

/// Lanes of a call that take part in an exchange, and their instruction.
struct Part<'a> {
    call: usize,
    lanes: u32,
    act: &'a Act,
}

impl<'e> Execution<'e> {
    /// Executes an exchange. With `.sync` all lanes of the mask must be at such an instruction; the group waits until they are.
    pub(super) fn exchange(&mut self, act: &Act) -> Outcome {
        if act.has(Modifier::Sync) {
            return self.meet(act, act.member_mask());
        }
        let own_part = Part {
            call: self.call,
            lanes: self.active,
            act,
        };
        self.exchange_between(&[own_part], self.active)?;
        Ok(Control::Next)
    }

    /// Waits for the lanes of the warp that a mask names.
    pub(super) fn warp_barrier(&mut self, act: &Act) -> Outcome {
        self.meet(act, act.member_mask())
    }

    /// The lanes meet those that their masks name; they may name different ones.
    fn meet(&mut self, act: &Act, member: Option<Place>) -> Outcome {
        let member = member.ok_or_else(|| unknown(self.first()))?;
        let masks = self.warp.values(self.call, member).map(|m| m as u32);
        let mut remaining = self.active;
        let mut waiting = Vec::new();
        while remaining != 0 {
            let mask = masks[remaining.trailing_zeros() as usize];
            let with_mask = lanes(remaining).filter(|&l| masks[l] == mask);
            let with_mask = with_mask.fold(0u32, |all, lane| all | 1 << lane);
            remaining &= !with_mask;
            if with_mask & !mask != 0 {
                let what = "the mask does not include the lane that executes the instruction";
                let lane = (with_mask & !mask).trailing_zeros() as usize;
                return Err((StopReason::Invalid(what.into()), lane));
            }
            let mut parts = self.waiting(mask);
            parts.push(Part {
                call: self.call,
                lanes: with_mask,
                act,
            });
            let expected = mask & self.warp.groups.live();
            let present = parts.iter().fold(0, |all, part| all | part.lanes);
            if present & expected != expected {
                waiting.push((with_mask, State::Lanes(mask)));
                continue;
            }
            self.exchange_between(&parts, expected)?;
            self.warp.groups.release(State::Lanes(mask));
        }
        Ok(match waiting[..] {
            [] => Control::Next,
            [(all, state)] if all == self.active => Control::Wait(state),
            _ => self.divide(&waiting),
        })
    }

    /// Lanes of the group wait for different things; the others go on.
    fn divide(&mut self, waiting: &[(u32, State)]) -> Control {
        let groups = &mut self.warp.groups;
        groups.all.swap_remove(self.group);
        let mut going_on = self.mask;
        for &(mask, state) in waiting {
            going_on &= !mask;
            groups.add_in(state, mask, self.call, self.step_index);
        }
        if going_on != 0 {
            groups.add(going_on, self.call, self.step_index + 1);
        }
        Control::Moved
    }

    /// The lanes that wait for those of a mask.
    fn waiting(&self, mask: u32) -> Vec<Part<'e>> {
        let groups = self.warp.groups.all.iter();
        let waiting = groups.filter(|g| g.state == State::Lanes(mask));
        let part = |group: &super::groups::Group| {
            let call = self.warp.groups.calls.get(group.call)?.as_ref()?;
            let function = self.grid.program.function(call.function)?;
            match &function.steps.get(group.step_index as usize)?.step {
                Step::Act(act) => Some(Part {
                    call: group.call,
                    lanes: group.mask,
                    act,
                }),
                _ => None,
            }
        };
        waiting.filter_map(part).collect()
    }

    /// Exchanges values between lanes, which may be at different places.
    fn exchange_between(&mut self, parts: &[Part<'_>], wanted: u32) -> Result<(), Failed> {
        let first = self.first();
        let Some(Part { act, .. }) = parts.last() else {
            return Ok(());
        };
        let is_same_action = |part: &Part<'_>| {
            (part.act.action, &part.act.modifiers) == (act.action, &act.modifiers)
        };
        if !parts.iter().all(is_same_action) {
            let what = "the lanes of a mask execute different instructions";
            return Err((StopReason::Invalid(what.into()), first));
        }
        if act.action == Action::WarpBarrier {
            return Ok(());
        }
        let mut all = [Lane::default(); LANES];
        for part in parts {
            self.gather(part, &mut all);
        }
        exchange(act, wanted, &mut all).ok_or_else(|| unknown(first))?;
        for part in parts {
            self.scatter(part, &all);
        }
        Ok(())
    }

    fn gather(&self, part: &Part<'_>, into: &mut [Lane; LANES]) {
        let Places { sources, .. } = part.act.places();
        for lane in lanes(part.lanes) {
            let get = |n: usize| {
                sources
                    .get(n)
                    .map_or(0, |p| self.warp.get(part.call, *p, lane))
            };
            into[lane] = Lane {
                a: get(0) as u64,
                b: get(1) as u32,
                c: get(2) as u32,
                ..Lane::default()
            };
        }
    }

    fn scatter(&mut self, part: &Part<'_>, from: &[Lane; LANES]) {
        let places = part.act.places();
        for lane in lanes(part.lanes) {
            if let Some(place) = places.result {
                self.warp
                    .set(part.call, place, lane, from[lane].result.into());
            }
            if let Some(place) = places.second {
                self.warp
                    .set(part.call, place, lane, from[lane].second.into());
            }
        }
    }
}

fn unknown(lane: usize) -> Failed {
    (StopReason::Unsupported("unknown modifiers".into()), lane)
}

/// The results of the lanes of a mask.
fn exchange(act: &Act, mask: u32, all: &mut [Lane; LANES]) -> Option<()> {
    match act.action {
        Action::Shuffle => shuffle(act, all),
        Action::Vote => vote(act, mask, all),
        Action::Match => matches(act, mask, all),
        Action::WarpReduce => reduce(act, mask, all),
        Action::Elect => {
            let leader = mask.trailing_zeros();
            for (lane, of) in (0..).zip(all.iter_mut()) {
                (of.result, of.second) = (leader.into(), lane == leader);
            }
            Some(())
        }
        Action::ActiveLanes => {
            all.iter_mut().for_each(|of| of.result = mask.into());
            Some(())
        }
        _ => None,
    }
}

/// PTX ISA manual 9.7.9.5: the lane that is read, and whether it is in range.
fn shuffle(act: &Act, all: &mut [Lane; LANES]) -> Option<()> {
    let values = all.map(|of| of.a);
    for (lane, of) in (0u32..).zip(all.iter_mut()) {
        let (by, clamp, segment) = (of.b & 31, of.c & 31, of.c >> 8 & 31);
        let most = lane & segment | clamp & !segment;
        let least = lane & segment;
        let (from, in_range) = if act.has(Modifier::Up) {
            let from = lane.wrapping_sub(by);
            (from, from as i32 >= most as i32)
        } else if act.has(Modifier::Down) {
            (lane + by, lane + by <= most)
        } else if act.has(Modifier::Bfly) {
            (lane ^ by, lane ^ by <= most)
        } else if act.has(Modifier::Idx) {
            let from = least | by & !segment;
            (from, from <= most)
        } else {
            return None;
        };
        let from = if in_range { from } else { lane };
        of.result = *values.get(from as usize & 31)?;
        of.second = in_range;
    }
    Some(())
}

fn vote(act: &Act, mask: u32, all: &mut [Lane; LANES]) -> Option<()> {
    let ballot = lanes(mask).filter(|&l| all[l].a != 0);
    let ballot = ballot.fold(0u32, |bits, lane| bits | 1 << lane);
    let result = if act.has(Modifier::Ballot) {
        ballot
    } else if act.has(Modifier::All) {
        u32::from(ballot == mask)
    } else if act.has(Modifier::Any) {
        u32::from(ballot != 0)
    } else if act.has(Modifier::Uni) {
        u32::from(ballot == mask || ballot == 0)
    } else {
        return None;
    };
    all.iter_mut().for_each(|of| of.result = result.into());
    Some(())
}

fn matches(act: &Act, mask: u32, all: &mut [Lane; LANES]) -> Option<()> {
    let values = all.map(|of| of.a);
    let equal = |lane: usize| {
        let with_value = lanes(mask).filter(|&l| values[l] == values[lane]);
        with_value.fold(0u32, |bits, lane| bits | 1 << lane)
    };
    for (lane, of) in all.iter_mut().enumerate() {
        let with_value = equal(lane);
        if act.has(Modifier::Any) {
            of.result = with_value.into();
        } else {
            of.second = with_value == mask;
            of.result = if of.second { mask.into() } else { 0 };
        }
    }
    Some(())
}

fn reduce(act: &Act, mask: u32, all: &mut [Lane; LANES]) -> Option<()> {
    let values: Vec<u32> = lanes(mask).map(|l| all[l].a as u32).collect();
    let signed = act.has(Modifier::S32);
    let result = if act.has(Modifier::F32) {
        reduce_numbers(act, &values)?
    } else {
        let key = |v: u32| if signed { v ^ 1 << 31 } else { v };
        let fold = |f: fn(u32, u32) -> u32| values.iter().copied().reduce(f);
        if act.has(Modifier::Add) {
            fold(u32::wrapping_add)?
        } else if act.has(Modifier::And) {
            fold(|a, b| a & b)?
        } else if act.has(Modifier::Or) {
            fold(|a, b| a | b)?
        } else if act.has(Modifier::Xor) {
            fold(|a, b| a ^ b)?
        } else if act.has(Modifier::Min) {
            values.iter().copied().min_by_key(|v| key(*v))?
        } else if act.has(Modifier::Max) {
            values.iter().copied().max_by_key(|v| key(*v))?
        } else {
            return None;
        }
    };
    all.iter_mut().for_each(|of| of.result = result.into());
    Some(())
}

fn reduce_numbers(act: &Act, values: &[u32]) -> Option<u32> {
    let magnitude = |v: u32| {
        if act.has(Modifier::Abs) {
            v & 0x7fff_ffff
        } else {
            v
        }
    };
    let numbers: Vec<f32> = (values.iter())
        .map(|&v| f32::from_bits(magnitude(v)))
        .collect();
    let nan = numbers.iter().any(|n| n.is_nan());
    let mut ordered: Vec<f32> = numbers.into_iter().filter(|n| !n.is_nan()).collect();
    if nan && act.has(Modifier::NaN) || ordered.is_empty() {
        return Some(0x7fff_ffff);
    }
    ordered.sort_by(f32::total_cmp);
    let extreme = if act.has(Modifier::Min) {
        ordered.first()
    } else {
        ordered.last()
    };
    extreme.map(|n| n.to_bits())
}
