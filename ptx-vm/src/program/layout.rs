//! The layout of variables: areas in which they follow each other, and the order of declarations.

use std::collections::HashMap;

use ptx_ir::{Body, DeclId, NameId, ScopeId, Statement, VarId};

/// An area in which variables follow each other.
#[derive(Clone, Default)]
pub(super) struct Layout {
    bytes: u64,
    pub(super) align: u64,
}

impl Layout {
    /// Adds a variable with a size and an alignment, and returns its offset.
    pub(super) fn add(&mut self, size: u64, align: u64) -> u64 {
        let align = align.max(1);
        let offset = self.bytes.div_ceil(align).saturating_mul(align);
        self.bytes = offset.saturating_add(size);
        self.align = self.align.max(align);
        offset
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The declarations of a body that are not removed, in the order of the text.
pub(super) fn declaration_order(body: &Body) -> Vec<DeclId> {
    if body.edits().is_none() {
        return body.declarations().decls.ids().collect();
    }
    body.statements()
        .filter_map(|(_, statement)| match statement {
            Statement::Decl(id) => Some(id),
            _ => None,
        })
        .collect()
}

/// The members of each range, such as `t<4>`, that the function mentions, by the name and the scope of the range.
#[derive(Debug, Default)]
pub(super) struct Members(HashMap<(NameId, ScopeId), Vec<(VarId, u32)>>);

impl Members {
    /// Finds the members of all ranges. Linear in the variables.
    pub(super) fn new(body: &Body) -> Self {
        let mut members = Self::default();
        for (id, var) in body.vars().iter() {
            if let Some(number) = var.number {
                let members_of_range = members.0.entry((var.name, var.scope)).or_default();
                members_of_range.push((id, number));
            }
        }
        members
    }

    /// The members of the range of a variable with their numbers; of a plain variable none.
    pub(super) fn of(&self, body: &Body, var: VarId) -> &[(VarId, u32)] {
        let Some(member) = body.vars().get(var).filter(|v| v.number.is_some()) else {
            return &[];
        };
        let members = self.0.get(&(member.name, member.scope));
        members.map_or(&[], Vec::as_slice)
    }
}
