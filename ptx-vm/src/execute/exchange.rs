//! Instructions that exchange data between the lanes of a warp.

use ptx_ir::FuncId;
use ptx_isa::{Action, Modifier};

use super::determined::PATTERNS;
use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::{Group, State};
use crate::error::StopReason;
use crate::lanes::{LANES, Place, lanes, lanes_where};
use crate::program::{Act, ActOperand, Step};

/// The operands of a lane, and its results.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct LaneValues {
    a: u64,
    b: u32,
    c: u32,
    result: u64,
    /// The second result of some exchanges.
    predicate: bool,
}

/// The places of the operands of an exchange.
struct Places {
    result: Option<Place>,
    predicate: Option<Place>,
    sources: Vec<Place>,
}

impl Act {
    /// The first place of an operand of the form.
    pub(crate) fn place(&self, index: usize) -> Option<Place> {
        match self.operands.get(index)? {
            Some(ActOperand::Places(places)) => places.first().copied(),
            _ => None,
        }
    }

    /// The first place of the last operand that has one.
    pub(crate) fn last_place(&self) -> Option<Place> {
        (0..self.operands.len()).rev().find_map(|i| self.place(i))
    }

    pub(crate) fn has(&self, modifier: Modifier) -> bool {
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

    /// Whether the form has two results: a value and a predicate.
    fn has_predicate_result(&self) -> bool {
        match self.action {
            Action::Shuffle | Action::Elect => true,
            Action::Match => self.has(Modifier::All),
            _ => false,
        }
    }

    fn places(&self) -> Places {
        let first = if self.has_predicate_result() { 2 } else { 1 };
        let sources = (first..self.operands.len()).filter_map(|i| self.place(i));
        Places {
            result: self.place(0),
            predicate: self.place(1).filter(|_| self.has_predicate_result()),
            sources: sources.collect(),
        }
    }
}

/// Lanes of a call that take part in an exchange, and their instruction.
pub(crate) struct Participants<'a> {
    pub(crate) call: usize,
    pub(crate) lanes: u32,
    pub(crate) function: FuncId,
    pub(crate) step_index: u32,
    act: &'a Act,
}

/// An exchange of values between lanes, of which the results are not written yet.
pub(crate) struct Exchange<'a> {
    pub(crate) participants: &'a [Participants<'a>],
    expected: u32,
    /// The operands of each lane.
    values: &'a [LaneValues; LANES],
}

/// The results of an exchange that depend on unknown operands.
#[derive(Debug, Default)]
pub(crate) struct UnknownResults {
    /// The bits of the result of each lane that are unknown.
    pub(crate) bits: [u64; LANES],
    /// The lanes whose second result, a predicate, is unknown.
    pub(crate) predicates: u32,
}

impl Participants<'_> {
    /// The places of the operands of an exchange, without the mask of its lanes.
    pub(crate) fn sources(&self) -> Vec<Place> {
        let mut sources = self.act.places().sources;
        if self.act.member_mask().is_some() {
            sources.pop();
        }
        sources
    }

    /// The places of the result and of the predicate that is a second result.
    pub(crate) fn results(&self) -> [Option<Place>; 2] {
        let places = self.act.places();
        [places.result, places.predicate]
    }
}

impl Exchange<'_> {
    /// The results that depend on bits of operands that are unknown, by lane and operand.
    pub(crate) fn unknown_results(&self, unknown: &[[u64; 3]; LANES]) -> UnknownResults {
        let everything = UnknownResults {
            bits: [u64::MAX; LANES],
            predicates: u32::MAX,
        };
        let Some(Participants { act, .. }) = self.participants.last() else {
            return everything;
        };
        if act.action == Action::Match {
            // Any lane may have the value of an unknown one.
            return everything;
        }
        let mut results = UnknownResults::default();
        let mut first_values = None;
        // Unknown values may be zero or all ones in all lanes, or different in different lanes.
        for run in 0..PATTERNS.len() + 2 {
            let mut values = *self.values;
            for (lane, (values, unknown)) in values.iter_mut().zip(unknown).enumerate() {
                let index = if run < 2 { run } else { run + lane };
                let pattern = PATTERNS[index % PATTERNS.len()] as u64;
                let [a, b, c] = unknown;
                values.a = values.a & !a | pattern & a;
                values.b = values.b & !(*b as u32) | (pattern & b) as u32;
                values.c = values.c & !(*c as u32) | (pattern & c) as u32;
            }
            if exchange(act, self.expected, &mut values).is_none() {
                return everything;
            }
            let first_values = first_values.get_or_insert(values);
            for lane in 0..LANES {
                let (first, value) = (&first_values[lane], &values[lane]);
                results.bits[lane] |= first.result ^ value.result;
                results.predicates |= u32::from(first.predicate != value.predicate) << lane;
            }
        }
        results
    }
}

