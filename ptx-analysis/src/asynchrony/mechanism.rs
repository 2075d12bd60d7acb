//! How the completion of an operation is awaited.

use ptx_ir::OperandPool;
use ptx_ir::facts::Facts;
use ptx_isa::{Action, AsyncPhase, Completion};

/// How the completion of an operation is awaited.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Mechanism {
    /// Groups of copies of a thread.
    Copies,
    /// Bulk groups, whose sources were read.
    Bulk,
    /// Bulk groups, whose destinations were written.
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

/// What an instruction does to the operations of a mechanism.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Start,
    /// Makes a group of those in no group.
    Commit,
    /// Makes those before it report to an mbarrier object.
    Report,
    /// Waits, except for a number of the latest groups; `None`: for those in no group too.
    Wait(Option<u32>),
}

/// What an instruction does to asynchronous operations.
pub(super) fn phases<'a>(
    facts: Facts<'a>,
    pool: &'a OperandPool,
) -> impl Iterator<Item = (Mechanism, Phase)> + use<'a> {
    let steps = facts.asynchronous().iter();
    steps.filter_map(move |&(completion, step)| {
        let mechanism = Mechanism::of(completion, facts.action())?;
        let phase = match step {
            AsyncPhase::Start => Phase::Start,
            AsyncPhase::Commit => match facts.action() {
                Some(Action::CopyArrive | Action::TensorCommit) => Phase::Report,
                _ => Phase::Commit,
            },
            AsyncPhase::Wait => Phase::Wait(groups(facts, pool)),
            _ => return None,
        };
        Some((mechanism, phase))
    })
}

/// The number of groups that may remain pending.
fn groups(facts: Facts<'_>, pool: &OperandPool) -> Option<u32> {
    let mut numbers = facts.parts().filter_map(|(o, _)| pool.integer(o));
    u32::try_from(numbers.next()?).ok()
}
