//! The values that an operation reads, and the one that it writes.

use super::{Conversion, Kind, LaneOp, Place};

impl LaneOp {
    /// The value that it writes.
    pub(crate) const fn written(&self) -> Place {
        match self.kind {
            Kind::Word(_)
            | Kind::SelectWord
            | Kind::WordOfPredicate
            | Kind::Extend
            | Kind::Narrow
            | Kind::Single(_) => Place::Word(self.to),
            Kind::Double(_) | Kind::SelectDouble | Kind::Widen | Kind::Long(_) => {
                Place::Double(self.to)
            }
            Kind::CompareWord(_)
            | Kind::CompareDouble(_)
            | Kind::Predicate(_)
            | Kind::CompareSingle(_)
            | Kind::CompareLong(_) => Place::Predicate(self.to),
            Kind::Convert(conversion) => {
                if conversion.is_long() {
                    Place::Double(self.to)
                } else {
                    Place::Word(self.to)
                }
            }
        }
    }

    /// The values that it reads; some of them may be named that it does not need.
    pub(crate) const fn read(&self) -> [Place; 3] {
        let (a, b, c) = (self.a, self.b, self.c);
        let words = [Place::Word(a), Place::Word(b), Place::Word(c)];
        let doubles = [Place::Double(a), Place::Double(b), Place::Double(c)];
        match self.kind {
            Kind::Word(_) | Kind::CompareWord(_) | Kind::Single(_) | Kind::CompareSingle(_) => {
                words
            }
            Kind::Double(_) | Kind::CompareDouble(_) | Kind::Long(_) | Kind::CompareLong(_) => {
                doubles
            }
            Kind::Predicate(_) => [
                Place::Predicate(a),
                Place::Predicate(b),
                Place::Predicate(c),
            ],
            Kind::SelectWord => [Place::Predicate(a), Place::Word(b), Place::Word(c)],
            Kind::SelectDouble => [Place::Predicate(a), Place::Double(b), Place::Double(c)],
            Kind::WordOfPredicate => [Place::Predicate(a); 3],
            Kind::Extend | Kind::Widen => [Place::Word(a); 3],
            Kind::Narrow => [Place::Double(a); 3],
            Kind::Convert(conversion) => match conversion {
                Conversion::LongToSingle
                | Conversion::LongToDouble { .. }
                | Conversion::DoubleToSingle { .. }
                | Conversion::DoubleToLong { .. } => [Place::Double(a); 3],
                _ => [Place::Word(a); 3],
            },
        }
    }
}
