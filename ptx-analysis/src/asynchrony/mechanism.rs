//! The mechanisms by which the completion of asynchronous operations is awaited.

use ptx_ir::OperandPool;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, AsyncPhase, Completion};

/// A mechanism by which the completion of an operation is awaited.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mechanism {
    /// Groups of copies of a thread.
    Copies,
    /// Bulk groups: a wait until the sources of their copies were read.
    Bulk,
    /// Bulk groups: a wait until the destinations of their copies were written.
    BulkWrites,
    /// An mbarrier object.
    Mbarrier,
    /// Groups of products of a warpgroup.
    Warpgroup,
    /// An instruction that waits for loads from tensor memory.
    TensorLoads,
    /// An instruction that waits for stores to tensor memory.
    TensorStores,
    /// A commit to an mbarrier object.
    Tensor,
}

impl Mechanism {
    fn of(completion: Completion, action: Option<Action>) -> Option<Self> {
        Some(match (completion, action) {
            (Completion::CpAsync, _) => Self::Copies,
            (Completion::Bulk, _) => Self::Bulk,
            (Completion::Mbarrier, _) => Self::Mbarrier,
            (Completion::Wgmma, _) => Self::Warpgroup,
            (Completion::Tcgen05, Some(Action::TensorLoad | Action::TensorLoadWait)) => {
                Self::TensorLoads
            }
            (Completion::Tcgen05, Some(Action::TensorStore | Action::TensorStoreWait)) => {
                Self::TensorStores
            }
            (Completion::Tcgen05, _) => Self::Tensor,
            _ => return None,
        })
    }
}

/// An effect of an instruction on the operations of a mechanism.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Starts an operation.
    Start,
    /// Makes a group of the operations that are in no group.
    Commit,
    /// Makes the operations that were started before report to an mbarrier object.
    Report,
    /// Waits for all groups but this number of the latest ones; `None`: for all operations, including those in no group.
    Wait(Option<u32>),
}

/// The effects of an instruction on asynchronous operations.
pub(crate) fn steps<'a>(
    facts: Facts<'a>,
    pool: &'a OperandPool,
) -> impl Iterator<Item = (Mechanism, Step)> + use<'a> {
    let phases = facts.asynchronous().iter();
    phases.filter_map(move |&(completion, phase)| {
        let mechanism = Mechanism::of(completion, facts.action())?;
        let step = match phase {
            AsyncPhase::Start => Step::Start,
            AsyncPhase::Commit => match facts.action() {
                Some(Action::CopyArrive | Action::TensorCommit) => Step::Report,
                _ => Step::Commit,
            },
            AsyncPhase::Wait => Step::Wait(pending_groups(facts, pool)),
            _ => return None,
        };
        Some((mechanism, step))
    })
}

/// The number of groups that may remain pending after a wait.
fn pending_groups(facts: Facts<'_>, pool: &OperandPool) -> Option<u32> {
    let mut numbers = facts
        .parts()
        .filter_map(|(operand, _)| pool.integer(operand));
    u32::try_from(numbers.next()?).ok()
}
