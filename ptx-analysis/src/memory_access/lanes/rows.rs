//! Requests whose lanes are in rows: the distances between rows are unknown, or multiples of a number that is the same in all lanes.

use super::{CountRange, Pattern, ROW, Request, Stride};
use crate::memory_access::requests::{LANES, Passes, existing_lanes};

impl Request {
    /// How far rows are apart, if that is a multiple of a number that is the same in all lanes.
    #[must_use]
    pub fn stride(&self) -> Option<Stride> {
        let stride = self.stride?;
        let mut factors = stride.factors.map(i64::from);
        factors.sort_unstable();
        let distances = factors.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
        Some(Stride {
            symbol: stride.symbol,
            least_factor: distances.filter(|distance| *distance != 0).min()?,
        })
    }

    /// The number of groups of active lanes within which all distances are known.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows().count()
    }

    /// The bytes from the first to the last one of the longest row.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        let length = |row: Self| {
            let lanes = (0..LANES).filter(|lane| row.sets[0] >> lane & 1 == 1);
            let offsets = lanes.map(|lane| row.offsets[lane]);
            let (least, greatest) = (offsets.clone().min(), offsets.max());
            greatest.unwrap_or(0).abs_diff(least.unwrap_or(0)) + self.bytes
        };
        self.rows().map(length).max().unwrap_or(self.bytes)
    }

    /// The requests of the usual lanes of each row alone.
    pub(super) fn rows(&self) -> impl Iterator<Item = Self> + '_ {
        self.rows_of(self.sets[0] & existing_lanes(self.lanes))
    }

    /// The requests of the lanes of a set in each row alone.
    fn rows_of(&self, set: u32) -> impl Iterator<Item = Self> + '_ {
        (0..LANES).filter_map(move |first| {
            let lanes = (0..LANES).filter(|lane| usize::from(self.rows[*lane]) == first);
            let in_row = lanes.fold(0, |row, lane| row | 1 << lane);
            (set & in_row != 0).then_some(Self {
                pattern: Pattern::Scattered,
                base: self.base | self.row_bits,
                sets: [set & in_row, 0, 0, 0],
                ..*self
            })
        })
    }

    /// The counts of a request with rows that may share what is counted.
    pub(super) fn range_of_rows(&self, count: fn(&Self) -> CountRange) -> CountRange {
        let mut range: Option<CountRange> = None;
        for set in self.sets.map(|set| set & existing_lanes(self.lanes)) {
            if set == 0 {
                continue;
            }
            let rows = self.rows_of(set).map(|row| count(&row));
            let (mut least, mut most) = (0, 0);
            for row in rows {
                least = row.least.max(least);
                most += row.most;
            }
            let joined = range.get_or_insert(CountRange { least, most });
            joined.least = joined.least.min(least);
            joined.most = joined.most.max(most);
        }
        range.unwrap_or(CountRange { least: 0, most: 0 })
    }

    /// The most passes for any distance of the rows.
    pub(super) fn passes_of_rows(&self) -> Passes {
        let Some(stride) = self.stride else {
            let rows = self.rows().map(|row| row.passes());
            return rows.fold(Passes::default(), |sum, row| Passes {
                all: sum.all + row.all,
                least: sum.least.max(row.least),
            });
        };
        let mut most = Passes::default();
        for multiple in 1..=ROW as i64 {
            let offsets = core::array::from_fn(|lane| {
                let factor = i64::from(stride.factors[lane]) - i64::from(stride.factors[0]);
                self.offsets[lane].wrapping_add(factor * multiple)
            });
            let passes = Self {
                pattern: Pattern::Scattered,
                offsets,
                ..*self
            }
            .passes();
            if passes.all > most.all {
                most = passes;
            }
        }
        most
    }
}
