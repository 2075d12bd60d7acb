//! The walk over operands: which operands a statement has, parts of others included, and where each is stored.

use alloc::vec::Vec;

use crate::body::{Body, Statement};
use crate::operand::{Operand, OperandPool, OperandRange};
use crate::{AddrId, DeclId, Declarations, ListId, OperandRef};

/// The parts that an operand is composed of.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum OperandParts {
    /// The operand has no parts.
    Leaf,
    /// Base and offset of an address.
    Address(AddrId),
    /// The elements of a list.
    List(ListId),
    /// One operand at this place of the pool.
    One(OperandRef),
    /// Two operands, at this place of the pool and the next.
    Two(OperandRef),
}

impl Operand {
    /// The parts that this operand is composed of.
    #[inline]
    #[must_use]
    pub const fn parts(self) -> OperandParts {
        match self {
            Self::Address(id) => OperandParts::Address(id),
            Self::Vector(id) | Self::List(id) | Self::Bracket(id) => OperandParts::List(id),
            Self::Pair(first)
            | Self::Masked(first)
            | Self::Difference(first)
            | Self::Field(first)
            | Self::Range(first) => OperandParts::Two(first),
            Self::Not(first)
            | Self::Neg(first)
            | Self::Generic(first)
            | Self::Component(_, first) => OperandParts::One(first),
            _ => OperandParts::Leaf,
        }
    }

    /// Returns an operand of the same kind composed of other parts; the operand itself if it has no parts of that kind.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_parts(self, parts: OperandParts) -> Self {
        match (self, parts) {
            (Self::Address(_), OperandParts::Address(id)) => Self::Address(id),
            (Self::Vector(_), OperandParts::List(id)) => Self::Vector(id),
            (Self::List(_), OperandParts::List(id)) => Self::List(id),
            (Self::Bracket(_), OperandParts::List(id)) => Self::Bracket(id),
            (Self::Pair(_), OperandParts::Two(first)) => Self::Pair(first),
            (Self::Masked(_), OperandParts::Two(first)) => Self::Masked(first),
            (Self::Difference(_), OperandParts::Two(first)) => Self::Difference(first),
            (Self::Field(_), OperandParts::Two(first)) => Self::Field(first),
            (Self::Range(_), OperandParts::Two(first)) => Self::Range(first),
            (Self::Not(_), OperandParts::One(first)) => Self::Not(first),
            (Self::Neg(_), OperandParts::One(first)) => Self::Neg(first),
            (Self::Generic(_), OperandParts::One(first)) => Self::Generic(first),
            (Self::Component(selector, _), OperandParts::One(first)) => {
                Self::Component(selector, first)
            }
            (other, _) => other,
        }
    }
}

/// The storage of an operand.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum OperandSlot {
    /// An entry of the pool.
    Pool(OperandRef),
    /// The base of an address.
    Base(AddrId),
    /// The offset of an address.
    Offset(AddrId),
    /// The initializer of the declarator with this index.
    Initializer(u32),
}

/// Iterates over operands, each before its parts, in the order in which they are written. Made by
/// [`Body::walk`], [`OperandPool::walk`] and [`Declarations::walk`].
#[derive(Clone, Debug)]
pub struct OperandWalk<'p> {
    pool: &'p OperandPool,
    worklist: Vec<(OperandSlot, Operand)>,
}

impl<'p> OperandWalk<'p> {
    fn new(pool: &'p OperandPool) -> Self {
        Self {
            pool,
            worklist: Vec::new(),
        }
    }

    fn push(&mut self, position: OperandRef) {
        self.worklist
            .push((OperandSlot::Pool(position), self.pool.get(position)));
    }

    fn push_range(&mut self, range: OperandRange) {
        for i in (0..range.len() as u32).rev() {
            self.push(range.at(i));
        }
    }

    /// The next operand and its storage, without a step.
    #[doc(hidden)]
    #[must_use]
    pub fn peek(&self) -> Option<(OperandSlot, Operand)> {
        self.worklist.last().copied()
    }

