//! Changes of one modifier that make an instruction legal, for messages about instructions that are not.

use alloc::vec::Vec;
use core::cell::Cell;

use crate::form::ModifierBits;
use crate::{
    Expected, FormMatch, InstQuery, MAX_MODIFIERS, Modifier, Opcode, OperandShape, PtxVersion,
    ScalarType, Spaces, Target, TypeKind, Violation, canonical_order,
};

/// A change of one modifier. Indices are those of the modifiers of the query.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ModifierEdit {
    /// Insert the modifier before the one of this index, or at the end.
    Insert(usize, Modifier),
    /// Replace the modifier of this index.
    Replace(usize, Modifier),
    /// Remove the modifier of this index.
    Remove(usize),
}

impl ModifierEdit {
    /// The modifiers after the change.
    #[must_use]
    pub fn apply(self, modifiers: &[Modifier]) -> Vec<Modifier> {
        let mut changed = modifiers.to_vec();
        match self {
            Self::Insert(index, modifier) => changed.insert(index.min(changed.len()), modifier),
            Self::Replace(index, modifier) => {
                if let Some(entry) = changed.get_mut(index) {
                    *entry = modifier;
                }
            }
            Self::Remove(index) if index < changed.len() => {
                changed.remove(index);
            }
            Self::Remove(_) => {}
        }
        changed
    }

    /// The modifier that is written.
    #[must_use]
    pub const fn modifier(self) -> Option<Modifier> {
        match self {
            Self::Insert(_, modifier) | Self::Replace(_, modifier) => Some(modifier),
            Self::Remove(_) => None,
        }
    }
}

record! {
    /// A change of one modifier after which a form takes the modifiers.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Repair {
        /// The change.
        edit: ModifierEdit,
        /// Whether the operands are legal after the change, too.
        fits_operands: bool,
        /// The distance between the declarations of the operands and the types and state spaces of the instruction; 0 if they are
        /// equal. See `OTHER_TYPE` and `OTHER_KIND` for its unit.
        inexact: usize,
    }
}

/// The kinds of edits, in the order in which they are tried.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Attempt {
    RemoveDuplicate,
    Insert,
    Remove,
    ReplaceByClass,
    ReplaceByAny,
}

impl Attempt {
    /// The attempts for modifiers that no form takes: one is missing, superfluous or wrong.
    const WRONG_MODIFIERS: [Self; 5] = [
        Self::RemoveDuplicate,
        Self::Insert,
        Self::Remove,
        Self::ReplaceByClass,
        Self::ReplaceByAny,
    ];
    /// The attempts for modifiers that a form takes with other operands.
    const OTHER_MODIFIERS: [Self; 4] = [
        Self::Insert,
        Self::ReplaceByClass,
        Self::Remove,
        Self::ReplaceByAny,
    ];
}

impl InstQuery<'_> {
    /// The changes of one modifier that make the instruction legal in a version and on a target, or on any target. All are of
    /// one kind: insertions if there are any, since a missing modifier is more frequent than a wrong one. If no change makes the
    /// operands legal, the changes make only the modifiers legal. The cost is that of some hundred calls of
    /// [`select`](Self::select).
    ///
    /// ```
    /// use ptx_isa::{Modifier, Opcode, PtxVersion};
    /// use ptx_isa::internals::InstQuery;
    /// use ptx_isa::internals::ModifierEdit;
    ///
    /// // `mul.s32`
    /// let query = InstQuery::new("mul".parse::<Opcode>()?, &[Modifier::S32], &[]);
    /// let repairs = query.repairs(PtxVersion::CURRENT, None);
    /// let lo = ModifierEdit::Insert(0, ".lo".parse::<Modifier>()?);
    /// assert!(repairs.iter().any(|r| r.edit() == lo));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn repairs(&self, version: PtxVersion, target: Option<Target>) -> Vec<Repair> {
        self.search(version, target).run()
    }

    /// The number of changes that [`repairs`](Self::repairs) tries, which a test limits.
    #[doc(hidden)]
    #[must_use]
    pub fn count_tried_repairs(&self) -> usize {
        let search = self.search(PtxVersion::CURRENT, None);
        search.run();
        search.tried_edits.get()
    }

    fn search(&self, version: PtxVersion, target: Option<Target>) -> Search<'_> {
        Search {
            query: *self,
            version,
            target,
            words: self.opcode.words(),
            tried_edits: Cell::new(0),
        }
    }
}