impl<'e> Execution<'e> {
    /// Executes an exchange. With `.sync` all lanes of the mask must be at such an instruction; the group waits until they are.
    pub(super) fn exchange(&mut self, act: &Act) -> Outcome {
        if act.has(Modifier::Sync) {
            return self.exchange_among_members(act);
        }
        self.exchange_between(&[self.own_participants(self.active, act)], self.active)?;
        Ok(Control::Next)
    }

    /// Lanes of the group that execute the instruction.
    fn own_participants<'a>(&self, lanes: u32, act: &'a Act) -> Participants<'a> {
        Participants {
            call: self.call,
            lanes,
            function: self.function_id,
            step_index: self.step_index,
            act,
        }
    }

    /// Executes an exchange among the lanes that the mask of each lane names, as soon as all of them are there. Masks of different lanes may differ.
    pub(super) fn exchange_among_members(&mut self, act: &Act) -> Outcome {
        let member_mask = act.member_mask().ok_or_else(|| unknown(self.first()))?;
        let values = self.warp.values(self.call, member_mask);
        let mut masks = values.map(|mask| mask as u32);
        if self.grid.permissive && self.include_lanes(&mut masks) {
            self.exchange_between(&[self.own_participants(self.active, act)], self.active)?;
            return Ok(Control::Next);
        }
        let mut remaining = self.active;
        let mut waiting = Vec::new();
        while remaining != 0 {
            let mask = masks[remaining.trailing_zeros() as usize];
            let with_mask = lanes_where(remaining, |lane| masks[lane] == mask);
            remaining &= !with_mask;
            if with_mask & !mask != 0 {
                let reason = "the mask does not include the lane that executes the instruction";
                let lane = (with_mask & !mask).trailing_zeros() as usize;
                return Err((StopReason::Invalid(reason.into()), lane));
            }
            let mut participants = self.waiting(mask);
            participants.push(self.own_participants(with_mask, act));
            let expected = mask & self.warp.groups.live();
            let masks_of_participants = participants.iter().map(|waiting| waiting.lanes);
            let present = masks_of_participants.fold(0, core::ops::BitOr::bitor);
            if present & expected != expected {
                waiting.push((with_mask, State::Lanes(mask)));
                continue;
            }
            self.exchange_between(&participants, expected)?;
            self.warp.groups.release(State::Lanes(mask));
        }
        Ok(match waiting[..] {
            [] => Control::Next,
            [(lanes, state)] if lanes == self.active => Control::Wait(state),
            _ => self.divide(&waiting),
        })
    }

    /// Includes each lane in its mask. If masks without their lanes name no lanes but those of the group, the lanes exchange values at once, whatever their masks are, as
    /// on a GPU: the result is whether they do.
    fn include_lanes(&self, masks: &mut [u32; LANES]) -> bool {
        let excluded = lanes_where(self.active, |lane| masks[lane] & (1 << lane) == 0);
        let mut named = 0;
        for lane in lanes(self.active) {
            masks[lane] |= 1 << lane;
            named |= masks[lane];
        }
        excluded != 0 && named & self.warp.groups.live() & !self.active == 0
    }

    /// Divides the group into lanes that wait for different masks and those that go on.
    fn divide(&mut self, waiting: &[(u32, State)]) -> Control {
        let groups = &mut self.warp.groups;
        groups.all.swap_remove(self.group);
        let mut continuing = self.mask;
        for &(mask, state) in waiting {
            continuing &= !mask;
            groups.add_in(state, mask, self.call, self.step_index);
        }
        if continuing != 0 {
            groups.add(continuing, self.call, self.step_index + 1);
        }
        Control::Moved
    }

    /// The lanes that wait for those of a mask.
    fn waiting(&self, mask: u32) -> Vec<Participants<'e>> {
        let groups = self.warp.groups.all.iter();
        groups
            .filter(|group| group.state == State::Lanes(mask))
            .filter_map(|group| self.participants(group))
            .collect()
    }

    /// The lanes of a group that waits at an exchange or a barrier.
    fn participants(&self, group: &Group) -> Option<Participants<'e>> {
        let call = self.warp.groups.calls.get(group.call)?.as_ref()?;
        let function = self.grid.program.function(call.function)?;
        match &function.steps.get(group.step_index as usize)?.step {
            Step::Act(act) => Some(Participants {
                call: group.call,
                lanes: group.mask,
                function: call.function,
                step_index: group.step_index,
                act,
            }),
            _ => None,
        }
    }

    /// Exchanges values between lanes, which may be at different instructions.
    fn exchange_between(
        &mut self,
        participants: &[Participants<'_>],
        expected: u32,
    ) -> Result<(), Failed> {
        let first = self.first();
        let Some(Participants { act, .. }) = participants.last() else {
            return Ok(());
        };
        let all_agree = participants
            .iter()
            .all(|group| (group.act.action, &group.act.modifiers) == (act.action, &act.modifiers));
        if !all_agree {
            let reason = "the lanes of a mask execute different instructions";
            return Err((StopReason::Invalid(reason.into()), first));
        }
        if act.action == Action::WarpBarrier {
            return Ok(());
        }
        let mut values = [LaneValues::default(); LANES];
        for participant in participants {
            self.read_operands(participant, &mut values);
        }
        let exchange_of_values = Exchange {
            participants,
            expected,
            values: &values,
        };
        self.block
            .observe(|observer, _| observer.exchange(self, &exchange_of_values));
        exchange(act, expected, &mut values).ok_or_else(|| unknown(first))?;
        for participant in participants {
            self.write_results(participant, &values);
        }
        Ok(())
    }

    fn read_operands(&self, participants: &Participants<'_>, values: &mut [LaneValues; LANES]) {
        let Places { sources, .. } = participants.act.places();
        for lane in lanes(participants.lanes) {
            let mut operands = [0; 3];
            for (operand, place) in operands.iter_mut().zip(&sources) {
                *operand = self.warp.get(participants.call, *place, lane);
            }
            values[lane] = LaneValues {
                a: operands[0] as u64,
                b: operands[1] as u32,
                c: operands[2] as u32,
                ..LaneValues::default()
            };
        }
    }

    fn write_results(&mut self, participants: &Participants<'_>, values: &[LaneValues; LANES]) {
        let Participants { call, .. } = *participants;
        let places = participants.act.places();
        for lane in lanes(participants.lanes) {
            if let Some(place) = places.result {
                self.warp.set(call, place, lane, values[lane].result.into());
            }
            if let Some(place) = places.predicate {
                let predicate = values[lane].predicate.into();
                self.warp.set(call, place, lane, predicate);
            }
        }
    }
}

