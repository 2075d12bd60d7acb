//! Memory accesses of instructions.

use ptx_ir::Operand;
use ptx_ir::facts::{Facts, MemoryAccess, Space};
use ptx_isa::{Modifier, Proxy as AccessProxy, ScalarType, StateSpace, TypeKind};
use ptx_semantics::{Place, internals};

use super::variables::{LOCAL_WINDOW, SHARED_WINDOW};
use super::{Kernel, KernelThread};
use crate::event::{Location, MemoryProxy, MemoryScope, Order};
use crate::program::{ThreadAccess, Value};

/// The order of a modifier.
pub(super) fn order(modifier: Option<Modifier>) -> Order {
    match modifier {
        Some(Modifier::Relaxed | Modifier::Volatile | Modifier::Mmio) => Order::Relaxed,
        Some(Modifier::Acquire) => Order::Acquire,
        Some(Modifier::Release) => Order::Release,
        Some(Modifier::AcqRel) => Order::AcquireRelease,
        Some(Modifier::Sc) => Order::SequentiallyConsistent,
        _ => Order::Weak,
    }
}

/// The scope of a modifier; `gpu` for those that have none.
pub(super) fn scope(modifier: Option<Modifier>) -> MemoryScope {
    match modifier {
        Some(Modifier::Cta) => MemoryScope::Cta,
        Some(Modifier::Cluster) => MemoryScope::Cluster,
        Some(Modifier::Sys) => MemoryScope::Sys,
        _ => MemoryScope::Gpu,
    }
}

/// The proxy of accesses. Read-only data is outside of the model; its loads are ordered like those of constants.
pub(super) fn proxy(proxy: AccessProxy) -> MemoryProxy {
    match proxy {
        AccessProxy::Async => MemoryProxy::Asynchronous,
        AccessProxy::Tensormap => MemoryProxy::TensorMap,
        AccessProxy::Texture => MemoryProxy::Texture,
        AccessProxy::Surface => MemoryProxy::Surface,
        AccessProxy::ReadOnly => MemoryProxy::Constant,
        _ => MemoryProxy::Generic,
    }
}

/// The elements of the data of an access, which are in memory one after the other.
pub(super) struct Elements {
    pub(super) operands: Vec<Operand>,
    pub(super) ty: ScalarType,
}

/// An address that a thread accesses.
pub(super) enum Target {
    Location(Location),
    /// The address depends on a read without a source.
    Unknown,
    /// Bytes of the parameters.
    Parameter(u64),
    Invalid(String),
    Unsupported(String),
}

