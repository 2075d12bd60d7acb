//! Counts the uses of registers and assigns new numbers.

use alloc::vec::Vec;

use ptx_edit::raw::EntityMap;
use ptx_edit::{Entity, NameRef};
use ptx_ir::raw::DeclarationSpans;
use ptx_ir::{Binding, Body, FuncId, Module, Span, Statement};
use ptx_isa::StateSpace;

use crate::declarators::removed;

/// The order in which members of a range get new numbers.
#[derive(Copy, Clone)]
pub(crate) enum NumberOrder {
    FirstUse,
    /// The most frequent one first.
    Frequency,
}

/// The treatment of comments between the tokens of a declaration.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum InnerComments {
    Keep,
    Remove,
}

/// A member of a range with its new number.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Renumbered {
    pub(crate) old: u32,
    pub(crate) new: u32,
}

/// The registers that a module uses, with new numbers for the members of ranges.
pub(crate) struct Usage {
    /// The entities that are used other than in declarations.
    used: EntityMap<bool>,
    /// The part of `numbers` that belongs to a range: its start and its end.
    ranges: EntityMap<(usize, usize)>,
    /// The members of the ranges, sorted by their old number in each range.
    numbers: Vec<Renumbered>,
}

impl Usage {
    /// Numbers the members of each range. The time is O(n log n) in the names.
    pub(crate) fn of(module: &Module, names: &[NameRef], order: NumberOrder) -> Self {
        let mut usage = Self {
            used: EntityMap::new(module),
            ranges: EntityMap::new(module),
            numbers: Vec::new(),
        };
        // The entity, the number and the place of each use of a member.
        let mut uses: Vec<(Entity, u32, usize)> = Vec::new();
        for (place, name) in names.iter().enumerate().filter(|(_, name)| !name.declares) {
            usage.used.replace(name.entity, true);
            if let (Entity::Register(..), Some(number)) = (name.entity, name.member) {
                uses.push((name.entity, number, place));
            }
        }
        uses.sort_unstable();
        for range in uses.chunk_by(|a, b| a.0 == b.0) {
            // The rank, the place of the first use and the old number of each member.
            let mut ranked: Vec<(usize, usize, u32)> = Vec::new();
            for member_uses in range.chunk_by(|a, b| a.1 == b.1) {
                let rank = match order {
                    NumberOrder::FirstUse => 0,
                    NumberOrder::Frequency => usize::MAX - member_uses.len(),
                };
                ranked.extend(
                    member_uses
                        .first()
                        .map(|&(_, old, place)| (rank, place, old)),
                );
            }
            ranked.sort_unstable();
            let mut numbers: Vec<Renumbered> = (0..)
                .zip(ranked)
                .map(|(new, (.., old))| Renumbered { old, new })
                .collect();
            numbers.sort_unstable();
            let start = usage.numbers.len();
            usage.numbers.append(&mut numbers);
            if let Some((entity, ..)) = range.first() {
                usage.ranges.replace(*entity, (start, usage.numbers.len()));
            }
        }
        usage
    }

    /// The entity is used other than in its declaration.
    pub(crate) fn is_used(&self, entity: Entity) -> bool {
        self.used.get(entity) == Some(&true)
    }

    /// The used members of a range, sorted by their old number; empty for any other entity.
    pub(crate) fn numbers(&self, entity: Entity) -> &[Renumbered] {
        let (start, end) = self.ranges.get(entity).copied().unwrap_or_default();
        self.numbers.get(start..end).unwrap_or_default()
    }
}

/// The new number of a member of a range.
pub(crate) fn new_number(numbers: &[Renumbered], old: u32) -> Option<u32> {
    let index = numbers.binary_search_by_key(&old, |n| n.old).ok()?;
    Some(numbers.get(index)?.new)
}

/// The parts of declarations in a body that declare unused registers. Declarations with comments between their
/// tokens are only shortened if these are removed.
pub(crate) fn unused(
    function: FuncId,
    body: &Body,
    source: &[u8],
    comments: InnerComments,
    is_used: impl Fn(Entity) -> bool,
) -> Vec<Span> {
    let mut unused_parts = Vec::new();
    for (id, statement) in body.statements() {
        let Statement::Decl(declaration) = statement else {
            continue;
        };
        // A declaration without names declares nothing.
        let record = body.declarations().decls.get(declaration);
        if record.map(|d| d.space) != Some(StateSpace::Reg) {
            continue;
        }
        let used: Vec<bool> = body
            .declarations()
            .declarators(declaration)
            .iter()
            .map(|declarator| match declarator.binding {
                Binding::Register(register) => is_used(Entity::Register(function, register)),
                _ => true,
            })
            .collect();
        let span = body.source_span(id);
        if !used.contains(&true) {
            unused_parts.push(span);
        } else if used.contains(&false)
            && body
                .stmt_spans()
                .get(id.as_u32() as usize)
                .is_some_and(|s| comments == InnerComments::Remove || !s.has_comments())
        {
            let spans = DeclarationSpans::read(span.of(source), span.start);
            let names = spans.map(|s| s.declarators).unwrap_or_default();
            if names.len() == used.len() {
                unused_parts.extend(removed(&names, &used));
            }
        }
    }
    unused_parts
}
