//! The modules of a device.

use core::borrow::Borrow;
use core::fmt;
use core::ops::Range;
use std::sync::{Arc, OnceLock};

use ptx_ir::Module;

use super::Device;
use crate::check::{Objects, Owner, Sites};
use crate::error::RunError;
use crate::execute;
use crate::launch::UnsupportedInstruction;
use crate::memory::AddressSize;
use crate::program::{CODE_BYTES, Placement, Program};

/// A module that is loaded into a device.
///
/// Another device may use the same identifier for another module. A device does not use it again after the module was unloaded, except after
/// [`Device::restore`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleId(u64);

impl ModuleId {
    /// The number of the module among all that the device loaded.
    pub(super) const fn number(self) -> u64 {
        self.0
    }
}

/// A module, borrowed, owned or shared.
pub(super) type AnyModule<'m> = Box<dyn Borrow<Module> + Send + Sync + 'm>;

/// A loaded module.
pub(super) struct LoadedModule<'m> {
    module: AnyModule<'m>,
    pub(super) program: Program,
    /// The reason why nothing of the module can be launched.
    fault: Option<&'static str>,
    /// The facts about instructions that checkers need, without and with registers.
    pub(super) sites: [OnceLock<Arc<Sites>>; 2],
    /// The variables that instructions access.
    pub(super) objects: OnceLock<Arc<Objects>>,
    /// The addresses that were allocated for the variables in `.global` and `.const`.
    memory: Range<u64>,
}

impl LoadedModule<'_> {
    pub(super) fn module(&self) -> &Module {
        (*self.module).borrow()
    }
}

impl fmt::Debug for LoadedModule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedModule")
            .field("module", self.module())
            .finish_non_exhaustive()
    }
}

impl AddressSize {
    /// The size of the addresses of a module. A module without `.address_size` has 32 bits.
    #[must_use]
    pub fn of(module: &Module) -> Self {
        match module.header().address_size {
            Some(64) => Self::Bits64,
            _ => Self::Bits32,
        }
    }
}

impl<'m> Device<'m> {
    /// Loads a module, borrowed, owned or shared as `Arc<Module>`: decodes its functions, allocates and initializes its variables. Linear. A module without `.address_size`
    /// has the addresses of the device.
    ///
    /// The module should be accepted by `ptx-verify`. A launch that executes an unknown instruction ends with an error. Modules that refer to each other are linked first, by
    /// `ptx_transform::link`: the driver links only modules that a program passes to it together, too.
    ///
    /// # Errors
    ///
    /// If the addresses of the module have another size than those of the device, or there is not enough memory for its variables.
    pub fn load(
        &mut self,
        module: impl Borrow<Module> + Send + Sync + 'm,
    ) -> Result<ModuleId, RunError> {
        self.load_with_alignment(module, 1)
    }

    /// Loads a module like [`load`](Self::load), with the variables on pages of `page_bytes` bytes, a power of two, that contain nothing else: a host that shares its memory with
    /// the device makes them accessible for a program, as managed variables are.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load).
    pub fn load_on_own_pages(
        &mut self,
        module: impl Borrow<Module> + Send + Sync + 'm,
        page_bytes: u64,
    ) -> Result<ModuleId, RunError> {
        self.load_with_alignment(module, page_bytes)
    }

    fn load_with_alignment(
        &mut self,
        module: impl Borrow<Module> + Send + Sync + 'm,
        alignment: u64,
    ) -> Result<ModuleId, RunError> {
        let id = self.insert(Box::new(module), alignment);
        match self.loaded(id) {
            Ok(_) => Ok(id),
            Err(error) => {
                self.remove(id);
                Err(error)
            }
        }
    }

