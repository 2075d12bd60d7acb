//! Communication order.

use crate::execution::Execution;
use crate::relation::Relation;

/// The first part of communication order (8.9.7): from each write to the reads that return one of its bytes.
pub(super) fn reads_from(execution: &Execution) -> Relation {
    let mut result = Relation::new(execution.len());
    for source in &execution.reads_from {
        result.insert(source.write as usize, source.read as usize);
    }
    result
}

/// The third part of communication order (8.9.7): from each read to the writes that follow, in coherence order, a write from which the read
/// returns a byte that they write, too.
#[must_use]
pub fn from_reads(execution: &Execution, coherence: &Relation) -> Relation {
    let mut result = Relation::new(execution.len());
    for source in &execution.reads_from {
        for later in coherence.successors(source.write as usize) {
            let writes_bytes = execution
                .event(later)
                .and_then(|event| event.location())
                .is_some_and(|location| {
                    location.address < source.address + u64::from(source.bytes)
                        && source.address < location.end()
                });
            if writes_bytes {
                result.insert(source.read as usize, later);
            }
        }
    }
    result
}
