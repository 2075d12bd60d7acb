//! Instructions by which the lanes of a warp communicate.

use ptx_isa::{Action, Modifier};

use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::State;
use crate::error::Reason;
use crate::lanes::lanes;
use crate::lanes::{LANES, Place};
use crate::program::{Act, ActOperand};

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

    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
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

impl Execution<'_> {
    /// Executes an exchange. With `.sync` all lanes of the mask must be at such an instruction; the group waits until they are.
    pub(super) fn exchange(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        if !act.has(Modifier::Sync) {
            let mut all = [Lane::default(); LANES];
            self.gather(self.call, act, self.active, &mut all);
            exchange(act, self.active, &mut all).ok_or_else(|| unknown(first))?;
            self.scatter(self.call, act, self.active, &all);
            return Ok(Control::Next);
        }
        let places = act.places();
        let member = places.sources.last().copied();
        let member = member.ok_or_else(|| unknown(first))?;
        let mask = self.get(member, first) as u32;
        if mask >> first & 1 == 0 {
            let what = "the mask does not name the lane that executes the instruction";
            return Err((Reason::Invalid(what.into()), first));
        }
        let wanted = mask & self.warp.groups.live();
        let mut taking_part = vec![(self.call, self.active & mask, self.at)];
        let mut present = self.active & mask;
        for group in &self.warp.groups.all {
            if group.state == State::Lanes(mask) {
                taking_part.push((group.call, group.mask, group.at));
                present |= group.mask;
            }
        }
        if present & wanted != wanted {
            return Ok(Control::Wait(State::Lanes(mask)));
        }
        let mut all = [Lane::default(); LANES];
        self.gather(self.call, act, self.active, &mut all);
        for group in self.waiting(mask) {
            self.gather(group.0, act, group.1, &mut all);
        }
        exchange(act, wanted, &mut all).ok_or_else(|| unknown(first))?;
        for (call, lanes, _) in taking_part {
            self.scatter(call, act, lanes, &all);
        }
        for group in &mut self.warp.groups.all {
            if group.state == State::Lanes(mask) {
                group.state = State::Ready;
                group.at += 1;
            }
        }
        Ok(Control::Next)
    }

    /// The calls and lanes of the groups that wait for the lanes of a mask.
    fn waiting(&self, mask: u32) -> Vec<(usize, u32)> {
        let waiting = self.warp.groups.all.iter();
        let waiting = waiting.filter(|g| g.state == State::Lanes(mask));
        waiting.map(|g| (g.call, g.mask)).collect()
    }

    fn gather(&self, call: usize, act: &Act, mask: u32, into: &mut [Lane; LANES]) {
        let Places { sources, .. } = act.places();
        for lane in lanes(mask) {
            let get = |n: usize| sources.get(n).map_or(0, |p| self.warp.get(call, *p, lane));
            into[lane] = Lane {
                a: get(0) as u64,
                b: get(1) as u32,
                c: get(2) as u32,
                ..Lane::default()
            };
        }
    }

    fn scatter(&mut self, call: usize, act: &Act, mask: u32, from: &[Lane; LANES]) {
        let places = act.places();
        for lane in lanes(mask) {
            if let Some(place) = places.result {
                self.warp.set(call, place, lane, from[lane].result.into());
            }
            if let Some(place) = places.second {
                self.warp.set(call, place, lane, from[lane].second.into());
            }
        }
    }

    /// Waits for the lanes of the warp that a mask names.
    pub(super) fn warp_barrier(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let member = act.place(0).ok_or_else(|| unknown(first))?;
        let mask = self.get(member, first) as u32;
        let mut present = self.active;
        for (_, lanes) in self.waiting(mask) {
            present |= lanes;
        }
        let wanted = mask & self.warp.groups.live();
        if present & wanted != wanted {
            return Ok(Control::Wait(State::Lanes(mask)));
        }
        for group in &mut self.warp.groups.all {
            if group.state == State::Lanes(mask) {
                group.state = State::Ready;
                group.at += 1;
            }
        }
        Ok(Control::Next)
    }
}

fn unknown(lane: usize) -> Failed {
    (
        Reason::Unsupported("its modifiers are unknown".into()),
        lane,
    )
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
        let same = lanes(mask).filter(|&l| values[l] == values[lane]);
        same.fold(0u32, |bits, lane| bits | 1 << lane)
    };
    for (lane, of) in all.iter_mut().enumerate() {
        let same = equal(lane);
        if act.has(Modifier::Any) {
            of.result = same.into();
        } else {
            of.second = same == mask;
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
    let magnitude = |v: u32| match act.has(Modifier::Abs) {
        true => v & 0x7fff_ffff,
        false => v,
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
    let found = if act.has(Modifier::Min) {
        ordered.first()
    } else {
        ordered.last()
    };
    found.map(|n| n.to_bits())
}
