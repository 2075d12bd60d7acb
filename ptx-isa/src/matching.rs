//! The assignment of modifiers to the slots of a form, and their canonical order.
//!
//! ptxas accepts the modifiers after an instruction's name in nearly any order. Only the modifiers of a positional
//! class (types, state spaces, layouts, …) are assigned to slots in their order.

use crate::{Cell, Form, Instruction, Modifier, ModifierSet, Opcode, Row, Table, find_instruction};

/// The greatest number of modifiers that is matched; no legal instruction has as many.
pub const MAX_MODIFIERS: usize = 32;

/// The number of placements that are tried before a form counts as not matching. Forms are hardly ambiguous: a
/// match takes about as many steps as there are modifiers.
const MAX_STEPS: u32 = 512;

const NONE: u8 = u8::MAX;

/// The placement of one modifier: a slot, and a position in an alternative of several modifiers.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
struct Placement {
    slot: u8,
    /// Index of the sequence, or `NONE` for an alternative of one modifier.
    sequence: u8,
    position: u8,
}

const NOWHERE: Placement = Placement {
    slot: NONE,
    sequence: NONE,
    position: 0,
};

/// The assignment of modifiers to slots.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlotAssignment {
    modifiers: [Modifier; MAX_MODIFIERS],
    placements: [Placement; MAX_MODIFIERS],
    len: u8,
}

impl SlotAssignment {
    /// An assignment of the modifiers to no slot. At most [`MAX_MODIFIERS`] are kept.
    fn unplaced(modifiers: &[Modifier]) -> Self {
        let mut copy = [Modifier::Rn; MAX_MODIFIERS];
        for (target, &modifier) in copy.iter_mut().zip(modifiers) {
            *target = modifier;
        }
        Self {
            modifiers: copy,
            placements: [NOWHERE; MAX_MODIFIERS],
            len: modifiers.len().min(MAX_MODIFIERS) as u8,
        }
    }

    /// The slot of the modifier of an index; `None` for one that is ignored.
    #[must_use]
    pub fn slot_of(&self, written: usize) -> Option<usize> {
        let placement = self.placements.get(..self.len.into())?.get(written)?;
        (placement.slot != NONE).then_some(placement.slot.into())
    }

    /// Whether the modifier of an index is ignored or repeats an earlier one.
    pub(crate) fn is_redundant(&self, written: usize) -> bool {
        let slot = self.slot_of(written);
        let modifier = self.modifiers.get(written);
        let repeats_earlier = modifier.is_some_and(|m| m.may_be_doubled())
            && (0..written).any(|i| self.modifiers.get(i) == modifier && self.slot_of(i) == slot);
        slot.is_none() || repeats_earlier
    }

    /// The number of modifiers.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no modifiers.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The modifiers in a slot, in their order in the query.
    pub fn words(&self, slot: usize) -> impl Iterator<Item = Modifier> {
        self.modifiers
            .iter()
            .zip(&self.placements)
            .take(self.len.into())
            .filter(move |(_, p)| usize::from(p.slot) == slot)
            .map(|(&m, _)| m)
    }

    /// The first modifier in a slot.
    #[must_use]
    pub fn word(&self, slot: usize) -> Option<Modifier> {
        self.words(slot).next()
    }

    /// Whether a slot is filled.
    #[must_use]
    pub fn is_filled(&self, slot: usize) -> bool {
        self.word(slot).is_some()
    }

    /// Whether a slot holds one of some modifiers.
    #[must_use]
    pub fn holds(&self, slot: usize, words: ModifierSet) -> bool {
        self.words(slot).any(|m| words.contains(m))
    }
}

impl Form {
    /// Assigns the modifiers after the instruction's name to the slots. `None` if one does not fit or a required slot
    /// is empty.
    #[doc(hidden)]
    #[must_use]
    pub fn match_modifiers(&self, modifiers: &[Modifier]) -> Option<SlotAssignment> {
        if modifiers.len() > MAX_MODIFIERS || !modifiers.iter().all(|&m| self.accepts(m)) {
            return None;
        }
        let mut search = Search::new(self, modifiers);
        search.place(0).then_some(search.assignment)
    }