impl Opcode {
    /// The modifiers that can be inserted before the one of an index so that a form takes all of them.
    ///
    /// ```
    /// use ptx_isa::{Modifier, Opcode};
    /// let completions = "setp".parse::<Opcode>()?.completions(&[Modifier::S32], 0);
    /// assert!(completions.contains(&".lt".parse::<Modifier>()?) && !completions.contains(&Modifier::F32));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn completions(self, modifiers: &[Modifier], index: usize) -> Vec<Modifier> {
        self.words()
            .iter()
            .filter(|modifier| {
                let changed = ModifierEdit::Insert(index, *modifier).apply(modifiers);
                InstQuery::new(self, &changed, &[])
                    .candidates()
                    .any(|candidate| candidate.redundant().next().is_none())
            })
            .collect()
    }
}

struct Search<'a> {
    query: InstQuery<'a>,
    version: PtxVersion,
    target: Option<Target>,
    /// All modifiers of the opcode.
    words: ModifierBits,
    /// The number of edits that were tried.
    tried_edits: Cell<usize>,
}

impl Search<'_> {
    fn run(&self) -> Vec<Repair> {
        // One edit cannot make the number of modifiers legal for any form.
        if self.query.modifiers.len() > MAX_MODIFIERS + 1 {
            return Vec::new();
        }
        let attempts = match self.query.candidates().next() {
            Some(_) => &Attempt::OTHER_MODIFIERS[..],
            None => &Attempt::WRONG_MODIFIERS,
        };
        let mut partial_repairs = Vec::new();
        for attempt in attempts {
            let repairs = self.attempt(*attempt);
            if repairs.first().is_some_and(|r| r.fits_operands) {
                return repairs;
            }
            if partial_repairs.is_empty() {
                partial_repairs = repairs;
            }
        }
        partial_repairs
    }

    /// The repairs of one kind, the best ones first.
    fn attempt(&self, attempt: Attempt) -> Vec<Repair> {
        let modifiers = self.query.modifiers;
        let mut repairs = Vec::new();
        match attempt {
            Attempt::RemoveDuplicate | Attempt::Remove => {
                for (index, modifier) in modifiers.iter().enumerate().rev() {
                    let earlier = modifiers.get(..index).unwrap_or_default();
                    if attempt == Attempt::Remove || earlier.contains(modifier) {
                        repairs.extend(self.try_edit(ModifierEdit::Remove(index)));
                    }
                }
            }
            Attempt::Insert => {
                for modifier in self.words.iter() {
                    repairs.extend(self.best_insertion(modifier));
                }
            }
            Attempt::ReplaceByClass | Attempt::ReplaceByAny => {
                let keeps_class = attempt == Attempt::ReplaceByClass;
                for (index, old) in modifiers.iter().enumerate() {
                    for replacement in self.words.iter() {
                        let has_class = replacement.class() == old.class();
                        if replacement != *old && has_class == keeps_class {
                            let edit = ModifierEdit::Replace(index, replacement);
                            repairs.extend(self.try_edit(edit));
                        }
                    }
                }
            }
        }
        repairs.sort_by_key(Repair::rank);
        repairs
    }

    /// The best insertion of a modifier; the last position of equally good ones.
    fn best_insertion(&self, modifier: Modifier) -> Option<Repair> {
        self.insertion_positions(modifier)
            .filter_map(|index| self.try_edit(ModifierEdit::Insert(index, modifier)))
            .map(|repair| self.in_order(repair))
            .min_by_key(Repair::rank)
    }

    /// The positions where a modifier could be inserted, backwards: all positions if its position matters, else the end.
    fn insertion_positions(&self, modifier: Modifier) -> impl Iterator<Item = usize> + use<> {
        let has_position = modifier.class().is_positional()
            || self
                .query
                .opcode
                .instructions()
                .iter()
                .any(|i| i.words().contains(&modifier));
        let end = self.query.modifiers.len();
        (if has_position { 0 } else { end }..=end).rev()
    }

    /// Moves an insertion at the end to its position in the order of the PTX ISA manual.
    fn in_order(&self, repair: Repair) -> Repair {
        let count = self.query.modifiers.len();
        let edit = match repair.edit {
            ModifierEdit::Insert(index, modifier) if index == count => {
                let mut order = alloc::vec![0; count + 1];
                let changed = repair.edit.apply(self.query.modifiers);
                canonical_order(self.query.opcode, &changed, &mut order);
                let position = order.iter().position(|&i| usize::from(i) == count);
                ModifierEdit::Insert(position.unwrap_or(count), modifier)
            }
            edit => edit,
        };
        Repair { edit, ..repair }
    }

    /// Returns the repair with the edit, if the changed modifiers are legal in a documented form.
    fn try_edit(&self, edit: ModifierEdit) -> Option<Repair> {
        self.tried_edits.set(self.tried_edits.get() + 1);
        let modifiers = edit.apply(self.query.modifiers);
        let query = InstQuery {
            modifiers: &modifiers,
            ..self.query
        };
        query
            .candidates()
            .filter(|candidate| !candidate.form().is_undocumented())
            .filter_map(|candidate| self.repair(edit, candidate))
            .min_by_key(Repair::rank)
    }

    /// Returns the repair, if only operands violate the form after the edit and every modifier has an effect.
    fn repair(&self, edit: ModifierEdit, mut candidate: FormMatch<'_>) -> Option<Repair> {
        if let Some(target) = self.target {
            candidate.add_floors(self.version, target);
        }
        let violations = candidate.violations();
        let has_legal_modifiers = violations
            .as_slice()
            .iter()
            .all(|v| matches!(v, Violation::Operand(..) | Violation::Count(..)));
        let has_redundant_modifier = candidate.redundant().next().is_some();
        (has_legal_modifiers && !has_redundant_modifier).then(|| Repair {
            edit,
            fits_operands: violations.is_empty(),
            inexact: declaration_distance(&candidate),
        })
    }
}

