//! Effects as phrases, such as "waits for other threads".

use core::fmt::Display;

use super::{condition, operand_name, slot_name};
use crate::{
    Access, AsyncPhase, Completion, Cond, Control, ConvergenceScope, Effect, EffectKind, Form,
    ModifierSource, Proxy,
};

/// An effect of the form and its condition.
#[must_use]
pub fn effect(form: &Form, effect: &Effect) -> impl Display {
    super::from_fn(move |f| {
        match effect.kind {
            EffectKind::Order(word) => write!(f, "memory order {}", modifier_text(form, word))?,
            EffectKind::Scope(word) => write!(f, "memory scope {}", modifier_text(form, word))?,
            EffectKind::Lanes(operand) => {
                let name = operand_name(form, operand);
                write!(f, "executed together by the lanes in {name}")?;
            }
            EffectKind::Memory(access, space) => {
                let verb = match access {
                    Access::None => "accesses",
                    Access::Read => "reads",
                    Access::Write => "writes",
                    Access::ReadWrite => "reads and writes",
                    Access::ReadModifyWrite => "atomically updates",
                };
                write!(f, "{verb} {space} memory that no operand addresses")?;
            }
            EffectKind::Async(mechanism, phase) => {
                let verb = match phase {
                    AsyncPhase::Start => "starts an asynchronous operation, tracked by",
                    AsyncPhase::Commit => "commits asynchronous operations to",
                    AsyncPhase::Wait => "waits for",
                };
                write!(f, "{verb} {}", completion(mechanism))?;
            }
            kind => f.write_str(fixed_phrase(kind))?,
        }
        match &effect.when {
            Cond::Always => Ok(()),
            when => write!(f, " if {}", condition(form, when)),
        }
    })
}

fn modifier_text(form: &Form, word: ModifierSource) -> &'static str {
    match word {
        ModifierSource::Fixed(word) => word.text(),
        ModifierSource::Slot(slot) => slot_name(form, slot),
    }
}

const fn completion(mechanism: Completion) -> &'static str {
    match mechanism {
        Completion::CpAsync => "async copy groups",
        Completion::Bulk => "bulk async-groups",
        Completion::Mbarrier => "an mbarrier object",
        Completion::Wgmma => "warpgroup async-groups",
        Completion::Tcgen05 => "the wait and commit instructions of tensor memory",
    }
}

/// The phrase of an effect that contains no name from the form; empty for other effects.
const fn fixed_phrase(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Proxy(Proxy::Generic) => "accesses memory through the generic proxy",
        EffectKind::Proxy(Proxy::Async) => "accesses memory through the async proxy",
        EffectKind::Proxy(Proxy::Tensormap) => "accesses memory through the tensormap proxy",
        EffectKind::Proxy(Proxy::Texture) => "accesses memory through the texture proxy",
        EffectKind::Proxy(Proxy::Surface) => "accesses memory through the surface proxy",
        EffectKind::Proxy(Proxy::ReadOnly) => "reads data that is constant during the kernel",
        EffectKind::Control(Control::Jump) => "branches to a label",
        EffectKind::Control(Control::Table) => "branches to a label of a list",
        EffectKind::Control(Control::Call) => "calls a function",
        EffectKind::Control(Control::Return) => "returns from the function",
        EffectKind::Control(Control::Exit) => "terminates the thread",
        EffectKind::Control(Control::Trap) => "aborts the kernel",
        EffectKind::Converge(ConvergenceScope::Active) => {
            "the result depends on which threads are active"
        }
        EffectKind::Converge(ConvergenceScope::Warp) => {
            "executed together by all threads of the warp"
        }
        EffectKind::Converge(ConvergenceScope::Warpgroup) => {
            "executed together by all threads of the warpgroup"
        }
        EffectKind::Converge(ConvergenceScope::Cta) => {
            "executed together by all threads of the CTA"
        }
        EffectKind::Converge(ConvergenceScope::Cluster) => {
            "executed together by all threads of the cluster"
        }
        EffectKind::CarryRead => "reads the carry flag",
        EffectKind::CarryWrite => "writes the carry flag",
        EffectKind::Volatile => "must not be removed, duplicated or merged",
        EffectKind::Fence => "orders memory accesses",
        EffectKind::Barrier => "waits for other threads",
        EffectKind::Uniform => "all active threads of the warp take the same branch",
        EffectKind::OneThread => "performed once for all participating threads",
        EffectKind::SideEffect => "has a side effect",
        EffectKind::MatrixMultiply => "multiplies matrices on tensor cores",
        EffectKind::MatrixMove => "moves a matrix in the layout of tensor cores",
        EffectKind::Order(_)
        | EffectKind::Scope(_)
        | EffectKind::Lanes(_)
        | EffectKind::Memory(..)
        | EffectKind::Async(..) => "",
    }
}