    /// Like [`match_modifiers`](Self::match_modifiers), but as lenient as ptxas: modifiers without effect are accepted
    /// although no slot takes them, and some modifiers may be repeated.
    #[doc(hidden)]
    #[must_use]
    pub fn match_lenient(&self, modifiers: &[Modifier]) -> Option<SlotAssignment> {
        if let Some(assignment) = self.match_modifiers(modifiers) {
            return Some(assignment);
        }
        if modifiers.len() > MAX_MODIFIERS {
            return None;
        }
        let mut kept = [Modifier::Rn; MAX_MODIFIERS];
        let mut origin = [0u8; MAX_MODIFIERS];
        let mut count = 0;
        for (i, &m) in modifiers.iter().enumerate() {
            if is_droppable(self, modifiers, i) {
                continue;
            }
            *kept.get_mut(count)? = m;
            *origin.get_mut(count)? = i as u8;
            count += 1;
        }
        if count == modifiers.len() {
            return None;
        }
        let strict = self.match_modifiers(kept.get(..count)?)?;
        let mut assignment = SlotAssignment::unplaced(modifiers);
        for (placement, &i) in strict.placements.iter().zip(&origin).take(count) {
            *assignment.placements.get_mut(usize::from(i))? = *placement;
        }
        // A repeated modifier is placed like the first one.
        for (i, &m) in modifiers.iter().enumerate() {
            if assignment.slot_of(i).is_none() {
                let first = modifiers.iter().position(|&t| t == m).filter(|&t| t != i);
                let placement = first
                    .and_then(|t| assignment.placements.get(t).copied())
                    .unwrap_or(NOWHERE);
                *assignment.placements.get_mut(i)? = placement;
            }
        }
        Some(assignment)
    }
}

impl Table {
    /// The first row that matches the modifiers in the slots.
    #[must_use]
    pub fn row(&self, chosen: &SlotAssignment) -> Option<&'static Row> {
        self.rows.iter().find(|row| {
            row.cells.iter().zip(self.columns).all(|(cell, &slot)| {
                let slot = usize::from(slot);
                match *cell {
                    Cell::Any => true,
                    Cell::Absent => !chosen.is_filled(slot),
                    Cell::OneOf(words) => chosen.holds(slot, words),
                    Cell::Same(other) => chosen.words(slot).eq(chosen.words(other.into())),
                }
            })
        })
    }
}

/// Whether the modifier has no effect: it repeats an earlier one, or the form ignores it.
fn is_droppable(form: &Form, modifiers: &[Modifier], index: usize) -> bool {
    let Some((&m, earlier)) = modifiers.get(..=index).and_then(|m| m.split_last()) else {
        return false;
    };
    m.may_be_doubled() && earlier.contains(&m) || form.ignores(m)
}

/// A search for a placement of all modifiers, with backtracking where a modifier fits several slots.
struct Search<'a> {
    form: &'a Form,
    modifiers: &'a [Modifier],
    /// The placements of the modifiers before the current one; those of the others are not valid.
    assignment: SlotAssignment,
    /// The number of calls of `place` so far, at most `MAX_STEPS`.
    steps: u32,
}

impl<'a> Search<'a> {
    fn new(form: &'a Form, modifiers: &'a [Modifier]) -> Self {
        Self {
            form,
            modifiers,
            assignment: SlotAssignment::unplaced(modifiers),
            steps: 0,
        }
    }

