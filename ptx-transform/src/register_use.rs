//! Counts the uses of registers and assigns new numbers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{
    Body, DeclarationSpans, Declarator, DeclaratorSpans, FuncId, Span, Statement, TextPatches,
};
use ptx_isa::StateSpace;

use ptx_edit::{Entity, NameRef};

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

/// The number of uses of each register and of each member of a range.
#[derive(Default)]
pub(crate) struct Usage {
    /// Uses other than declarations.
    plain: BTreeMap<Entity, u32>,
    /// For each member, its position in the order of first uses, and the number of its uses.
    members: BTreeMap<Entity, BTreeMap<u32, (u32, u32)>>,
}

impl Usage {
    pub(crate) fn of(mentions: &[NameRef]) -> Self {
        let mut usage = Self::default();
        for m in mentions.iter().filter(|m| !m.declares) {
            *usage.plain.entry(m.entity).or_default() += 1;
            if let (Entity::Register(..), Some(number)) = (m.entity, m.member) {
                let members = usage.members.entry(m.entity).or_default();
                let next = members.len() as u32;
                members.entry(number).or_insert((next, 0)).1 += 1;
            }
        }
        usage
    }

    /// Whether it is used.
    pub(crate) fn is_used(&self, entity: Entity) -> bool {
        self.plain.contains_key(&entity)
    }

    /// The number of used members of a range.
    pub(crate) fn count(&self, entity: Entity) -> Option<u32> {
        self.members.get(&entity).map(|m| m.len() as u32)
    }

    /// Dense numbers for the members of a range.
    pub(crate) fn numbers(&self, entity: Entity, order: NumberOrder) -> BTreeMap<u32, u32> {
        let mut ranked: Vec<(u32, u32, u32)> = Vec::new();
        for (&number, &(place, count)) in self.members.get(&entity).into_iter().flatten() {
            let rank = match order {
                NumberOrder::FirstUse => 0,
                NumberOrder::Frequency => u32::MAX - count,
            };
            ranked.push((rank, place, number));
        }
        ranked.sort_unstable();
        (0..)
            .zip(ranked)
            .map(|(new, (_, _, old))| (old, new))
            .collect()
    }
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
            ptx_ir::Binding::Register(decl) => is_used(Entity::Register(f, decl)),
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
            pieces.extend(parts(span, source, &used));
        }
    }
    pieces
}

/// The parts of a declaration of several names that are removed, with their commas.
fn parts(span: Span, source: &[u8], used: &[bool]) -> Vec<Span> {
    let spans = DeclarationSpans::read(span.of(source), span.start);
    let names = spans.map(|s| s.declarators).unwrap_or_default();
    let names: Vec<Span> = names.iter().map(DeclaratorSpans::whole).collect();
    let Some(last_used) = used.iter().rposition(|u| *u) else {
        return Vec::new();
    };
    if names.len() != used.len() {
        return Vec::new();
    }
    let mut pieces = Vec::new();
    let pairs = names.iter().zip(names.iter().skip(1)).zip(used);
    for ((this, next), used) in pairs.take(last_used) {
        if !used {
            pieces.push(Span::new(this.start, next.start));
        }
    }
    if let (Some(kept), Some(last)) = (names.get(last_used), names.last())
        && kept.end < last.end
    {
        pieces.push(Span::new(kept.end, last.end));
    }
    pieces
}

/// Writes the new number of a member, or the new count of a range.
pub(crate) fn renumber(mention: &NameRef, numbers: &BTreeMap<u32, u32>, patches: &mut TextPatches) {
    let new = match mention.member {
        Some(old) => numbers.get(&old).copied(),
        None => (mention.declares && !mention.number.is_empty()).then_some(numbers.len() as u32),
    };
    if let Some(new) = new {
        patches.replace(mention.number, alloc::format!("{new}"));
    }
}
