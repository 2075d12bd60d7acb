//! Loaded modules and their kernels.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ptx_ir::{Attribute, Module};
use ptx_vm::{KernelParameter, ModuleId};

use super::device_library::with_library;
use super::images::{self, LoadError};
use super::{Allocation, AllocationKind, Driver};
use crate::arena::LARGE_PAGE;
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// A loaded module. Modules and libraries of the API are both of this kind.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    pub(crate) id: ModuleId,
    pub(crate) module: Arc<Module>,
    /// The context that owns it.
    pub(crate) context: Raw,
    /// The most registers of a thread in kernels without a directive, if an option limits them.
    pub(crate) register_limit: Option<u32>,
    /// The kernels that the program asked for, by their names.
    kernels: HashMap<String, Raw>,
}

impl Kind for LoadedModule {
    const NUMBER: usize = 2;
}

/// A kernel of a loaded module. Functions and kernels of the API are both of this kind.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) module: Raw,
    pub(crate) id: ModuleId,
    /// The name of the kernel, and the same with a zero byte at the end.
    pub(crate) name: Arc<str>,
    pub(crate) c_name: std::ffi::CString,
    pub(crate) parameters: Vec<KernelParameter>,
    /// The bytes of its variables in shared memory.
    pub(crate) shared_bytes: u64,
    /// The bytes of the stack of a thread.
    pub(crate) stack_bytes: u64,
    /// The bytes of the variables of its module in constant memory.
    pub(crate) constant_bytes: u64,
    /// The threads that a block may have.
    pub(crate) block_threads: u64,
    /// An estimate of the registers of a thread, once it was asked for.
    pub(crate) registers: OnceCell<u32>,
    /// The dynamic shared memory that a launch may have at most.
    pub(crate) dynamic_shared_limit: u32,
    /// The attributes that the program set, by their numbers.
    pub(crate) attributes: HashMap<u32, i32>,
}

impl Kind for Kernel {
    const NUMBER: usize = 3;
}

/// The shared memory in bytes that a launch may have without an attribute that allows more.
pub(crate) const SHARED_WITHOUT_ATTRIBUTE: u32 = 48 << 10;

impl Driver {
    /// Loads code.
    pub(crate) fn load(&mut self, image: &[u8]) -> Outcome<Raw> {
        self.try_load(image, None).map_err(|error| {
            eprintln!("ptxkit: {error}");
            error.status
        })
    }

    /// Loads code, or returns the reason why that is impossible. The kernels have at most `register_limit` registers for a thread, except those with a directive.
    pub(crate) fn try_load(
        &mut self,
        image: &[u8],
        register_limit: Option<u32>,
    ) -> Result<Raw, LoadError> {
        let text = images::ptx_of(image, self.config.target)?;
        let mut module = images::compile(&text, self.config.target)?;
        if let Some(text) = with_library(&module, self.config.target)? {
            module = images::parse(&text, self.config.target)?;
        }
        self.load_module(module, register_limit)
    }

    /// Loads a module that was checked.
    fn load_module(
        &mut self,
        module: Module,
        register_limit: Option<u32>,
    ) -> Result<Raw, LoadError> {
        let context = self.owning_context();
        let module = Arc::new(module);
        let attributes = module.declarations().attributes();
        let is_managed = attributes.contains(&Attribute::Managed);
        let shared = SharedModule(Arc::clone(&module));
        let id = if is_managed {
            self.device.load_on_own_pages(shared, LARGE_PAGE)
        } else {
            self.device.load(shared)
        };
        let id = id.map_err(|error| LoadError::new(Status::OUT_OF_MEMORY, error.to_string()))?;
        let kind = if is_managed {
            AllocationKind::ManagedVariable
        } else {
            AllocationKind::Variable
        };
        for (_, address, bytes) in self.device.variables(id) {
            self.memory.insert(
                address,
                Allocation {
                    bytes,
                    kind,
                    context,
                    number: 0,
                    pages: None,
                },
            );
        }
        if let Some(range) = self.exposed_variables(id, is_managed) {
            let exposed = self.expose_variables(&range, true);
            exposed.map_err(|status| LoadError::new(status, "the variables cannot be mapped"))?;
        }
        Ok(self.modules.insert(LoadedModule {
            id,
            module,
            context,
            register_limit,
            kernels: HashMap::new(),
        }))
    }

