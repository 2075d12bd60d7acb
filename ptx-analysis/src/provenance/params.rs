//! The provenance of the parameters of a function.

use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Binding, FunctionKind, Param, VarId};
use ptx_isa::StateSpace;

use super::calls::CallSummaries;
use super::lattice::{AbstractValue, Address};
use crate::memory_access::Provenance;

/// The number of bytes of an address.
const ADDRESS_BYTES: u64 = 8;

/// The parameters in `.param` with the values of their first bytes, by id.
pub(super) fn values(
    facts: FunctionFacts<'_>,
    calls: Option<&CallSummaries>,
) -> Vec<(VarId, AbstractValue)> {
    let module = facts.module();
    let Some(function) = module.functions().get(facts.id()) else {
        return Vec::new();
    };
    let arguments = calls
        .and_then(|calls| calls.arguments(facts.id()))
        .filter(|_| function.kind != FunctionKind::Entry);
    let mut values = Vec::new();
    let params = function.interface.params.of(module.params());
    for (index, param) in params.iter().enumerate() {
        if let Binding::Var(variable) = param.binding {
            let argument = arguments.and_then(|arguments| arguments.get(index));
            values.push((variable, param_value(variable, param, argument.copied())));
        }
    }
    values.sort_unstable_by_key(|(variable, _)| *variable);
    values
}

/// The value of a parameter; `argument` is the join of the arguments of all calls, if they are known.
fn param_value(variable: VarId, param: &Param, argument: Option<AbstractValue>) -> AbstractValue {
    let pointee = Address {
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
        (Some(AbstractValue::Address(argument)), _) => AbstractValue::Address(Address {
            object: argument.object.or(pointee.object),
            offset: Some(0).filter(|_| argument.object.is_none()),
            ..argument
        }),
        (Some(AbstractValue::AddressOrNumber | AbstractValue::Unknown) | None, None) => {
            AbstractValue::Address(pointee)
        }
        // The address is one in the state space. Addresses of global memory are generic addresses, too.
        (_, Some(pointer)) if pointer.opaque.is_none() => AbstractValue::Address(Address {
            space: pointer.space,
            is_generic: matches!(pointer.space, None | Some(StateSpace::Global)),
            is_certain: true,
            ..pointee
        }),
        (Some(other), None) => other,
        (_, Some(_)) => AbstractValue::Number,
    }
}

/// The value of `bytes` bytes of a parameter that are loaded at an offset; `param` is the value of its first bytes.
pub(super) fn part(
    param: AbstractValue,
    variable: VarId,
    offset: Option<i64>,
    bytes: u64,
) -> AbstractValue {
    let offset = offset.and_then(|offset| u32::try_from(offset).ok());
    match (offset, bytes) {
        (Some(0), ADDRESS_BYTES) => param,
        (Some(offset), ADDRESS_BYTES) => AbstractValue::Address(Address {
            object: Some(Provenance::Parameter { variable, offset }),
            space: None,
            is_generic: true,
            is_certain: false,
            offset: Some(0),
        }),
        (_, 4..) => AbstractValue::AddressOrNumber,
        _ => AbstractValue::Number,
    }
}
