//! The addresses of variables, parameters and buffers, and their initial contents.

use std::collections::{BTreeMap, HashMap};

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{
    Binding, ConstKind, Declarations, Item, Module, Operand, OperandPool, SymbolId, VarDecl, VarId,
};
use ptx_isa::{ScalarType, StateSpace};

use super::{KernelArgument, KernelError, KernelLaunch};
use crate::event::AddressRange;

/// The address of the first buffer.
const BUFFERS: u64 = 0x1_0000_0000;
/// The address of the first variable in global memory.
const GLOBALS: u64 = 0x2_0000_0000;
/// The address of what barriers of all CTAs are kept in.
pub(super) const WORKSPACE: u64 = 0xff_ffff_0000;
/// The number of bytes of it.
const WORKSPACE_BYTES: u64 = 64;
/// The physical address of the shared memory of the first CTA.
const SHARED: u64 = 0x100_0000_0000;
/// The physical address of the local memory of the first thread.
const LOCAL: u64 = 0x200_0000_0000;
/// The generic address of the first byte of local memory.
pub(super) const LOCAL_WINDOW: u64 = 0x7800_0000_0000;
/// The generic address of the first byte of shared memory.
pub(super) const SHARED_WINDOW: u64 = 0x7000_0000_0000;
/// Bytes between the shared memory of one CTA and that of the next one.
pub(super) const SHARED_STRIDE: u64 = 1 << 24;
/// Bytes between buffers.
const GAP: u64 = 256;

/// Where a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Home {
    pub(super) space: StateSpace,
    /// The address in the state space.
    pub(super) address: u64,
}

/// A range of memory with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The type of an element.
    pub(super) ty: ScalarType,
}

impl Named {
    /// Variables that are declared as bytes are usually structs, so their elements are words.
    fn new(name: &str, address: u64, bytes: u64, declared: Option<ScalarType>) -> Self {
        let ty = match declared {
            Some(ty) if ty.bits() > 8 || bytes < 4 => ty,
            _ => ScalarType::U32,
        };
        Self {
            name: name.to_owned(),
            address,
            bytes,
            ty,
        }
    }
}

/// The variables of a launch.
#[derive(Debug, Default)]
pub(super) struct Variables {
    symbols: HashMap<SymbolId, Home>,
    locals: HashMap<VarId, Home>,
    /// The bytes of the parameters.
    pub(super) parameters: Vec<u8>,
    /// The address of each argument that is a buffer.
    pub(super) buffers: Vec<Option<u64>>,
    /// The bounds of buffers and variables in global memory.
    ranges: BTreeMap<u64, u64>,
    /// The initial contents of global memory.
    contents: HashMap<u64, u8>,
    /// Variables in global memory and buffers of parameters.
    pub(super) named: Vec<Named>,
    /// Variables in shared memory, with their addresses in the shared memory of a CTA.
    pub(super) shared_named: Vec<Named>,
    shared_bytes: u64,
    local_bytes: u64,
    next_global: u64,
}

impl Variables {
    pub(super) fn new(
        facts: FunctionFacts<'_>,
        launch: &KernelLaunch,
    ) -> Result<Self, KernelError> {
        let mut result = Self {
            next_global: GLOBALS,
            ..Self::default()
        };
        let workspace = Named::new("the grid workspace", WORKSPACE, WORKSPACE_BYTES, None);
        result.named.push(workspace);
        let end = WORKSPACE + WORKSPACE_BYTES;
        result.ranges.insert(WORKSPACE, end);
        result
            .contents
            .extend((WORKSPACE..end).map(|address| (address, 0)));
        let module = facts.module();
        result.add_parameters(facts, launch)?;
        for (_, item) in module.items() {
            if let Item::Decl(id) = item {
                let declarations = module.declarations();
                result.add_declaration(module, declarations, module.pool(), id);
            }
        }
        let body = facts.body();
        for id in body.declarations().decls.ids() {
            result.add_declaration(module, body.declarations(), body.pool(), id);
        }
        result.shared_bytes += launch.dynamic_shared_bytes;
        Ok(result)
    }

