//! What a block defines and no form uses is a mistake.

use std::collections::HashSet;

use super::notation::Block;
use super::resolve::error;
use super::source::{Pos, Result};

/// Which definitions of a block and its file were used: the rest is a mistake.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) places: HashSet<(usize, usize)>,
    pub(crate) rules: HashSet<(usize, usize)>,
    pub(crate) shared: HashSet<String>,
    pub(crate) words: HashSet<String>,
}

/// A place within the file.
pub(crate) fn place(pos: &Pos) -> (usize, usize) {
    (pos.line, pos.column)
}

impl Used {
    /// Complains about the first definition of a block that no form used.
    pub(crate) fn check(&self, block: &Block) -> Result<()> {
        let bodies = std::iter::once(&block.body).chain(block.forms.iter().map(|f| &f.body));
        for body in bodies {
            for (pos, name) in body
                .slots
                .iter()
                .map(|d| (&d.pos, &d.name))
                .chain(body.operands.iter().map(|d| (&d.pos, &d.name)))
            {
                if !self.places.contains(&place(pos)) {
                    return error(pos, format!("no form uses {name}"));
                }
            }
            for rule in &body.rules {
                if !self.rules.contains(&place(&rule.pos)) {
                    return error(
                        &rule.pos,
                        "the rule applies to no form: it can never be broken",
                    );
                }
            }
        }
        Ok(())
    }
}
