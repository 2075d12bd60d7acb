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
        /// Whether the operands are legal then, too.
        fits_operands: bool,
        /// How far the declarations of the operands are from the types and state spaces of the instruction; 0 if they are the
        /// same.
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
    /// For modifiers that no form takes: one is missing, one too many, or another one.
    const WRONG_MODIFIERS: [Self; 5] = [
        Self::RemoveDuplicate,
        Self::Insert,
        Self::Remove,
        Self::ReplaceByClass,
        Self::ReplaceByAny,
    ];
    /// For modifiers that other operands could have.
    const OTHER_MODIFIERS: [Self; 4] = [
        Self::Insert,
        Self::ReplaceByClass,
        Self::Remove,
        Self::ReplaceByAny,
    ];
}

impl InstQuery<'_> {
    /// The changes of one modifier that make the instruction legal in a version and on a target, or on any target. All are of
    /// one kind: insertions if there are any, since what is written is seldom wrong where something is missing. Those with
    /// legal operands come first; otherwise all only make the modifiers legal. Costs as much as some hundred
    /// calls of [`select`](Self::select).
    ///
    /// ```
    /// use ptx_isa::{InstQuery, Modifier, ModifierEdit, Opcode, PtxVersion};
    ///
    /// // `mul.s32`
    /// let query = InstQuery::new("mul".parse::<Opcode>()?, &[Modifier::S32], &[]);
    /// let repairs = query.repairs(PtxVersion::CURRENT, None);
    /// let lo = ModifierEdit::Insert(0, ".lo".parse::<Modifier>()?);
    /// assert!(repairs.iter().any(|r| r.edit() == lo));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[must_use]
    pub fn repairs(&self, version: PtxVersion, target: Option<Target>) -> Vec<Repair> {
        self.search(version, target).run()
    }

    /// How many changes [`repairs`](Self::repairs) tries, which a test limits.
    #[doc(hidden)]
    #[must_use]
    pub fn count_tried_repairs(&self) -> usize {
        let search = self.search(PtxVersion::CURRENT, None);
        search.run();
        search.judged.get()
    }

    fn search(&self, version: PtxVersion, target: Option<Target>) -> Search<'_> {
        Search {
            query: *self,
            version,
            target,
            words: self.opcode.words(),
            judged: Cell::new(0),
        }
    }
}

impl Opcode {
    /// The modifiers with which a form takes some modifiers if they are inserted before the one of an index.
    ///
    /// ```
    /// use ptx_isa::{Modifier, Opcode};
    /// let found = "setp".parse::<Opcode>()?.completions(&[Modifier::S32], 0);
    /// assert!(found.contains(&".lt".parse::<Modifier>()?) && !found.contains(&Modifier::F32));
    /// # Ok::<(), ptx_isa::UnknownKeyword>(())
    /// ```
    #[must_use]
    pub fn completions(self, modifiers: &[Modifier], index: usize) -> Vec<Modifier> {
        let fits = |modifier: &Modifier| {
            let changed = ModifierEdit::Insert(index, *modifier).apply(modifiers);
            let query = InstQuery::new(self, &changed, &[]);
            let mut candidates = query.candidates();
            candidates.any(|found| found.redundant().next().is_none())
        };
        self.words().iter().filter(fits).collect()
    }
}

struct Search<'a> {
    query: InstQuery<'a>,
    version: PtxVersion,
    target: Option<Target>,
    /// All modifiers of the opcode.
    words: ModifierBits,
    /// How many edits were judged.
    judged: Cell<usize>,
}

