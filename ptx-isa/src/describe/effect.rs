//! Effects as phrases: "waits for other threads".

use core::fmt::Display;

use super::{condition, operand_name, slot_name};
use crate::{
    Access, AsyncPhase, Completion, Cond, Control, ConvergenceScope, Effect, EffectKind, Form,
    ModifierSource, Proxy,
};

/// What an effect of the form is, and when.
pub fn effect(form: &Form, effect: &Effect) -> impl Display {
    super::from_fn(move |f| {
        match effect.kind {
            EffectKind::Order(word) => write!(f, "memory order {}", chosen(form, word))?,
            EffectKind::Scope(word) => write!(f, "memory scope {}", chosen(form, word))?,
            EffectKind::Lanes(operand) => {
                let name = operand_name(form, operand);
                write!(f, "the lanes in {name} execute it together")?;
            }
            EffectKind::Memory(access, space) => {
                let done = match access {
                    Access::None => "reaches",
                    Access::Read => "reads",
                    Access::Write => "writes",
                    Access::ReadWrite => "reads and writes",
                    Access::ReadModifyWrite => "reads and writes, indivisibly,",
                };
                write!(f, "{done} {space} memory that no operand addresses")?;
            }
            EffectKind::Async(what, step) => {
                let step = match step {
                    AsyncPhase::Start => "starts an asynchronous operation, awaited by",
                    AsyncPhase::Commit => "puts asynchronous operations under",
                    AsyncPhase::Wait => "waits for",
                };
                write!(f, "{step} {}", completion(what))?;
            }
            kind => f.write_str(fixed(kind))?,
        }
        match &effect.when {
            Cond::Always => Ok(()),
            when => write!(f, " if {}", condition(form, when)),
        }
    })
}

fn chosen(form: &Form, word: ModifierSource) -> &'static str {
    match word {
        ModifierSource::Fixed(word) => word.text(),
        ModifierSource::Slot(slot) => slot_name(form, slot),
    }
}

const fn completion(what: Completion) -> &'static str {
    match what {
        Completion::CpAsync => "groups of asynchronous copies",
        Completion::Bulk => "bulk groups",
        Completion::Mbarrier => "an mbarrier object",
        Completion::Wgmma => "groups of warpgroup multiplications",
        Completion::Tcgen05 => "the waits and commits of tensor memory",
    }
}

/// Effects that need no name of the form.
const fn fixed(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Proxy(Proxy::Generic) => "reaches memory through the generic proxy",
        EffectKind::Proxy(Proxy::Async) => "reaches memory through the async proxy",
        EffectKind::Proxy(Proxy::Tensormap) => "reaches memory through the tensormap proxy",
        EffectKind::Proxy(Proxy::Texture) => "reaches memory through the texture proxy",
        EffectKind::Proxy(Proxy::Surface) => "reaches memory through the surface proxy",
        EffectKind::Proxy(Proxy::ReadOnly) => "reads data that nothing changes",
        EffectKind::Control(Control::Jump) => "jumps",
        EffectKind::Control(Control::Table) => "jumps to a label of a list",
        EffectKind::Control(Control::Call) => "calls",
        EffectKind::Control(Control::Return) => "returns",
        EffectKind::Control(Control::Exit) => "ends the thread",
        EffectKind::Control(Control::Trap) => "aborts the kernel",
        EffectKind::Converge(ConvergenceScope::Active) => {
            "the result depends on which threads are there"
        }
        EffectKind::Converge(ConvergenceScope::Warp) => {
            "all threads of the warp execute it together"
        }
        EffectKind::Converge(ConvergenceScope::Warpgroup) => {
            "all threads of the warpgroup execute it together"
        }
        EffectKind::Converge(ConvergenceScope::Cta) => "all threads of the CTA execute it together",
        EffectKind::Converge(ConvergenceScope::Cluster) => {
            "all threads of the cluster execute it together"
        }
        EffectKind::CarryRead => "reads the carry flag",
        EffectKind::CarryWrite => "writes the carry flag",
        EffectKind::Volatile => "happens exactly as often as it is written",
        EffectKind::Fence => "orders memory accesses",
        EffectKind::Barrier => "waits for other threads",
        EffectKind::Uniform => "all active threads of a warp go the same way",
        EffectKind::OneThread => "one thread acts for all",
        EffectKind::SideEffect => "stays although it has no result",
        EffectKind::Order(_)
        | EffectKind::Scope(_)
        | EffectKind::Lanes(_)
        | EffectKind::Memory(..)
        | EffectKind::Async(..) => "",
    }
}
