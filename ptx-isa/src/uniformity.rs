//! In which threads a value is the same.

use crate::{Form, Marks};

/// The largest group of threads in which a value is the same, the largest group first: what is the same in the grid is the same in each warp.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Uniformity {
    /// The same in all threads of the grid.
    Grid,
    /// The same in the threads of a cluster.
    Cluster,
    /// The same in the threads of a CTA.
    Cta,
    /// The same in the threads of a warp.
    Warp,
    /// It may differ between the threads of a warp.
    Varying,
}

impl Uniformity {
    /// All of them, the largest group first.
    pub const ALL: [Self; 5] = [
        Self::Grid,
        Self::Cluster,
        Self::Cta,
        Self::Warp,
        Self::Varying,
    ];

    /// Its name: `grid`, `cluster`, `cta`, `warp` or `varying`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Cluster => "cluster",
            Self::Cta => "cta",
            Self::Warp => "warp",
            Self::Varying => "varying",
        }
    }

    /// The largest group in which both are the same.
    #[must_use]
    pub const fn join(self, other: Self) -> Self {
        if self as u8 > other as u8 {
            self
        } else {
            other
        }
    }
}

impl core::fmt::Display for Uniformity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// In which threads a result is the same that is not just a function of the operands.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ResultUniformity {
    /// In those that execute the instruction together, of this group, if the operands that say how it is executed are the same.
    Group(Uniformity),
    /// It is the value of a source in another lane; which one, other operands say.
    LaneValue,
}

/// What is known of the results of an action.
pub(crate) enum ActionResults {
    /// They are a function of the operands and of memory.
    Same,
    /// They may differ in each thread.
    Varying,
    /// The operands of the forms state it.
    Stated,
}

impl Form {
    /// In which threads a result, an operand of this index, is the same. `None` if equal operands and memory give equal results.
    #[must_use]
    pub fn result_uniformity(&self, operand: usize) -> Option<ResultUniformity> {
        use ResultUniformity::{Group, LaneValue};
        match self.action()?.results() {
            ActionResults::Same => return None,
            ActionResults::Varying => return Some(Group(Uniformity::Varying)),
            ActionResults::Stated => {}
        }
        let marks = self.operands().get(operand)?.marks();
        let stated = [
            (Marks::WARP_UNIFORM, Group(Uniformity::Warp)),
            (Marks::CTA_UNIFORM, Group(Uniformity::Cta)),
            (Marks::LANE_VALUE, LaneValue),
        ];
        let found = stated.into_iter().find(|(mark, _)| marks.contains(*mark));
        Some(found.map_or(Group(Uniformity::Varying), |(_, of)| of))
    }
}