impl Search<'_> {
    fn run(&self) -> Vec<Repair> {
        // One edit leaves too many for any form.
        if self.query.modifiers.len() > MAX_MODIFIERS + 1 {
            return Vec::new();
        }
        let attempts = match self.query.candidates().next() {
            Some(_) => &Attempt::OTHER_MODIFIERS[..],
            None => &Attempt::WRONG_MODIFIERS,
        };
        let mut partial = Vec::new();
        for attempt in attempts {
            let found = self.attempt(*attempt);
            if found.first().is_some_and(|r| r.fits_operands) {
                return found;
            }
            if partial.is_empty() {
                partial = found;
            }
        }
        partial
    }

    fn attempt(&self, attempt: Attempt) -> Vec<Repair> {
        let modifiers = self.query.modifiers;
        let mut found = Vec::new();
        match attempt {
            Attempt::RemoveDuplicate | Attempt::Remove => {
                for (index, modifier) in modifiers.iter().enumerate().rev() {
                    let earlier = modifiers.get(..index).unwrap_or_default();
                    if attempt == Attempt::Remove || earlier.contains(modifier) {
                        found.extend(self.judge(ModifierEdit::Remove(index)));
                    }
                }
            }
            Attempt::Insert => {
                for modifier in self.words.iter() {
                    let repairs = self.places(modifier).map(|index| {
                        let edit = ModifierEdit::Insert(index, modifier);
                        self.judge(edit).map(|repair| self.in_order(repair))
                    });
                    // The first of equally good ones is the last place.
                    found.extend(repairs.flatten().min_by_key(Repair::rank));
                }
            }
            Attempt::ReplaceByClass | Attempt::ReplaceByAny => {
                for (index, old) in modifiers.iter().enumerate() {
                    let same = attempt == Attempt::ReplaceByClass;
                    let others = self.words.iter().filter(|m| m != old);
                    let others = others.filter(|m| same == (m.class() == old.class()));
                    found
                        .extend(others.filter_map(|m| self.judge(ModifierEdit::Replace(index, m))));
                }
            }
        }
        found.sort_by_key(Repair::rank);
        found
    }

    /// Where a modifier could be inserted, backwards: anywhere if its position matters, else at the end.
    fn places(&self, modifier: Modifier) -> impl Iterator<Item = usize> + use<> {
        let mut names = self.query.opcode.instructions().iter();
        let ordered =
            modifier.class().is_positional() || names.any(|i| i.words().contains(&modifier));
        let end = self.query.modifiers.len();
        (if ordered { 0 } else { end }..=end).rev()
    }

    /// An insertion at the end, moved to its place in the order of the PTX ISA manual.
    fn in_order(&self, repair: Repair) -> Repair {
        let count = self.query.modifiers.len();
        let edit = match repair.edit {
            ModifierEdit::Insert(index, modifier) if index == count => {
                let mut order = alloc::vec![0; count + 1];
                let changed = repair.edit.apply(self.query.modifiers);
                canonical_order(self.query.opcode, &changed, &mut order);
                let place = order.iter().position(|&i| usize::from(i) == count);
                ModifierEdit::Insert(place.unwrap_or(count), modifier)
            }
            edit => edit,
        };
        Repair { edit, ..repair }
    }

    /// Whether the changed modifiers are legal, and the operands with them.
    fn judge(&self, edit: ModifierEdit) -> Option<Repair> {
        self.judged.set(self.judged.get() + 1);
        let modifiers = edit.apply(self.query.modifiers);
        let query = InstQuery {
            modifiers: &modifiers,
            ..self.query
        };
        let documented = query.candidates().filter(|m| !m.form().is_undocumented());
        let repairs = documented.filter_map(|mut found| {
            if let Some(target) = self.target {
                found.add_floors(self.version, target);
            }
            let violations = found.violations();
            let of_operands =
                |v: &Violation| matches!(v, Violation::Operand(..) | Violation::Count(..));
            let legal = violations.as_slice().iter().all(of_operands);
            let unused = found.redundant().next().is_some();
            (legal && !unused).then(|| Repair {
                edit,
                fits_operands: violations.is_empty(),
                inexact: inexact(&found),
            })
        });
        repairs.min_by_key(Repair::rank)
    }
}

impl Repair {
    /// Better ones are less.
    fn rank(&self) -> (bool, usize) {
        (!self.fits_operands, self.inexact)
    }
}

/// The cost of a register of another type than the one of its operand.
const OTHER_TYPE: usize = 1;
/// The cost of another width, or of floating point instead of integers.
const OTHER_KIND: usize = 8;

/// How far the declarations of the operands are from the types and state spaces of the form.
fn inexact(found: &FormMatch<'_>) -> usize {
    let cost = |operand: usize| match found.operands().get(operand).map(|o| o.shape) {
        Some(OperandShape::Register(ty) | OperandShape::RegisterVector(ty, _)) => {
            of_register(found, operand, ty)
        }
        Some(OperandShape::Vector([first, ..])) => match first.shape {
            OperandShape::Register(ty) => of_register(found, operand, ty),
            _ => 0,
        },
        Some(OperandShape::Variable(space, _)) => {
            let slot = match found.form().operands().get(operand).map(|o| o.spaces()) {
                Some(Spaces::Slot(slot)) => slot.into(),
                _ => return 0,
            };
            let written = found.assignment().word(slot).and_then(|w| w.state_space());
            usize::from(written != Some(space))
        }
        _ => 0,
    };
    (0..found.form().operands().len()).map(cost).sum()
}

fn of_register(found: &FormMatch<'_>, operand: usize, register: ScalarType) -> usize {
    let (other_kind, other) = match found.expected(operand) {
        Some(Expected::Type(ty)) => {
            let float = register.kind() != TypeKind::Bits && register.is_float() != ty.is_float();
            (float || ty.bits() != register.bits(), ty != register)
        }
        Some(expected) => (expected.bits() != Some(register.bits()), false),
        None => return 0,
    };
    usize::from(other_kind) * OTHER_KIND + usize::from(other) * OTHER_TYPE
}
