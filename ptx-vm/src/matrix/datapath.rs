//! The lanes of tensor memory that have the rows of a result, and of a first factor, of the fifth generation of tensor cores (PTX ISA manual
//! 9.7.16.10.5).
//!
//! ```text
//!  rows of the result        lanes   columns of the result
//!  256, a pair of CTAs       0–127   all; the odd CTA has rows 128–255                     layout A
//!  128, a pair, dense        0–63    the first half; the odd CTA has rows 64–127           layout B
//!                            64–127  the second half
//!  128, a pair, sparse       0–15, 32–47, 64–79, 96–111 or 16 more; the odd CTA has rows 64–127   layout C
//!  128                       0–127   all                                                   layout D
//!   64, weight-stationary    0–63    the first half                                        layout E
//!                            64–127  the second half
//!   64                       0–15, 32–47, 64–79, 96–111 or 16 more                         layout F
//!   32, weight-stationary    0–31, 32–63, 64–95, 96–127: a quarter each                    layout G
//! ```
//!
//! Each lane multiplies the row of the first factor that is in the same lane, with metadata and scales from its group of 16 or 32 lanes. Where lanes have
//! parts of the same rows, tensor memory therefore has copies of them.

use core::ops::Range;

/// The lanes of consecutive rows.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum RowLanes {
    /// Consecutive lanes from one on.
    From(usize),
    /// Half of the lanes of each warp.
    Halves,
}

/// A part of a result, which is in the tensor memory of one CTA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// The index of the CTA among those of the operation.
    pub(crate) block: usize,
    /// The rows, among those of the CTA.
    pub(crate) rows: Range<usize>,
    pub(crate) columns: Range<usize>,
    lanes: RowLanes,
}

/// The result of an operation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Datapath {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// A pair of CTAs performs the operation.
    pub(crate) is_pair: bool,
    pub(crate) is_sparse: bool,
    pub(crate) is_weight_stationary: bool,
}

impl Part {
    /// The lane of a row of the CTA.
    pub(crate) const fn lane(&self, row: usize) -> usize {
        let row = row - self.rows.start;
        match self.lanes {
            RowLanes::From(first) => first + row,
            RowLanes::Halves => row / 16 * 32 + row % 16,
        }
    }

    /// The parts of the part that are in the lanes of one warp.
    pub(crate) fn by_warp(&self) -> impl Iterator<Item = Self> {
        let rows_of_warp = match self.lanes {
            RowLanes::From(_) => 32,
            RowLanes::Halves => 16,
        };
        self.rows
            .clone()
            .step_by(rows_of_warp)
            .map(move |start| Self {
                rows: start..(start + rows_of_warp).min(self.rows.end),
                lanes: RowLanes::From(self.lane(start)),
                ..self.clone()
            })
    }
}

impl Datapath {
    /// Whether only half of the lanes are used. Addresses in tensor memory then have lane 0 or 16, otherwise lane 0.
    pub(crate) const fn has_half_of_lanes(&self) -> bool {
        match (self.rows, self.is_pair) {
            (128, true) => self.is_sparse,
            (64, false) => !self.is_weight_stationary,
            _ => false,
        }
    }

    /// The number of rows in each CTA.
    pub(crate) const fn rows_of_block(&self) -> usize {
        if self.is_pair {
            self.rows / 2
        } else {
            self.rows
        }
    }

    pub(crate) fn parts(&self) -> Vec<Part> {
        let rows = self.rows_of_block();
        // The number of parts with different columns.
        let divisions = match (self.has_half_of_lanes(), rows) {
            (true, _) => 1,
            (false, rows) => 128 / rows.clamp(32, 128),
        };
        let blocks = if self.is_pair { 2 } else { 1 };
        let width = self.columns / divisions;
        (0..blocks)
            .flat_map(|block| (0..divisions).map(move |division| (block, division)))
            .map(|(block, division)| Part {
                block,
                rows: 0..rows,
                columns: division * width..(division + 1) * width,
                lanes: if self.has_half_of_lanes() {
                    RowLanes::Halves
                } else {
                    RowLanes::From(division * rows)
                },
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Datapath;
    use std::collections::BTreeSet;

    fn datapath(
        rows: usize,
        is_pair: bool,
        is_sparse: bool,
        is_weight_stationary: bool,
    ) -> Datapath {
        Datapath {
            rows,
            columns: 64,
            is_pair,
            is_sparse,
            is_weight_stationary,
        }
    }

    /// The lane of an element and the distance of its column from the first one, by the tables of the PTX ISA manual: warps are listed with their rows.
    fn listed(layout: char, row: usize, column: usize) -> (usize, usize, usize) {
        match layout {
            'A' => (row / 128, row % 128, column),
            'B' => (row / 64, row % 64 + column / 32 * 64, column % 32),
            'C' => (row / 64, row % 64 / 16 * 32 + row % 16, column),
            'D' => (0, row, column),
            'E' => (0, row + column / 32 * 64, column % 32),
            'F' => (0, row / 16 * 32 + row % 16, column),
            _ => (0, row + column / 16 * 32, column % 16),
        }
    }

    #[test]
    fn elements_are_where_the_layouts_have_them() {
        for (layout, datapath) in [
            ('A', datapath(256, true, false, false)),
            ('A', datapath(256, true, true, false)),
            ('B', datapath(128, true, false, false)),
            ('C', datapath(128, true, true, false)),
            ('D', datapath(128, false, true, false)),
            ('D', datapath(128, false, false, true)),
            ('E', datapath(64, false, true, true)),
            ('F', datapath(64, false, false, false)),
            ('G', datapath(32, false, false, true)),
        ] {
            let mut elements = BTreeSet::new();
            for part in datapath.parts() {
                let by_warp = part.by_warp().collect::<Vec<_>>();
                for row in part.rows.clone() {
                    let warp = by_warp
                        .iter()
                        .find(|p| p.rows.contains(&row))
                        .map(|p| p.lane(row));
                    assert_eq!(warp, Some(part.lane(row)), "{layout}");
                    for column in part.columns.clone() {
                        let global_row = part.block * datapath.rows_of_block() + row;
                        let place = (part.block, part.lane(row), column - part.columns.start);
                        assert_eq!(
                            place,
                            listed(layout, global_row, column),
                            "{layout} {row} {column}"
                        );
                        assert!(elements.insert((global_row, column)));
                    }
                }
            }
            assert_eq!(elements.len(), datapath.rows * datapath.columns);
        }
    }
}
