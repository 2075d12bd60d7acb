//! Determines the kernels whose CTAs are independent.
//!
//! CTAs communicate through global memory. A program without data races uses atomic operations and accesses that the memory model
//! orders (volatile, relaxed and stronger ones) for that; without any of these, the result does not depend on the order of CTAs. The
//! addresses that `malloc` returns and the values of clock registers also depend on the order.

use std::collections::HashSet;

use ptx_ir::FuncId;
use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess, Space};
use ptx_isa::{Access, Action, Modifier, StateSpace};

use super::step::{Callee, Step, Target};

/// The use of memory that CTAs share by a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    /// Whether it may communicate with other CTAs.
    communicates: bool,
    /// Whether it requests that clusters are canceled.
    cancels: bool,
    /// The functions that it calls.
    calls: Vec<FuncId>,
    /// Whether it calls functions by their addresses.
    calls_unknown: bool,
}

/// Functions of the system whose results do not depend on other CTAs. Output is put in the order of CTAs.
const INDEPENDENT_FUNCTIONS: [&str; 3] = ["vprintf", "free", "__assertfail"];

impl Sharing {
    pub(super) fn new(facts: FunctionFacts<'_>, steps: &[Target]) -> Self {
        let mut sharing = Self::default();
        for target in steps {
            match &target.step {
                // Registers whose values change count steps.
                Step::Special(..) => sharing.communicates = true,
                Step::Call(call) => match &call.callee {
                    Callee::Function(id) => sharing.calls.push(*id),
                    Callee::System(name) => {
                        sharing.communicates |= !INDEPENDENT_FUNCTIONS.contains(&&**name)
                    }
                    Callee::Indirect(_) => sharing.calls_unknown = true,
                },
                // The clusters that have begun depend on the order.
                Step::Act(act) if act.action == Action::CancelCluster => {
                    sharing.communicates = true;
                    sharing.cancels = true;
                }
                _ => sharing.communicates |= may_communicate(&facts.inst(target.inst)),
            }
        }
        sharing
    }

    /// Whether no function that a kernel may reach communicates; `functions` has those of the module, with `None` where a body is missing.
    pub(super) fn is_independent(kernel: FuncId, functions: &[Option<Self>]) -> bool {
        !Self::reaches(kernel, functions, |sharing| sharing.communicates)
    }

    /// Whether a kernel may request that clusters are canceled.
    pub(super) fn may_cancel(kernel: FuncId, functions: &[Option<Self>]) -> bool {
        Self::reaches(kernel, functions, |sharing| sharing.cancels)
    }

    /// Whether a condition holds for a function that a kernel may reach. Linear in the calls.
    fn reaches(
        kernel: FuncId,
        functions: &[Option<Self>],
        condition: impl Fn(&Self) -> bool,
    ) -> bool {
        let mut reached = HashSet::from([kernel]);
        let mut worklist = vec![kernel];
        while let Some(function) = worklist.pop() {
            let Some(Some(sharing)) = functions.get(function.as_u32() as usize) else {
                continue;
            };
            if condition(sharing) {
                return true;
            }
            if sharing.calls_unknown {
                // Any function may be called.
                return functions.iter().flatten().any(condition);
            }
            worklist.extend(sharing.calls.iter().filter(|id| reached.insert(**id)));
        }
        false
    }
}

/// Whether an instruction may order accesses to memory that other CTAs access, or changes such memory atomically.
fn may_communicate(facts: &Facts<'_>) -> bool {
    if !facts.is_known() {
        return true;
    }
    facts.memory().filter(is_shared).any(|access| {
        facts.is_volatile()
            || matches!(access.access, Access::ReadWrite | Access::ReadModifyWrite)
            || access.order.is_some_and(|order| order != Modifier::Weak)
    })
}

/// Whether an access may be to memory that other CTAs access.
fn is_shared(access: &MemoryAccess) -> bool {
    match access.space {
        Space::State(space) => space.base() == StateSpace::Global,
        _ => true,
    }
}
