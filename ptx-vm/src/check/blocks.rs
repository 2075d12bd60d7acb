//! The state of running CTAs.

use super::state::BlockState;

/// What is known about each CTA that runs, by its linear index.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: Vec<(u64, BlockState)>,
    /// Where the one is that was asked for last.
    last: usize,
}

impl Blocks {
    /// A CTA, whose state is made when it is first asked for.
    #[inline]
    pub(super) fn get(&mut self, block: u64, new: impl FnOnce() -> BlockState) -> &mut BlockState {
        if self.all.get(self.last).is_none_or(|(of, _)| *of != block) {
            let found = self.all.iter().position(|(of, _)| *of == block);
            self.last = found.unwrap_or(self.all.len());
        }
        if self.last == self.all.len() {
            self.all.push((block, new()));
        }
        &mut self.all[self.last].1
    }

    /// A CTA ended.
    pub(super) fn remove(&mut self, block: u64) {
        self.all.retain(|(of, _)| *of != block);
    }
}
