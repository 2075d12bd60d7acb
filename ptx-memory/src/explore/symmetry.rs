//! Symmetric threads: of executions that differ only in an exchange of two threads, one is explored.

use super::state::State;
use crate::event::ThreadPlace;
use crate::program::Program;

impl<P: Program> State<P> {
    /// Whether a read need not return a write, because another thread that is exchangeable with this one passed over it at the same read: the
    /// execution in which the other thread returned it was explored before.
    pub(super) fn is_redundant(&self, program: &P, read: u32, write: u32) -> bool {
        let Some(event) = self.execution.event(read as usize) else {
            return false;
        };
        let thread = event.thread as usize;
        self.pending.iter().any(|pending| {
            let Some(other) = self.execution.event(pending.read as usize) else {
                return false;
            };
            let number = other.thread as usize;
            number < thread
                && other.position == event.position
                && pending.passed.contains(write as usize)
                && program.are_symmetric(number, thread)
                && are_exchangeable(&self.execution.threads, number, thread)
                && self.have_equal_histories(number, thread, event.position)
        })
    }

    /// Whether two threads only read before a position, and returned the same writes.
    fn have_equal_histories(&self, first: usize, second: usize, position: u32) -> bool {
        let count = position as usize / 2;
        let operations = |thread: usize| {
            self.threads
                .get(thread)
                .and_then(|thread| thread.operations.get(..count))
        };
        let (Some(first), Some(second)) = (operations(first), operations(second)) else {
            return false;
        };
        first.iter().zip(second).all(|(a, b)| {
            let (Some(x), Some(y)) = (a.event, b.event) else {
                return false;
            };
            let is_read = |event: u32| {
                self.execution
                    .event(event as usize)
                    .is_some_and(|event| event.is_read() && event.partner.is_none())
            };
            let sources = |read: u32| -> Vec<(u32, u64, u32)> {
                self.execution
                    .sources(read as usize)
                    .map(|source| (source.write, source.address, source.bytes))
                    .collect()
            };
            is_read(x)
                && is_read(y)
                && sources(x) == sources(y)
                && !self
                    .pending
                    .iter()
                    .any(|pending| pending.read == x || pending.read == y)
        })
    }
}

/// Whether an exchange of two threads keeps which threads are in one CTA, cluster and device.
fn are_exchangeable(places: &[ThreadPlace], first: usize, second: usize) -> bool {
    let (Some(a), Some(b)) = (places.get(first), places.get(second)) else {
        return false;
    };
    let is_alone = |place: &ThreadPlace| {
        let in_cta = places
            .iter()
            .filter(|other| other.gpu == place.gpu && other.cta == place.cta);
        let in_cluster = places
            .iter()
            .filter(|other| other.gpu == place.gpu && other.cluster == place.cluster);
        in_cta.count() == 1 && (a.cluster == b.cluster || in_cluster.count() == 1)
    };
    a == b || (a.gpu == b.gpu && is_alone(a) && is_alone(b))
}