impl Repair {
    /// The rank among repairs; the best one has the lowest rank.
    fn rank(&self) -> (bool, usize) {
        (!self.fits_operands, self.inexact)
    }
}

/// The cost of a register of another type than the one of its operand.
const OTHER_TYPE: usize = 1;
/// The cost of another width, or of floating point instead of integers.
const OTHER_KIND: usize = 8;

/// The distance between the declarations of the operands and the types and state spaces of the form.
fn declaration_distance(candidate: &FormMatch<'_>) -> usize {
    (0..candidate.form().operands().len())
        .map(|operand| operand_distance(candidate, operand))
        .sum()
}

fn operand_distance(candidate: &FormMatch<'_>, operand: usize) -> usize {
    match candidate.operands().get(operand).map(|o| o.shape) {
        Some(OperandShape::Register(ty) | OperandShape::RegisterVector(ty, _)) => {
            register_distance(candidate, operand, ty)
        }
        Some(OperandShape::Vector([first, ..])) => match first.shape {
            OperandShape::Register(ty) => register_distance(candidate, operand, ty),
            _ => 0,
        },
        Some(OperandShape::Variable(space, _)) => {
            let slot = match candidate.form().operands().get(operand).map(|o| o.spaces()) {
                Some(Spaces::Slot(slot)) => slot.into(),
                _ => return 0,
            };
            let named_space = candidate
                .assignment()
                .word(slot)
                .and_then(|w| w.state_space());
            usize::from(named_space != Some(space))
        }
        _ => 0,
    }
}

/// The distance between the declared type of a register and the type of the operand.
fn register_distance(candidate: &FormMatch<'_>, operand: usize, register: ScalarType) -> usize {
    let (differs_in_kind, differs) = match candidate.expected(operand) {
        Some(Expected::Type(ty)) => {
            let is_other_kind =
                register.kind() != TypeKind::Bits && register.is_float() != ty.is_float();
            (
                is_other_kind || ty.bits() != register.bits(),
                ty != register,
            )
        }
        Some(expected) => (expected.bits() != Some(register.bits()), false),
        None => return 0,
    };
    usize::from(differs_in_kind) * OTHER_KIND + usize::from(differs) * OTHER_TYPE
}
