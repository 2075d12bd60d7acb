//! Values of 128 bits, which are copied, compared for equality and selected.

use ptx_isa::internals::Expr;

use super::{Assigned, Lowering};
use crate::lanes::{Comparison, Kind, Logic, Place};

impl Lowering<'_> {
    /// The place of a value of 128 bits.
    pub(super) fn wide(&mut self, expr: Expr) -> Option<Place> {
        match expr {
            Expr::Operand(index) => self.operand_place(index.into()),
            Expr::Memory(index) => self.loaded(index).map(|l| l.place),
            Expr::Assigned(index) => match *self.assigned.get(usize::from(index))? {
                Assigned::Expr(expr) => self.wide(expr),
                other => other.place(),
            },
            Expr::If([condition, then, otherwise]) => match self.decided(*condition) {
                Some(true) => self.wide(*then),
                Some(false) => self.wide(*otherwise),
                None => {
                    let condition = self.condition(*condition)?;
                    let (then, otherwise) = (self.wide(*then)?, self.wide(*otherwise)?);
                    self.selected(condition, then, otherwise)
                }
            },
            _ => None,
        }
    }

    fn selected(&mut self, condition: u32, then: Place, otherwise: Place) -> Option<Place> {
        let (Place::Quad(a), Place::Quad(b)) = (then, otherwise) else {
            return None;
        };
        let selected = self.code.new_register(128);
        for half in 0..2 {
            let sources = [condition, a + half, b + half];
            self.code
                .push(Kind::SelectDouble, selected.index() + half, sources);
        }
        Some(selected)
    }

    /// Whether two values of 128 bits are equal.
    pub(super) fn wide_equal(&mut self, a: Expr, b: Expr) -> Option<u32> {
        let (Place::Quad(a), Place::Quad(b)) = (self.wide(a)?, self.wide(b)?) else {
            return None;
        };
        let equal = Kind::CompareDouble(Comparison::Equal);
        let low = self.code.predicate(equal, [a, b, b]);
        let high = self.code.predicate(equal, [a + 1, b + 1, b + 1]);
        let and = Kind::Predicate(Logic::And);
        Some(self.code.predicate(and, [low, high, high]))
    }
}
