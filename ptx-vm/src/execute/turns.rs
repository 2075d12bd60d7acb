//! Round-robin scheduling of the groups of a warp, so that lanes that wait in a loop do not block the lanes that they wait for.

/// Steps until the groups run in turn, and steps that they do then.
const SLICE: u64 = 1024;

/// Whether the group that runs is the one that lets lanes meet again soonest, or the one that ran least recently.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) fair: bool,
    /// The steps until that changes.
    pub(crate) left: u64,
    /// Whether a step since the last change read what other lanes may write: a loop without such steps does not wait for them.
    pub(crate) reads: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            fair: false,
            left: SLICE,
            reads: false,
        }
    }
}

impl Turns {
    /// Counts the steps of a group; `alone` if no other one was ready.
    pub(crate) fn count(&mut self, steps: u64, alone: bool) {
        if alone {
            *self = Self::default();
            return;
        }
        self.left = self.left.saturating_sub(steps);
        if self.left == 0 {
            *self = Self {
                fair: !self.fair && self.reads,
                ..Self::default()
            };
        }
    }
}
