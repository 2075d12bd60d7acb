//! The names of facts in the output of several commands.

use ptx_ir::FunctionKind;
use ptx_ir::facts::{Facts, Flow, Space};
use ptx_isa::{Access, Completion, RegisterClass, StateSpace};

/// `global`, `shared`, `generic`, …; `.shared::cta` is `.shared`, which means the same.
#[must_use]
pub fn space(space: Space) -> &'static str {
    match space {
        Space::State(StateSpace::SharedCta) => space_text(StateSpace::Shared),
        Space::State(space) => space_text(space),
        Space::Generic => "generic",
        Space::Tensor => "tensor",
        Space::Texture => "texture",
        Space::Surface => "surface",
        _ => "any",
    }
}

/// Another name: that of the space without a qualifier, or `shared::cta` for `shared`.
#[must_use]
pub fn other_space(of: Space) -> &'static str {
    match of {
        Space::State(StateSpace::Shared | StateSpace::SharedCta) => {
            space_text(StateSpace::SharedCta)
        }
        Space::State(part) => space_text(part.base()),
        other => space(other),
    }
}

fn space_text(space: StateSpace) -> &'static str {
    space.text().trim_start_matches('.')
}

/// The names of all spaces, `shared::cta` too.
pub fn spaces() -> Vec<&'static str> {
    let states = StateSpace::ALL.iter().filter(|s| s.is_addressable());
    let others = [
        Space::Generic,
        Space::Tensor,
        Space::Texture,
        Space::Surface,
        Space::Any,
    ];
    let states = states.map(|&s| space_text(s));
    states.chain(others.map(space)).collect()
}

/// `read`, `write`, `atomic`, `update`.
#[must_use]
pub fn access(access: Access) -> &'static str {
    ACCESSES[match access {
        Access::Read => 0,
        Access::Write => 1,
        Access::ReadModifyWrite => 2,
        _ => 3,
    }]
}

/// All kinds of accesses.
pub const ACCESSES: [&str; 4] = ["read", "write", "atomic", "update"];

/// `next`, `jump`, …
#[must_use]
pub fn flow(flow: Flow) -> &'static str {
    FLOWS[match flow {
        Flow::Next => 0,
        Flow::Jump => 1,
        Flow::Table => 2,
        Flow::Call => 3,
        Flow::Return => 4,
        Flow::Exit => 5,
        Flow::Trap => 6,
        _ => 7,
    }]
}

/// The control flow after an instruction.
pub const FLOWS: [&str; 8] = [
    "next", "jump", "table", "call", "return", "exit", "trap", "unknown",
];

/// `barrier` or `fence`, for an instruction that is one of both.
#[must_use]
pub fn waiting(of: &Facts<'_>) -> Option<&'static str> {
    match (of.is_barrier(), of.is_fence()) {
        (true, _) => Some("barrier"),
        (false, true) => Some("fence"),
        (false, false) => None,
    }
}

/// The completion mechanism of an asynchronous operation: `cp_async`, `bulk`, …
#[must_use]
pub fn completion(of: Completion) -> &'static str {
    match of {
        Completion::CpAsync => "cp_async",
        Completion::Bulk => "bulk",
        Completion::Mbarrier => "mbarrier",
        Completion::Wgmma => "wgmma",
        Completion::Tcgen05 => "tcgen05",
        _ => "other",
    }
}

/// `entry`, `func`
#[must_use]
pub fn kind(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Entry => "entry",
        FunctionKind::Func => "func",
    }
}

/// `pred`, `b32`, …
#[must_use]
pub fn class(class: RegisterClass) -> String {
    match class {
        RegisterClass::Predicate => "pred".to_owned(),
        class => format!("b{}", class.bits()),
    }
}