    fn add_parameters(
        &mut self,
        facts: FunctionFacts<'_>,
        launch: &KernelLaunch,
    ) -> Result<(), KernelError> {
        let module = facts.module();
        let parameters = module
            .functions()
            .get(facts.id())
            .map(|function| function.interface.params);
        let parameters = parameters.map_or(&[][..], |range| range.of(module.params()));
        if parameters.len() != launch.arguments.len() {
            return Err(KernelError(format!(
                "the kernel has {} parameters, but there are {} arguments",
                parameters.len(),
                launch.arguments.len()
            )));
        }
        let mut next_buffer = BUFFERS;
        for (parameter, argument) in parameters.iter().zip(&launch.arguments) {
            let Some(layout) = parameter.layout(module.pool()) else {
                return Err(KernelError("a parameter has no size".to_owned()));
            };
            let size = layout.size.unwrap_or(0);
            let offset = (self.parameters.len() as u64).next_multiple_of(layout.align.max(1));
            let bytes = match argument {
                KernelArgument::Bytes(bytes) => {
                    self.buffers.push(None);
                    bytes.clone()
                }
                KernelArgument::Buffer(buffer) => {
                    let address = next_buffer;
                    next_buffer += buffer.bytes.next_multiple_of(GAP).saturating_add(GAP);
                    self.buffers.push(Some(address));
                    let name = parameter.name.map_or("", |name| module.name(name));
                    self.named
                        .push(Named::new(name, address, buffer.bytes, None));
                    self.ranges.insert(address, address + buffer.bytes);
                    for (index, byte) in (0..buffer.bytes).zip(&buffer.initial) {
                        self.contents
                            .extend(byte.map(|byte| (address + index, byte)));
                    }
                    address.to_le_bytes().to_vec()
                }
            };
            if bytes.len() as u64 > size {
                return Err(KernelError(format!(
                    "an argument has {} bytes, but its parameter has {size}",
                    bytes.len()
                )));
            }
            let (offset, end) = (offset as usize, (offset + size) as usize);
            self.parameters.resize(end, 0);
            if let Some(slot) = self.parameters.get_mut(offset..offset + bytes.len()) {
                slot.copy_from_slice(&bytes);
            }
            self.bind(
                parameter.binding,
                Home {
                    space: StateSpace::Param,
                    address: offset as u64,
                },
            );
        }
        Ok(())
    }

    fn bind(&mut self, binding: Binding, home: Home) {
        match binding {
            Binding::Symbol(symbol) => {
                self.symbols.entry(symbol).or_insert(home);
            }
            Binding::Var(var) => {
                self.locals.entry(var).or_insert(home);
            }
            _ => {}
        }
    }

    fn add_declaration(
        &mut self,
        module: &Module,
        declarations: &Declarations,
        pool: &OperandPool,
        id: ptx_ir::DeclId,
    ) {
        let Some(declaration) = declarations.decls.get(id) else {
            return;
        };
        for declarator in declarations.declarators(id) {
            let Some(layout) = declaration.layout(declarator, pool) else {
                continue;
            };
            let (size, align) = (layout.size.unwrap_or(0), layout.align.max(1));
            match declaration.space.base() {
                StateSpace::Shared => {
                    let address = self.shared_bytes.next_multiple_of(align);
                    self.shared_bytes = address.saturating_add(size);
                    let space = StateSpace::Shared;
                    let name = module.name(declarator.name);
                    let named = Named::new(name, address, size, declaration.ty.known());
                    self.shared_named.push(named);
                    self.bind(declarator.binding, Home { space, address });
                }
                StateSpace::Local => {
                    let address = self.local_bytes.next_multiple_of(align);
                    self.local_bytes = address.saturating_add(size);
                    let space = StateSpace::Local;
                    self.bind(declarator.binding, Home { space, address });
                }
                StateSpace::Global | StateSpace::Const => {
                    let address = self.next_global.next_multiple_of(align.max(16));
                    self.next_global = address.saturating_add(size).saturating_add(16);
                    self.ranges.insert(address, address.saturating_add(size));
                    let name = module.name(declarator.name);
                    self.named
                        .push(Named::new(name, address, size, declaration.ty.known()));
                    self.initialize(declaration, declarator.init, pool, address, size);
                    let space = declaration.space.base();
                    self.bind(declarator.binding, Home { space, address });
                }
                _ => {}
            }
        }
    }

    /// Writes the initial value of a variable. Variables without one are zero.
    fn initialize(
        &mut self,
        declaration: &VarDecl,
        initial: Operand,
        pool: &OperandPool,
        address: u64,
        size: u64,
    ) {
        // Large variables are zero where they have no value.
        for index in 0..size.min(1 << 20) {
            self.contents.insert(address + index, 0);
        }
        let element = declaration
            .ty
            .known()
            .map_or(1, |ty| u64::from(ty.bits() / 8).max(1));
        let mut pending = vec![initial];
        let mut index = 0;
        while let Some(operand) = pending.pop() {
            if let Operand::Vector(list) = operand {
                pending.extend(pool.list(list).iter().rev());
                continue;
            }
            if let Some(value) = self.constant(declaration, operand, pool) {
                for (offset, byte) in (0..element).zip(value.to_le_bytes()) {
                    self.contents
                        .insert(address + index * element + offset, byte);
                }
            }
            index += 1;
        }
    }