    /// Places the modifiers from `index` on. Returns whether all have a place.
    fn place(&mut self, index: usize) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        let Some(&modifier) = self.modifiers.get(index) else {
            return self.is_complete();
        };
        let previous = self.last_of_class(index, modifier);
        for (slot, def) in self.form.slots().enumerate() {
            let slot = slot as u8;
            if def.words.contains(modifier) && !self.is_used(index, slot) {
                let placement = Placement {
                    slot,
                    sequence: NONE,
                    position: 0,
                };
                if self.try_placement(index, placement, previous) {
                    return true;
                }
            }
            for (sequence, words) in def.sequences.iter().enumerate() {
                for (position, _) in words.iter().enumerate().filter(|&(_, &w)| w == modifier) {
                    let placement = Placement {
                        slot,
                        sequence: sequence as u8,
                        position: position as u8,
                    };
                    if self.fits_sequence(index, placement)
                        && self.try_placement(index, placement, previous)
                    {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Places one modifier, then the modifiers after it. A modifier of a positional class is placed after the `previous` modifier of its
    /// class.
    fn try_placement(
        &mut self,
        index: usize,
        placement: Placement,
        previous: Option<Placement>,
    ) -> bool {
        if previous.is_some_and(|previous| {
            (previous.slot, previous.position) >= (placement.slot, placement.position)
        }) {
            return false;
        }
        let Some(entry) = self.assignment.placements.get_mut(index) else {
            return false;
        };
        *entry = placement;
        self.place(index + 1)
    }

    /// The placement of the nearest earlier modifier of the same positional class.
    fn last_of_class(&self, index: usize, modifier: Modifier) -> Option<Placement> {
        let class = modifier.class();
        if !class.is_positional() {
            return None;
        }
        let earlier = self
            .modifiers
            .get(..index)?
            .iter()
            .rposition(|m| m.class() == class)?;
        self.assignment.placements.get(earlier).copied()
    }

    fn placed(&self, index: usize) -> &[Placement] {
        self.assignment.placements.get(..index).unwrap_or(&[])
    }

    fn is_used(&self, index: usize, slot: u8) -> bool {
        self.placed(index).iter().any(|p| p.slot == slot)
    }

    /// Whether the slot is empty or holds other modifiers of the same sequence.
    fn fits_sequence(&self, index: usize, placement: Placement) -> bool {
        self.placed(index)
            .iter()
            .filter(|p| p.slot == placement.slot)
            .all(|p| p.sequence == placement.sequence && p.position != placement.position)
    }

    /// Whether every required slot is filled and every sequence is complete.
    fn is_complete(&self) -> bool {
        let placed = self.placed(self.modifiers.len());
        self.form.slots().enumerate().all(|(slot, def)| {
            let mut words = placed.iter().filter(|p| usize::from(p.slot) == slot);
            let Some(first) = words.next() else {
                return def.is_optional;
            };
            let needed = def
                .sequences
                .get(usize::from(first.sequence))
                .map_or(1, |s| s.len());
            1 + words.count() == needed
        })
    }
}

/// The first form of the instruction that takes the modifiers, and the instruction. The modifiers are all those after
/// the opcode; the assignment counts from the end of the instruction's name.
///
/// ```
/// use ptx_isa::{Modifier, Opcode};
/// use ptx_isa::internals::find_form;
/// let (_, form, _) = find_form(Opcode::Add, &[Modifier::S32]).unwrap();
/// assert_eq!((form.section(), form.operands().len()), ("9.7.1.1", 3));
/// ```
#[must_use]
pub fn find_form(
    opcode: Opcode,
    modifiers: &[Modifier],
) -> Option<(&'static Instruction, &'static Form, SlotAssignment)> {
    let instruction = find_instruction(opcode, modifiers)?;
    let choices = modifiers.get(instruction.words().len()..)?;
    let forms = instruction.forms();
    let (form, assignment) = forms
        .iter()
        .find_map(|form| Some((*form, form.match_modifiers(choices)?)))
        .or_else(|| {
            forms
                .iter()
                .find_map(|form| Some((*form, form.match_lenient(choices)?)))
        })?;
    Some((instruction, form, assignment))
}

/// The PTX ISA manual's order of the modifiers: fills `order` with the indices of the modifiers in that order and returns true.
/// If no form takes the modifiers, keeps their order and returns false. `order` must be as long as
/// `modifiers`.
///
/// The modifiers of the instruction's name stay first, those of a positional class keep their order, a repeated modifier
/// stays beside its first occurrence, and those without effect go to the end.
pub fn canonical_order(opcode: Opcode, modifiers: &[Modifier], order: &mut [u16]) -> bool {
    for (i, entry) in order.iter_mut().enumerate() {
        *entry = i as u16;
    }
    let Some((instruction, _, assignment)) = find_form(opcode, modifiers) else {
        return false;
    };
    let fixed = instruction.words().len();
    let Some(choices) = order.get_mut(fixed..) else {
        return false;
    };
    if choices.len() + fixed != modifiers.len() {
        return false;
    }
    // Insertion sort: short, stable, and linear for sorted input.
    let key = |written: u16| {
        let p = assignment
            .placements
            .get(usize::from(written) - fixed)
            .copied()
            .unwrap_or(NOWHERE);
        (p.slot, p.position)
    };
    for i in 1..choices.len() {
        let mut j = i;
        while let Some(&[a, b]) = choices.get(j - 1..=j) {
            if key(a) <= key(b) {
                break;
            }
            choices.swap(j - 1, j);
            j -= 1;
            if j == 0 {
                break;
            }
        }
    }
    true
}
