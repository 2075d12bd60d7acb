//! The uniformity of values: the threads in which a value is the same.

use crate::{Form, Marks};

/// The largest group of threads in which a value is the same, the largest group first: what is the same in the grid is the same in each warp.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Uniformity {
    /// The value is the same in all threads of the grid.
    Grid,
    /// The value is the same in the threads of a cluster.
    Cluster,
    /// The value is the same in the threads of a CTA.
    Cta,
    /// The value is the same in the threads of a warp.
    Warp,
    /// The value may differ between the threads of a warp.
    Varying,
}

impl Uniformity {
    /// All variants, the largest group first.
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

    /// The largest group in which two values are the same, given the groups of each.
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

/// The uniformity of a result that is not only a function of the operands.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ResultUniformity {
    /// The result is the same in the threads of this group that execute the instruction together, if the operands that control
    /// the execution are.
    Group(Uniformity),
    /// The result is the value of a source in another lane, which other operands select.
    LaneValue,
}

/// The uniformity of the results of an action.
pub(crate) enum ActionResults {
    /// They are a function of the operands and of memory.
    Same,
    /// They may differ in each thread.
    Varying,
    /// The operands of the forms state it.
    Stated,
}

impl Form {
    /// The uniformity of the result that is the operand of an index. `None` if equal operands and memory give equal results.
    #[doc(hidden)]
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
        stated
            .into_iter()
            .find(|(mark, _)| marks.contains(*mark))
            .map(|(_, uniformity)| uniformity)
            .or(Some(Group(Uniformity::Varying)))
    }
}
