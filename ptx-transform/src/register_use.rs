//! Counts the uses of registers and assigns new numbers.

use alloc::vec::Vec;

use ptx_edit::{Entity, EntityMap, NameRef};
use ptx_ir::{Binding, Body, DeclarationSpans, Declarator, FuncId, Module, Span, Statement};
use ptx_isa::StateSpace;

use crate::declarators::removed;

/// The order in which members of a range get new numbers.
#[derive(Copy, Clone)]
pub(crate) enum NumberOrder {
    FirstUse,
    /// The most frequent one first.
    Frequency,
}

/// What happens to comments between the tokens of a declaration.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum InnerComments {
    Keep,
    Remove,
}

/// The registers that a module uses, with new numbers for the members of ranges.
pub(crate) struct Usage {
    /// Which entities are used other than in declarations.
    used: EntityMap<bool>,
    /// The part of `numbers` that belongs to a range.
    ranges: EntityMap<(usize, usize)>,
    /// The old and the new numbers, sorted in each range.
    numbers: Vec<(u32, u32)>,
}

impl Usage {
    pub(crate) fn of(module: &Module, mentions: &[NameRef], order: NumberOrder) -> Self {
        let mut usage = Self {
            used: EntityMap::new(module),
            ranges: EntityMap::new(module),
            numbers: Vec::new(),
        };
        let mut uses: Vec<(Entity, u32, usize)> = Vec::new();
        for (place, m) in mentions.iter().enumerate().filter(|(_, m)| !m.declares) {
            usage.used.replace(m.entity, true);
            if let (Entity::Register(..), Some(number)) = (m.entity, m.member) {
                uses.push((m.entity, number, place));
            }
        }
        uses.sort_unstable();
        for range in uses.chunk_by(|a, b| a.0 == b.0) {
            let mut ranked: Vec<(usize, usize, u32)> = Vec::new();
            for uses in range.chunk_by(|a, b| a.1 == b.1) {
                let rank = match order {
                    NumberOrder::FirstUse => 0,
                    NumberOrder::Frequency => usize::MAX - uses.len(),
                };
                ranked.extend(uses.first().map(|&(_, old, first)| (rank, first, old)));
            }
            ranked.sort_unstable();
            let mut numbers: Vec<(u32, u32)> = (0..)
                .zip(ranked)
                .map(|(new, (.., old))| (old, new))
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

    /// Whether it is used.
    pub(crate) fn is_used(&self, entity: Entity) -> bool {
        self.used.get(entity) == Some(&true)
    }

    /// The old and the new numbers of the used members of a range; empty for anything else.
    pub(crate) fn numbers(&self, entity: Entity) -> &[(u32, u32)] {
        let (start, end) = self.ranges.get(entity).copied().unwrap_or_default();
        self.numbers.get(start..end).unwrap_or_default()
    }
}

/// The new number of a member of a range.
pub(crate) fn new_number(numbers: &[(u32, u32)], old: u32) -> Option<u32> {
    let at = numbers.binary_search_by_key(&old, |(old, _)| *old).ok()?;
    Some(numbers.get(at)?.1)
}

/// The parts of declarations in a body that declare unused registers. Declarations with comments between their
/// tokens are only shortened if these are removed.
pub(crate) fn unused(
    f: FuncId,
    body: &Body,
    source: &[u8],
    comments: InnerComments,
    is_used: impl Fn(Entity) -> bool,
) -> Vec<Span> {
    let mut pieces = Vec::new();
    for (id, statement) in body.statements() {
        let Statement::Decl(d) = statement else {
            continue;
        };
        // A declaration without names declares nothing.
        let space = body.declarations().decls.get(d).map(|d| d.space);
        if space != Some(StateSpace::Reg) {
            continue;
        }
        let used = |d: &Declarator| match d.binding {
            Binding::Register(decl) => is_used(Entity::Register(f, decl)),
            _ => true,
        };
        let all = body.declarations().declarators(d);
        let used: Vec<bool> = all.iter().map(used).collect();
        let span = body.source_span(id);
        if !used.contains(&true) {
            pieces.push(span);
        } else if used.contains(&false)
            && body
                .stmt_spans()
                .get(id.as_u32() as usize)
                .is_some_and(|o| comments == InnerComments::Remove || !o.has_comments())
        {
            let spans = DeclarationSpans::read(span.of(source), span.start);
            let names = spans.map(|s| s.declarators).unwrap_or_default();
            if names.len() == used.len() {
                pieces.extend(removed(&names, &used));
            }
        }
    }
    pieces
}