    /// The pages with the variables of a module that has managed variables.
    fn exposed_variables(&self, id: ModuleId, is_managed: bool) -> Option<Range<u64>> {
        let variables = || self.device.variables(id).filter(|_| is_managed);
        let start = variables().map(|(_, address, _)| address).min()?;
        let end = variables()
            .map(|(_, address, bytes)| address + bytes)
            .max()?;
        Some(start / LARGE_PAGE * LARGE_PAGE..end.next_multiple_of(LARGE_PAGE))
    }

    /// Makes the variables of a module accessible for the program, or inaccessible.
    fn expose_variables(&mut self, pages: &Range<u64>, accessible: bool) -> Outcome<()> {
        let arena = &self.memory.arena;
        let exposed = arena.expose(pages.start, pages.end - pages.start, accessible);
        exposed.map_err(|_| Status::OUT_OF_MEMORY)
    }

    /// Unloads a module, with its kernels and variables.
    pub(crate) fn unload(&mut self, handle: Raw) -> Outcome<()> {
        let loaded = self.modules.remove(handle)?;
        let attributes = loaded.module.declarations().attributes();
        let is_managed = attributes.contains(&Attribute::Managed);
        if let Some(range) = self.exposed_variables(loaded.id, is_managed) {
            self.expose_variables(&range, false)?;
        }
        self.forget_references(handle);
        for (_, address, _) in self.device.variables(loaded.id) {
            self.memory.remove(address);
        }
        for kernel in loaded.kernels.values() {
            let _ = self.kernels.remove(*kernel);
        }
        self.device
            .unload(loaded.id)
            .map_err(|_| Status::INVALID_HANDLE)
    }

    /// The kernel of a module with a name.
    pub(crate) fn kernel(&mut self, module: Raw, name: &str) -> Outcome<Raw> {
        let loaded = self.modules.get_mut(module)?;
        if let Some(handle) = loaded.kernels.get(name) {
            return Ok(*handle);
        }
        let resources = self
            .device
            .kernel_resources(loaded.id, name)
            .ok_or(Status::NOT_FOUND)?;
        let handle = self.kernels.insert(Kernel {
            module,
            id: loaded.id,
            name: name.into(),
            c_name: std::ffi::CString::new(name).map_err(|_| Status::NOT_FOUND)?,
            parameters: resources.parameters,
            shared_bytes: resources.shared_bytes,
            stack_bytes: resources.stack_bytes,
            constant_bytes: resources.constant_bytes,
            block_threads: resources.block_threads.into(),
            registers: OnceCell::new(),
            dynamic_shared_limit: SHARED_WITHOUT_ATTRIBUTE
                .saturating_sub(resources.shared_bytes as u32),
            attributes: HashMap::new(),
        });
        loaded.kernels.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// The names of the kernels of a module.
    pub(crate) fn kernel_names(&self, module: Raw) -> Outcome<Vec<String>> {
        let loaded = self.modules.get(module)?;
        Ok(self.device.kernels(loaded.id).map(str::to_owned).collect())
    }

    /// The address and the size of a variable of a module.
    pub(crate) fn variable(&self, module: Raw, name: &str) -> Outcome<(u64, u64)> {
        let loaded = self.modules.get(module)?;
        self.device
            .variable(loaded.id, name)
            .ok_or(Status::NOT_FOUND)
    }
}

/// A module that the driver and the machine share.
struct SharedModule(Arc<Module>);

impl std::borrow::Borrow<Module> for SharedModule {
    fn borrow(&self) -> &Module {
        &self.0
    }
}