    /// The operands with their storage.
    #[doc(hidden)]
    pub fn stored(mut self) -> impl Iterator<Item = (OperandSlot, Operand)> + 'p {
        core::iter::from_fn(move || self.next_stored())
    }

    /// The next operand; its parts are skipped.
    #[doc(hidden)]
    pub fn next_whole(&mut self) -> Option<Operand> {
        self.worklist.pop().map(|(_, operand)| operand)
    }

    fn next_stored(&mut self) -> Option<(OperandSlot, Operand)> {
        let (slot, operand) = self.worklist.pop()?;
        match operand.parts() {
            OperandParts::Leaf => {}
            OperandParts::Address(id) => {
                if let Some(address) = self.pool.address(id) {
                    let offset = (OperandSlot::Offset(id), address.offset);
                    let base = (OperandSlot::Base(id), address.base);
                    self.worklist.extend([offset, base]);
                }
            }
            OperandParts::List(id) => {
                if let Some(&range) = self.pool.lists.get(id) {
                    self.push_range(range);
                }
            }
            OperandParts::Two(first) => {
                self.push(OperandRef::new(first.as_u32().saturating_add(1)));
                self.push(first);
            }
            OperandParts::One(first) => self.push(first),
        }
        Some((slot, operand))
    }
}

impl Iterator for OperandWalk<'_> {
    type Item = Operand;

    #[inline]
    fn next(&mut self) -> Option<Operand> {
        self.next_stored().map(|(_, operand)| operand)
    }
}

impl Declarations {
    /// Walks the initializers of a declaration, whose parts are in `pool`. All its other operands are numbers.
    #[must_use]
    pub fn walk<'p>(&self, id: DeclId, pool: &'p OperandPool) -> OperandWalk<'p> {
        let mut walk = OperandWalk::new(pool);
        let range = self
            .decls
            .get(id)
            .map(|d| d.declarators)
            .unwrap_or_default();
        walk.worklist.extend(
            (range.start..)
                .zip(range.of(&self.declarators))
                .map(|(index, declarator)| (OperandSlot::Initializer(index), declarator.init)),
        );
        walk
    }
}

impl Body {
    /// Walks the operands of a statement: of a guarded instruction the predicate first; of a declaration its initializers.
    /// The names that a statement declares are not operands.
    ///
    /// ```
    /// # use ptx_ir::{Operand, Statement};
    /// # let text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b64 %rd<3>; ld.b64 %rd1, [%rd2+8]; }";
    /// # let module = ptx_parse::parse_str(text).module;
    /// # let (_, _, body) = module.definitions().next().unwrap();
    /// let operands = body.statements().flat_map(|(_, s)| body.walk(s));
    /// let registers = operands.filter(|o| matches!(o, Operand::Reg(_)));
    /// assert_eq!(registers.count(), 2);
    /// ```
    #[must_use]
    pub fn walk(&self, statement: Statement) -> OperandWalk<'_> {
        let mut walk = OperandWalk::new(&self.pool);
        match statement {
            Statement::Inst(id) => {
                if let Some(inst) = self.insts.get(id) {
                    walk.push_range(inst.operands());
                    if let Some(guard) = inst.guard() {
                        walk.push(guard.predicate);
                    }
                }
            }
            Statement::Directive(id) => {
                let args = self.directives.get(id).map(|d| d.args);
                walk.push_range(args.unwrap_or_default());
            }
            Statement::Opaque(id) => {
                let mentions = self.opaques.get(id).map(|o| o.mentions);
                walk.push_range(mentions.unwrap_or_default());
            }
            Statement::Decl(id) => return self.declarations.walk(id, &self.pool),
            _ => {}
        }
        walk
    }
}

