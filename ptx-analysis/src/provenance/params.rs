//! The provenance of the parameters of a function.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Binding, FunctionKind, Param, VarId};
use ptx_isa::StateSpace;

use super::calls::CallSummaries;
use super::origin::{Known, Origin};
use crate::memory_access::Provenance;

/// Bytes of an address.
const ADDRESS: u64 = 8;

/// The parameters in `.param` with what is known of their first bytes, in the order of their ids.
pub(super) fn of(facts: FunctionFacts<'_>, calls: Option<&CallSummaries>) -> Vec<(VarId, Known)> {
    let module = facts.module();
    let Some(function) = module.functions().get(facts.id()) else {
        return Vec::new();
    };
    let arguments = calls.and_then(|c| c.arguments(facts.id()));
    let params = function
        .interface
        .params
        .of(module.params())
        .iter()
        .enumerate();
    let known = params.filter_map(|(at, param)| {
        let Binding::Var(variable) = param.binding else {
            return None;
        };
        let argument = match function.kind {
            FunctionKind::Entry => None,
            _ => arguments.and_then(|a| a.get(at)).copied(),
        };
        Some((variable, of_param(variable, param, argument)))
    });
    let mut known: Vec<(VarId, Known)> = known.collect();
    known.sort_unstable_by_key(|(variable, _)| *variable);
    known
}

fn of_param(variable: VarId, param: &Param, argument: Option<Known>) -> Known {
    let own = Origin {
        object: Some(Provenance::Parameter {
            variable,
            offset: 0,
        }),
        space: None,
        is_generic: true,
        is_certain: false,
        offset: Some(0),
    };
    match (argument, param.ptr) {
        (Some(Known::Address(argument)), _) => Known::Address(Origin {
            object: argument.object.or(own.object),
            offset: Some(0).filter(|_| argument.object.is_none()),
            ..argument
        }),
        (Some(Known::Any | Known::Unknown) | None, None) => Known::Address(own),
        // The address is one in the state space. Those of global memory are generic ones, too.
        (_, Some(pointer)) if pointer.opaque.is_none() => Known::Address(Origin {
            space: pointer.space,
            is_generic: matches!(pointer.space, None | Some(StateSpace::Global)),
            is_certain: true,
            ..own
        }),
        (Some(other), None) => other,
        (_, Some(_)) => Known::Number,
    }
}

/// What is loaded from a parameter.
pub(super) fn part(param: Known, variable: VarId, offset: Option<i64>, size: u64) -> Known {
    let offset = offset.and_then(|o| u32::try_from(o).ok());
    match (offset, size) {
        (Some(0), ADDRESS) => param,
        (Some(offset), ADDRESS) => Known::Address(Origin {
            object: Some(Provenance::Parameter { variable, offset }),
            space: None,
            is_generic: true,
            is_certain: false,
            offset: Some(0),
        }),
        (_, 4..) => Known::Any,
        _ => Known::Number,
    }
}
