//! The variables of a function that ranges such as `t<4>` declare.

use std::collections::HashMap;

use ptx_ir::{Body, NameId, ScopeId, VarId};

/// The members of each range that the function mentions, by the name and the scope of the range.
#[derive(Debug, Default)]
pub(super) struct Members(HashMap<(NameId, ScopeId), Vec<(VarId, u32)>>);

impl Members {
    /// Finds them. Linear in the variables.
    pub(super) fn new(body: &Body) -> Self {
        let mut members = Self::default();
        for (id, var) in body.vars().iter() {
            if let Some(number) = var.number {
                let of_range = members.0.entry((var.name, var.scope)).or_default();
                of_range.push((id, number));
            }
        }
        members
    }

    /// The members of the range of a variable with their numbers; of a plain variable none.
    pub(super) fn of(&self, body: &Body, var: VarId) -> &[(VarId, u32)] {
        let Some(of) = body.vars().get(var).filter(|v| v.number.is_some()) else {
            return &[];
        };
        self.0.get(&(of.name, of.scope)).map_or(&[], Vec::as_slice)
    }
}
