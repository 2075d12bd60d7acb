//! What cannot be parsed before the module around it.

use crate::parser::Parser;

/// Whether functions are parsed before the module around them.
#[derive(Copy, Clone, PartialEq, Eq, Default)]
pub(crate) enum Ahead {
    #[default]
    No,
    Yes,
    /// They are, but the rest of a function from this place on was passed over.
    Stopped(usize),
}

impl Parser<'_> {
    /// Passes over the rest of a function that is parsed ahead, whatever its length is, because of the prototype at the cursor:
    /// its parameters belong to the tables of the module.
    pub(crate) fn stops_ahead(&mut self) -> bool {
        if self.ahead == Ahead::No {
            return false;
        }
        self.ahead = Ahead::Stopped(self.cursor.pos);
        self.cursor.pos = self.cursor.src.len();
        true
    }
}