    /// Loads a module; if that is impossible, its launches fail. The address and the size of the memory of its variables are multiples of `alignment`, a power of two.
    pub(crate) fn insert(&mut self, module: AnyModule<'m>, alignment: u64) -> ModuleId {
        let mut allocated = 0..0;
        let (memory, state) = (&mut self.memory, &mut self.state);
        let ir: &Module = (*module).borrow();
        let placement = Placement {
            code: state.next_code,
            allocate: &mut |bytes, align| {
                let rounded = bytes.checked_next_multiple_of(alignment)?;
                let start = memory.allocate(rounded, align.max(alignment))?;
                allocated = start..start + rounded;
                Some(start)
            },
        };
        let program = Program::new(ir, placement);
        state.next_code += CODE_BYTES * (ir.functions().len() as u64 + 1);
        let states_size = ir.header().address_size.is_some();
        let fault = if states_size && AddressSize::of(ir) != memory.address_size() {
            Some("the addresses of the module have another size than those of the device")
        } else if program.variables.range.is_none() {
            Some("there is not enough memory for the variables")
        } else {
            None
        };
        for initial in &program.variables.initial {
            let _ = memory.write_bytes(initial.address, &initial.bytes);
        }
        for (name, start, end) in &program.variables.ranges {
            let owner = Owner::Variable(name.clone());
            state.allocations.insert(*start, end - start, owner);
        }
        state.textures.declare_module(ir, &program.variables);
        let loaded = LoadedModule {
            module,
            program,
            fault,
            sites: Default::default(),
            objects: OnceLock::new(),
            memory: allocated.clone(),
        };
        // A variable without an initial value is zero.
        state
            .written
            .insert(allocated.start, allocated.end - allocated.start);
        let id = ModuleId(state.next_module);
        state.next_module += 1;
        state.modules.insert(id.0, Arc::new(loaded));
        id
    }

    /// Unloads a module. Later allocations and modules may use the memory of its variables; the addresses of its functions are not used again.
    ///
    /// # Errors
    ///
    /// If the module is not loaded.
    pub fn unload(&mut self, module: ModuleId) -> Result<(), RunError> {
        if self.remove(module) {
            Ok(())
        } else {
            Err(not_loaded())
        }
    }

    /// Removes a module; false if it is not loaded.
    fn remove(&mut self, module: ModuleId) -> bool {
        let Some(loaded) = self.state.modules.remove(&module.0) else {
            return false;
        };
        let range = loaded.memory.clone();
        for (_, start, end) in &loaded.program.variables.ranges {
            self.state.allocations.remove(*start);
            self.state.textures.remove_variables(*start..*end);
        }
        if !range.is_empty() {
            self.memory.free(range.start, range.end - range.start);
        }
        true
    }

    /// A module whose kernels can be launched.
    pub(super) fn loaded(&self, module: ModuleId) -> Result<Arc<LoadedModule<'m>>, RunError> {
        let loaded = self.state.modules.get(&module.0).ok_or_else(not_loaded)?;
        match loaded.fault {
            Some(fault) => Err(RunError::impossible(fault)),
            None => Ok(Arc::clone(loaded)),
        }
    }
}

/// The error of the use of a module that is not loaded.
fn not_loaded() -> RunError {
    RunError::impossible("the module is not loaded")
}

impl Device<'_> {
    /// A loaded module.
    #[must_use]
    pub fn module(&self, module: ModuleId) -> Option<&Module> {
        Some(self.state.modules.get(&module.0)?.module())
    }

    /// The address of a variable of a module in `.global` or `.const`, and its size in bytes.
    #[must_use]
    pub fn variable(&self, module: ModuleId, name: &str) -> Option<(u64, u64)> {
        let loaded = self.state.modules.get(&module.0)?;
        let mut ranges = loaded.program.variables.ranges.iter();
        let (_, start, end) = ranges.find(|(n, ..)| **n == *name)?;
        Some((*start, end - start))
    }

    /// The variables of a module in `.global` and `.const`: the name, the address and the size in bytes of each.
    pub fn variables(&self, module: ModuleId) -> impl Iterator<Item = (&str, u64, u64)> {
        let loaded = self.state.modules.get(&module.0).into_iter();
        let ranges = loaded.flat_map(|loaded| &loaded.program.variables.ranges);
        ranges.map(|(name, start, end)| (&**name, *start, end - start))
    }

    /// The instructions of a module that the machine does not support, in the order of the text. A run that reaches one of them ends with
    /// [`StopReason::Unsupported`](crate::StopReason::Unsupported).
    pub fn unsupported(&self, module: ModuleId) -> impl Iterator<Item = UnsupportedInstruction> {
        let loaded = self.state.modules.get(&module.0).into_iter();
        loaded.flat_map(|loaded| {
            let functions = loaded.module().functions().iter();
            functions.flat_map(|(function, _)| {
                let decoded = loaded.program.function(function);
                let steps = decoded.map_or(&[][..], |decoded| &decoded.steps);
                steps.iter().filter_map(move |target| {
                    Some(UnsupportedInstruction {
                        function,
                        instruction: target.inst,
                        reason: execute::unsupported(&target.step)?,
                    })
                })
            })
        })
    }
}