fn unknown(lane: usize) -> Failed {
    (StopReason::Unsupported("unknown modifiers".into()), lane)
}

/// Computes the results of the lanes of a mask.
fn exchange(act: &Act, mask: u32, warp: &mut [LaneValues; LANES]) -> Option<()> {
    match act.action {
        Action::Shuffle => shuffle(act, warp),
        Action::Vote => vote(act, mask, warp),
        Action::Match => match_values(act, mask, warp),
        Action::WarpReduce => reduce(act, mask, warp),
        Action::Elect => {
            let leader = mask.trailing_zeros();
            for (lane, values) in (0..).zip(warp.iter_mut()) {
                (values.result, values.predicate) = (leader.into(), lane == leader);
            }
            Some(())
        }
        Action::ActiveLanes => {
            set_all(warp, mask);
            Some(())
        }
        _ => None,
    }
}

/// Sets the result of all lanes.
fn set_all(warp: &mut [LaneValues; LANES], result: u32) {
    for values in warp {
        values.result = result.into();
    }
}

/// Reads the value of another lane, or the own one if that lane is out of range (PTX ISA manual 9.7.9.5).
fn shuffle(act: &Act, warp: &mut [LaneValues; LANES]) -> Option<()> {
    let sources = warp.map(|values| values.a);
    for (lane, values) in (0u32..).zip(warp.iter_mut()) {
        let (offset, clamp, segment) = (values.b & 31, values.c & 31, values.c >> 8 & 31);
        let last_lane = lane & segment | clamp & !segment;
        let least = lane & segment;
        let (source, in_range) = if act.has(Modifier::Up) {
            let source = lane.wrapping_sub(offset);
            (source, source as i32 >= last_lane as i32)
        } else if act.has(Modifier::Down) {
            (lane + offset, lane + offset <= last_lane)
        } else if act.has(Modifier::Bfly) {
            (lane ^ offset, lane ^ offset <= last_lane)
        } else if act.has(Modifier::Idx) {
            let source = least | offset & !segment;
            (source, source <= last_lane)
        } else {
            return None;
        };
        let source = if in_range { source } else { lane };
        values.result = *sources.get(source as usize & 31)?;
        values.predicate = in_range;
    }
    Some(())
}