impl OperandPool {
    /// Walks operands of this pool.
    #[must_use]
    pub fn walk(&self, range: OperandRange) -> OperandWalk<'_> {
        let mut walk = OperandWalk::new(self);
        walk.push_range(range);
        walk
    }

    /// Walks one operand and its parts, which are in this pool.
    #[must_use]
    pub fn walk_operand(&self, operand: Operand) -> OperandWalk<'_> {
        self.walk_stored(OperandSlot::Pool(OperandRef::new(u32::MAX)), operand)
    }

    /// As [`walk_operand`](Self::walk_operand), for an operand that is stored at `slot`.
    #[doc(hidden)]
    #[must_use]
    pub fn walk_stored(&self, slot: OperandSlot, operand: Operand) -> OperandWalk<'_> {
        let mut walk = OperandWalk::new(self);
        walk.worklist.push((slot, operand));
        walk
    }

    /// The operand that is stored at a place; [`Operand::Absent`] for an initializer, which no pool stores.
    #[doc(hidden)]
    #[must_use]
    pub fn at_slot(&self, slot: OperandSlot) -> Operand {
        match slot {
            OperandSlot::Pool(position) => self.get(position),
            OperandSlot::Base(id) => self.address(id).map_or(Operand::Absent, |a| a.base),
            OperandSlot::Offset(id) => self.address(id).map_or(Operand::Absent, |a| a.offset),
            OperandSlot::Initializer(_) => Operand::Absent,
        }
    }

    /// Replaces the operand that is stored at a place; nothing for an initializer.
    #[doc(hidden)]
    pub fn set_slot(&mut self, slot: OperandSlot, new: Operand) {
        match slot {
            OperandSlot::Pool(position) => self.set(position, new),
            OperandSlot::Base(id) => {
                if let Some(address) = self.addresses.get_mut(id) {
                    address.base = new;
                }
            }
            OperandSlot::Offset(id) => {
                if let Some(address) = self.addresses.get_mut(id) {
                    address.offset = new;
                }
            }
            OperandSlot::Initializer(_) => {}
        }
    }

    /// Copies the parts of these operands, so that they share none with others.
    #[doc(hidden)]
    pub fn deep_copy(&mut self, range: OperandRange) {
        self.copy_parts(None, range, |_, leaf| leaf);
    }

    /// Appends copies of operands of another pool. `leaf` translates those that have no parts, in the order of the text.
    ///
    /// ```
    /// use ptx_ir::{Operand, OperandPool};
    /// let (mut source, mut target) = (OperandPool::default(), OperandPool::default());
    /// let pair = Operand::Pair(source.extend(&[Operand::Small(1), Operand::Sink]).at(0));
    /// let copy = target.import(&source, &[pair], |_, leaf| leaf);
    /// let Operand::Pair(first) = target.get(copy.at(0)) else { unreachable!() };
    /// assert_eq!(target.pair(first), (Operand::Small(1), Operand::Sink));
    /// ```
    #[doc(hidden)]
    pub fn import(
        &mut self,
        other: &Self,
        operands: &[Operand],
        leaf: impl FnMut(&mut Self, Operand) -> Operand,
    ) -> OperandRange {
        if operands.is_empty() {
            return OperandRange::default();
        }
        let range = self.extend(operands);
        self.copy_parts(Some(other), range, leaf);
        range
    }

    /// [`import`](Self::import) for one operand.
    #[doc(hidden)]
    pub fn import_one(
        &mut self,
        other: &Self,
        operand: Operand,
        mut leaf: impl FnMut(&mut Self, Operand) -> Operand,
    ) -> Operand {
        match operand.parts() {
            OperandParts::Leaf => leaf(self, operand),
            _ => {
                let copy = self.import(other, &[operand], leaf);
                self.get(copy.at(0))
            }
        }
    }

    /// Replaces the parts of these operands, which are in this pool or in another one, by copies.
    fn copy_parts(
        &mut self,
        other: Option<&Self>,
        range: OperandRange,
        mut leaf: impl FnMut(&mut Self, Operand) -> Operand,
    ) {
        let reversed_slots = |range: OperandRange| {
            // The worklist is processed from its end.
            (0..range.len() as u32)
                .rev()
                .map(move |i| OperandSlot::Pool(range.at(i)))
        };
        let mut worklist: Vec<OperandSlot> = reversed_slots(range).collect();
        while let Some(slot) = worklist.pop() {
            let operand = self.at_slot(slot);
            let source = other.unwrap_or(self);
            let parts = match operand.parts() {
                OperandParts::Leaf => {
                    let new = leaf(self, operand);
                    self.set_slot(slot, new);
                    continue;
                }
                OperandParts::Address(id) => {
                    let Some(address) = source.address(id).copied() else {
                        continue;
                    };
                    let id = self.add_address(address);
                    worklist.extend([OperandSlot::Offset(id), OperandSlot::Base(id)]);
                    OperandParts::Address(id)
                }
                OperandParts::List(id) => {
                    let elements = source.list(id).to_vec();
                    let range = self.extend(&elements);
                    worklist.extend(reversed_slots(range));
                    OperandParts::List(self.lists.push(range))
                }
                OperandParts::One(position) => {
                    let part = source.get(position);
                    let copy = self.extend(&[part]);
                    worklist.extend(reversed_slots(copy));
                    OperandParts::One(copy.at(0))
                }
                OperandParts::Two(position) => {
                    let (first, second) = source.pair(position);
                    let copy = self.extend(&[first, second]);
                    worklist.extend(reversed_slots(copy));
                    OperandParts::Two(copy.at(0))
                }
            };
            self.set_slot(slot, operand.with_parts(parts));
        }
    }
}