impl Kernel<'_> {
    /// The data of an access.
    pub(super) fn elements(&self, facts: &Facts<'_>, access: &MemoryAccess) -> Option<Elements> {
        let (data, _) = access.data?;
        let ty = facts
            .operands()
            .find(|operand| operand.operand == data)
            .and_then(|operand| operand.ty)?;
        let operands = match data {
            Operand::Vector(list) => facts.body().pool().list(list).to_vec(),
            operand => vec![operand],
        };
        Some(Elements { operands, ty })
    }

    /// The address of an access in its state space.
    fn address(&self, state: &KernelThread, facts: &Facts<'_>, access: &MemoryAccess) -> Value {
        let offset = access.offset.unwrap_or(0);
        let base = match access.base {
            Some(operand @ (Operand::Symbol(_) | Operand::Var(_))) => self
                .variables
                .home(operand)
                .map(|home| Value::constant(home.address.into())),
            Some(operand) => {
                let source = internals::source(facts.body(), operand, &[]);
                self.source(state, source)
            }
            None => None,
        };
        let base = base.unwrap_or_default();
        Value {
            bits: base
                .bits
                .map(|bits| u128::from((bits as u64).wrapping_add_signed(offset))),
            ..base
        }
    }

    /// The bytes that a thread accesses with an element, and the reads on which the address depends.
    pub(super) fn target(
        &self,
        state: &KernelThread,
        facts: &Facts<'_>,
        access: &MemoryAccess,
        element: u64,
        bytes: u32,
    ) -> (Target, Value) {
        let address = self.address(state, facts, access);
        let Some(start) = address.bits else {
            return (Target::Unknown, address);
        };
        let mut start = (start as u64).wrapping_add(element * u64::from(bytes));
        let space = match access.space {
            Space::State(space) => space.base(),
            Space::Generic if start >= LOCAL_WINDOW => {
                start -= LOCAL_WINDOW;
                StateSpace::Local
            }
            Space::Generic if start >= SHARED_WINDOW => {
                start -= SHARED_WINDOW;
                StateSpace::Shared
            }
            Space::Generic => StateSpace::Global,
            _ => {
                let message = "an access that is neither of a state space nor generic";
                return (Target::Unsupported(message.to_owned()), address);
            }
        };
        let physical = match space {
            StateSpace::Global | StateSpace::Const => {
                self.variables.is_global(start, bytes).then_some(start)
            }
            StateSpace::Shared => {
                let cta = self.places.get(state.thread).map_or(0, |place| place.cta);
                self.variables.shared(&self.launch, cta, start, bytes)
            }
            StateSpace::Local => self.variables.local(state.thread, start, bytes),
            StateSpace::Param => return (Target::Parameter(start), address),
            _ => {
                let message = format!("an access to `{space}` memory");
                return (Target::Unsupported(message), address);
            }
        };
        let target = match physical {
            Some(physical) => Target::Location(Location {
                address: physical,
                bytes,
                mapping: 0,
            }),
            None => Target::Invalid(format!(
                "an access of {bytes} bytes at {start:#x} outside of all variables and buffers"
            )),
        };
        (target, address)
    }

    /// The access of a step.
    pub(super) fn step_access(
        &self,
        state: &KernelThread,
        facts: &Facts<'_>,
        access: &MemoryAccess,
        location: Option<Location>,
        values: &[&Value],
    ) -> ThreadAccess {
        let mut dependencies = state.control.clone();
        for value in values {
            dependencies.extend(&value.dependencies);
        }
        let is_volatile =
            facts.has_modifier(Modifier::Volatile) || facts.has_modifier(Modifier::Mmio);
        let stated = if is_volatile {
            Order::Relaxed
        } else {
            order(access.order)
        };
        let is_atomic = access.access == ptx_isa::Access::ReadModifyWrite;
        ThreadAccess {
            location,
            order: match stated {
                // An atomic operation without an order is relaxed.
                Order::Weak if is_atomic => Order::Relaxed,
                order => order,
            },
            scope: if facts.has_modifier(Modifier::Volatile) {
                MemoryScope::Sys
            } else {
                scope(access.scope)
            },
            proxy: proxy(access.proxy),
            dependencies,
            instruction: state.next as u32,
        }
    }

    /// The bytes of a parameter.
    pub(super) fn parameter(&self, address: u64, bytes: u32) -> Option<u128> {
        let start = usize::try_from(address).ok()?;
        let slice = self
            .variables
            .parameters
            .get(start..start.checked_add(bytes as usize)?)?;
        let mut result = [0; 16];
        result.get_mut(..slice.len())?.copy_from_slice(slice);
        Some(u128::from_le_bytes(result))
    }

    /// Writes loaded bits to the register that an operand is.
    pub(super) fn load_register(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        operand: Operand,
        ty: ScalarType,
        value: Value,
    ) {
        let Some(place) = facts
            .place(operand)
            .and_then(|register| Place::of_register(facts.body(), register))
        else {
            return;
        };
        let bits = value.bits.map(|bits| extended(bits, ty));
        state.set(place, Value { bits, ..value });
    }
}

/// The bits of a loaded value in a register that may be wider: copies of the sign above a signed value.
fn extended(bits: u128, ty: ScalarType) -> u128 {
    let width = u32::from(ty.bits());
    if ty.kind() == TypeKind::Signed && width < 64 && bits >> (width - 1) & 1 == 1 {
        bits | (u128::from(u64::MAX) & !((1 << width) - 1))
    } else {
        bits
    }
}