fn vote(act: &Act, mask: u32, warp: &mut [LaneValues; LANES]) -> Option<()> {
    let ballot = lanes_where(mask, |lane| warp[lane].a != 0);
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
    set_all(warp, result);
    Some(())
}

fn match_values(act: &Act, mask: u32, warp: &mut [LaneValues; LANES]) -> Option<()> {
    let sources = warp.map(|values| values.a);
    for (source, values) in sources.iter().zip(warp.iter_mut()) {
        let with_value = lanes_where(mask, |lane| sources[lane] == *source);
        if act.has(Modifier::Any) {
            values.result = with_value.into();
        } else {
            values.predicate = with_value == mask;
            values.result = if values.predicate { mask.into() } else { 0 };
        }
    }
    Some(())
}

fn reduce(act: &Act, mask: u32, warp: &mut [LaneValues; LANES]) -> Option<()> {
    let sources: Vec<u32> = lanes(mask).map(|lane| warp[lane].a as u32).collect();
    set_all(warp, reduce_words(act, &sources)?);
    Some(())
}

/// The combination of words by the operation and the type that modifiers state.
pub(super) fn reduce_words(act: &Act, words: &[u32]) -> Option<u32> {
    if act.has(Modifier::F32) {
        reduce_floats(act, words)
    } else {
        reduce_integers(act, words)
    }
}

fn reduce_integers(act: &Act, values: &[u32]) -> Option<u32> {
    // Signed numbers are in the order of unsigned ones once their signs are inverted.
    let sign = if act.has(Modifier::S32) { 1 << 31 } else { 0 };
    let values = values.iter().copied();
    if act.has(Modifier::Add) {
        values.reduce(u32::wrapping_add)
    } else if act.has(Modifier::And) {
        values.reduce(|a, b| a & b)
    } else if act.has(Modifier::Or) {
        values.reduce(|a, b| a | b)
    } else if act.has(Modifier::Xor) {
        values.reduce(|a, b| a ^ b)
    } else if act.has(Modifier::Min) {
        values.min_by_key(|value| value ^ sign)
    } else if act.has(Modifier::Max) {
        values.max_by_key(|value| value ^ sign)
    } else {
        None
    }
}

fn reduce_floats(act: &Act, values: &[u32]) -> Option<u32> {
    let sign_cleared = if act.has(Modifier::Abs) {
        0x7fff_ffff
    } else {
        u32::MAX
    };
    let (nans, mut ordered): (Vec<f32>, Vec<f32>) = values
        .iter()
        .map(|bits| f32::from_bits(bits & sign_cleared))
        .partition(|number| number.is_nan());
    if !nans.is_empty() && act.has(Modifier::NaN) || ordered.is_empty() {
        return Some(0x7fff_ffff);
    }
    ordered.sort_by(f32::total_cmp);
    let extreme = if act.has(Modifier::Min) {
        ordered.first()
    } else {
        ordered.last()
    };
    extreme.map(|number| number.to_bits())
}
