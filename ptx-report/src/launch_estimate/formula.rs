//! Trip counts as formulas, whose values follow from the arguments and sizes of a launch.

use std::collections::BTreeMap;

use ptx_analysis::values::{Affine, Count, TripCount};

use crate::affine_text::AffineText;

/// The values of the symbols of formulas: the least and the greatest.
pub(crate) type Ranges = BTreeMap<String, (i64, i64)>;

/// The trip count of a loop: `1 + max(0, ceil(distance / step))`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Formula {
    constant: i128,
    /// The symbols of the distance with their factors.
    terms: Vec<(i64, String)>,
    step: u64,
}

impl Formula {
    /// The formula of a trip count; `None` for a constant one.
    pub(crate) fn new(count: &TripCount, text: &AffineText<'_>) -> Option<Self> {
        let Count::Affine(distance) = &count.count else {
            return None;
        };
        let (low, high) = if distance.step > 0 {
            (&distance.start, &distance.bound)
        } else {
            (&distance.bound, &distance.start)
        };
        let mut factors: BTreeMap<String, i64> = BTreeMap::new();
        for (form, sign) in [(high, 1), (low, -1)] {
            for term in form.terms() {
                let name = text.form(&Affine::symbol(term.symbol));
                let factor = factors.entry(name).or_insert(0);
                *factor = factor.checked_add(term.factor.checked_mul(sign)?)?;
            }
        }
        let constant = i128::from(high.constant()) - i128::from(low.constant());
        Some(Self {
            constant: constant + i128::from(distance.inclusive),
            terms: factors
                .into_iter()
                .filter(|(_, factor)| *factor != 0)
                .map(|(name, factor)| (factor, name))
                .collect(),
            step: distance.step.unsigned_abs().max(1),
        })
    }

    /// The least and the greatest trip count; the first symbol whose value is not known otherwise.
    pub(crate) fn range(&self, ranges: &Ranges) -> Result<(u64, u64), &str> {
        let (mut least, mut most) = (self.constant, self.constant);
        for (factor, name) in &self.terms {
            let (low, high) = *ranges.get(name).ok_or(name.as_str())?;
            let products = [low, high].map(|value| i128::from(value) * i128::from(*factor));
            least += products[0].min(products[1]);
            most += products[0].max(products[1]);
        }
        let trips = |distance: i128| {
            let steps = distance.max(0).unsigned_abs().div_ceil(self.step.into());
            u64::try_from(steps).unwrap_or(u64::MAX).saturating_add(1)
        };
        Ok((trips(least), trips(most)))
    }
}
