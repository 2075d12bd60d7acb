//! The memory accesses of an instruction.

use core::slice;

use ptx_isa::{Access, Modifier, Proxy, StateSpace};

use super::inst_facts::{AccessFacts, Bytes, Part};
use super::registers::plain;
use super::{Facts, RegAccess};
use crate::{Body, Operand};

/// The memory that an access reaches.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Space {
    /// A state space.
    State(StateSpace),
    /// Memory at a generic address.
    Generic,
    /// Tensor memory.
    Tensor,
    /// A texture.
    Texture,
    /// A surface.
    Surface,
    /// Any memory: the instruction does not state it.
    Any,
}

/// One access of an instruction to memory.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct MemoryAccess {
    /// The space of the memory.
    pub space: Space,
    /// The largest number of bytes that one thread reaches; `None` if it is unknown.
    pub bytes: Option<u64>,
    /// The kind of the access.
    pub access: Access,
    /// The memory order: `.weak`, `.relaxed`, …; `None` if the memory model gives the access none.
    pub order: Option<Modifier>,
    /// The scope of the memory order; `None` for weak accesses.
    pub scope: Option<Modifier>,
    /// The memory contains an mbarrier object, which the instruction uses.
    pub is_mbarrier: bool,
    /// The proxy of the access.
    pub proxy: Proxy,
    /// The base of the address: a register, a variable or a number; `None` if no operand contains the address.
    pub base: Option<Operand>,
    /// The offset from the base; `None` if a register or an unknown name determines it.
    pub offset: Option<i64>,
    /// The operand that holds the address, as it is written.
    pub operand: Option<Operand>,
    /// The operand whose value is the number of bytes; `None` if no operand is.
    pub size: Option<Operand>,
    /// The operand, possibly a vector, that is loaded or stored, with the access to its registers; `None` without such an operand,
    /// or if its layout in memory differs.
    pub data: Option<(Operand, RegAccess)>,
}

impl MemoryAccess {
    /// Returns whether the access may change memory.
    #[must_use]
    pub const fn writes(&self) -> bool {
        !matches!(self.access, Access::Read | Access::None)
    }

    /// Returns whether the result depends on memory.
    #[must_use]
    pub const fn reads(&self) -> bool {
        !matches!(self.access, Access::Write | Access::None)
    }

    /// Any memory is read and written: the access of an unknown instruction.
    pub const ANY: Self = Self {
        space: Space::Any,
        bytes: None,
        access: Access::ReadWrite,
        order: None,
        scope: None,
        is_mbarrier: false,
        proxy: Proxy::Generic,
        base: None,
        offset: None,
        operand: None,
        size: None,
        data: None,
    };
}

/// The base and the offset of an address operand.
fn address(body: &Body, operand: Operand) -> (Option<Operand>, Option<i64>) {
    let Operand::Address(id) = operand else {
        return (Some(plain(body, operand).0), Some(0));
    };
    let Some(address) = body.pool.address(id) else {
        return (None, None);
    };
    (Some(address.base), address.byte_offset(&body.pool))
}

impl<'a> Facts<'a> {
    /// The memory accesses. A call accesses any memory besides the parameters that it mentions.
    pub fn memory(&self) -> impl Iterator<Item = MemoryAccess> + use<'a> {
        MemoryAccesses::new(*self)
    }

    /// An access that the form of the instruction states.
    fn form_access(&self, access: &AccessFacts) -> MemoryAccess {
        let operand = access.part.map(|part| self.part(part));
        let (base, offset) = operand.map_or((None, None), |o| address(self.body, o));
        MemoryAccess {
            space: access.space,
            bytes: match access.bytes {
                Bytes::Unknown => None,
                Bytes::Fixed(bytes) => Some(bytes.into()),
                Bytes::Value(part) => {
                    let value = self.body.pool.integer(self.part(part));
                    value.and_then(|v| u64::try_from(v).ok())
                }
            },
            access: access.access,
            order: access.order,
            scope: access.scope,
            is_mbarrier: access.mbarrier,
            proxy: self.form.proxy.unwrap_or(Proxy::Generic),
            base,
            offset,
            operand,
            size: match access.bytes {
                Bytes::Value(part) => Some(self.part(part)),
                _ => None,
            },
            data: access.data.and_then(|part| self.part_with_usage(part)),
        }
    }
}

/// The memory accesses of an instruction. A named type whose `next` is compiled once: otherwise each caller of [`Facts::memory`] would contain a copy of it.
struct MemoryAccesses<'a> {
    facts: Facts<'a>,
    form_accesses: slice::Iter<'a, AccessFacts>,
    /// The parts of a call that may be lists of results and arguments; none of other instructions.
    call_parts: slice::Iter<'a, Part>,
    /// What remains of the current list, and the access to it.
    call_list: slice::Iter<'a, Operand>,
    call_access: Access,
    /// The access of a call to any memory, until it was returned.
    any: Option<MemoryAccess>,
}

impl<'a> MemoryAccesses<'a> {
    fn new(facts: Facts<'a>) -> Self {
        // Most instructions are not calls, so that their operands are not searched.
        let is_call = !facts.is_known() || facts.is_call();
        let call_parts = if is_call { &facts.form.parts[..] } else { &[] };
        Self {
            facts,
            form_accesses: facts.form.accesses.iter(),
            call_parts: call_parts.iter(),
            call_list: [].iter(),
            call_access: Access::None,
            any: is_call.then_some(MemoryAccess::ANY),
        }
    }

    /// The access of a call to the next parameter that it mentions.
    fn next_parameter(&mut self) -> Option<MemoryAccess> {
        loop {
            for &variable in self.call_list.by_ref() {
                if matches!(variable, Operand::Var(_)) {
                    return Some(MemoryAccess {
                        space: Space::State(StateSpace::Param),
                        access: self.call_access,
                        base: Some(variable),
                        offset: Some(0),
                        operand: Some(variable),
                        ..MemoryAccess::ANY
                    });
                }
            }
            let part = self.call_parts.next()?;
            if let Some((list, access)) = self.facts.call_list(part) {
                self.call_list = list.iter();
                self.call_access = access;
            }
        }
    }
}

impl Iterator for MemoryAccesses<'_> {
    type Item = MemoryAccess;

    fn next(&mut self) -> Option<MemoryAccess> {
        match self.form_accesses.next() {
            Some(access) => Some(self.facts.form_access(access)),
            None => self.next_parameter().or_else(|| self.any.take()),
        }
    }
}