    /// The bits of an operand of an initializer: a number, or the address of a variable.
    fn constant(&self, declaration: &VarDecl, operand: Operand, pool: &OperandPool) -> Option<u64> {
        match operand {
            Operand::Small(value) => Some(i64::from(value) as u64),
            Operand::Imm(id) => {
                let value = pool.immediate(id)?.value;
                let is_single = declaration.ty.known() == Some(ScalarType::F32);
                Some(match value.kind() {
                    ConstKind::Double if is_single => {
                        u64::from((f64::from_bits(value.bits()) as f32).to_bits())
                    }
                    _ => value.bits(),
                })
            }
            Operand::Generic(inner) => {
                let inner = pool.get(inner);
                let base = match inner {
                    Operand::Address(id) => pool.address(id)?.base,
                    operand => operand,
                };
                let window = match self.home(base)?.space {
                    StateSpace::Shared => SHARED_WINDOW,
                    _ => 0,
                };
                Some(
                    self.constant(declaration, inner, pool)?
                        .wrapping_add(window),
                )
            }
            Operand::Address(id) => {
                let address = pool.address(id)?;
                let base = self.constant(declaration, address.base, pool)?;
                Some(base.wrapping_add_signed(address.byte_offset(pool)?))
            }
            operand => Some(self.home(operand)?.address),
        }
    }

    /// The place of a variable that an operand names.
    pub(super) fn home(&self, operand: Operand) -> Option<Home> {
        match operand {
            Operand::Symbol(symbol) => self.symbols.get(&symbol).copied(),
            Operand::Var(var) => self.locals.get(&var).copied(),
            _ => None,
        }
    }

    /// The physical address of bytes in shared memory of a CTA.
    pub(super) fn shared(
        &self,
        launch: &KernelLaunch,
        cta: u32,
        address: u64,
        bytes: u32,
    ) -> Option<u64> {
        let (rank, offset) = (address / SHARED_STRIDE, address % SHARED_STRIDE);
        if offset.saturating_add(bytes.into()) > self.shared_bytes {
            return None;
        }
        let owner = match rank.checked_sub(1) {
            None => cta,
            Some(rank) => {
                if rank >= u64::from(launch.cluster) {
                    return None;
                }
                cta / launch.cluster * launch.cluster + rank as u32
            }
        };
        Some(SHARED + u64::from(owner) * SHARED_STRIDE + offset)
    }

    /// The CTA and the offset of a physical address in shared memory.
    pub(super) fn shared_offset(address: u64) -> Option<(u64, u64)> {
        let relative = address.checked_sub(SHARED)?;
        if address >= LOCAL {
            return None;
        }
        Some((relative / SHARED_STRIDE, relative % SHARED_STRIDE))
    }

    /// The physical address of bytes in local memory of a thread.
    pub(super) fn local(&self, thread: usize, address: u64, bytes: u32) -> Option<u64> {
        (address.saturating_add(bytes.into()) <= self.local_bytes.min(SHARED_STRIDE))
            .then(|| LOCAL + thread as u64 * SHARED_STRIDE + address)
    }

    /// Whether a physical address is in global memory.
    pub(super) fn is_in_global(address: u64) -> bool {
        address < SHARED
    }

    /// The physical addresses of global memory.
    pub(super) fn global_range() -> AddressRange {
        AddressRange {
            start: 0,
            last: SHARED - 1,
        }
    }

    /// The physical addresses of the shared memory of a CTA, or of all CTAs.
    pub(super) fn shared_range(cta: Option<u32>) -> AddressRange {
        match cta {
            Some(cta) => {
                let start = SHARED + u64::from(cta) * SHARED_STRIDE;
                AddressRange {
                    start,
                    last: start + SHARED_STRIDE - 1,
                }
            }
            None => AddressRange {
                start: SHARED,
                last: LOCAL - 1,
            },
        }
    }

    /// Whether all bytes are in one buffer or variable in global memory.
    pub(super) fn is_global(&self, address: u64, bytes: u32) -> bool {
        self.ranges
            .range(..=address)
            .next_back()
            .is_some_and(|(_, end)| address.saturating_add(bytes.into()) <= *end)
    }

    /// Replaces initial contents.
    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) {
        self.contents.extend((address..).zip(bytes.iter().copied()));
    }

    /// The initial contents of bytes.
    pub(super) fn initial(&self, address: u64, bytes: u32) -> Option<u128> {
        let mut result = 0;
        for index in 0..bytes.min(16) {
            let byte = *self.contents.get(&(address + u64::from(index)))?;
            result |= u128::from(byte) << (8 * index);
        }
        Some(result)
    }
}
