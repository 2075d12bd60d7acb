//! Contexts: a module, its functions and its memory.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{
    CUcontext, CUfunction, CUfunction_attribute, CUlaunchAttributeID, CUlaunchConfig, CUmodule,
};
use ptx_ir::{FunctionKind, Module};
use ptx_vm::{Launch, Machine};

use crate::result::Failure;

/// The largest dynamic shared memory without permission.
const SHARED: u32 = 48 << 10;

/// The most CTAs of a cluster without permission.
const CLUSTER: u32 = 8;

/// The number of a context.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Context(usize);

/// The context that belongs to the device; it takes no module.
pub(crate) const PRIMARY: Context = Context(1);

/// The states of all contexts, and the context that was created last.
struct Contexts {
    states: BTreeMap<Context, State>,
    last: Context,
}

static CONTEXTS: Mutex<Contexts> = Mutex::new(Contexts {
    states: BTreeMap::new(),
    last: PRIMARY,
});

thread_local! {
    static CURRENT: Cell<Option<Context>> = const { Cell::new(None) };
}

/// The context of the current thread.
pub(crate) fn current() -> Option<Context> {
    CURRENT.get()
}

pub(crate) fn set_current(context: Option<Context>) {
    CURRENT.set(context);
}

fn contexts() -> MutexGuard<'static, Contexts> {
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    pub(crate) fn create() -> Self {
        let mut contexts = contexts();
        contexts.last = Self(contexts.last.0 + 1);
        let new = contexts.last;
        contexts.states.insert(new, State::default());
        new
    }

    pub(crate) fn destroy(self) -> Result<(), Failure> {
        let removed = contexts().states.remove(&self);
        if current() == Some(self) {
            set_current(None);
        }
        removed.map(drop).ok_or(Failure::INVALID_CONTEXT)
    }

    /// The context of a handle.
    pub(crate) fn of(handle: CUcontext) -> Result<Self, Failure> {
        let context = Self(handle.addr());
        let is_known = context == PRIMARY || contexts().states.contains_key(&context);
        is_known.then_some(context).ok_or(Failure::INVALID_CONTEXT)
    }

    pub(crate) fn handle(self) -> CUcontext {
        std::ptr::without_provenance_mut(self.0)
    }
}

/// Calls `run` with the state of the context of the current thread, unless a kernel failed in this context.
pub(crate) fn with<T>(run: impl FnOnce(&mut State) -> Result<T, Failure>) -> Result<T, Failure> {
    let context = current().ok_or(Failure::INVALID_CONTEXT)?;
    // The state is removed from the map meanwhile, so that other threads can use other contexts.
    let removed = contexts().states.remove(&context);
    let mut state = removed.ok_or(Failure::INVALID_CONTEXT)?;
    let result = if state.has_failed {
        Err(Failure::LAUNCH_FAILED)
    } else {
        run(&mut state)
    };
    contexts().states.insert(context, state);
    result
}

/// The state of a context.
#[derive(Default)]
pub(crate) struct State {
    module: Option<(Module, Machine<'static>)>,
    functions: Vec<Function>,
    /// A kernel has failed: all further calls fail.
    has_failed: bool,
}

/// A kernel.
pub(crate) struct Function {
    name: String,
    /// The offset and the size in bytes of each parameter.
    pub(crate) parameters: Vec<(usize, usize)>,
    /// The largest dynamic shared memory of a launch, in bytes.
    shared: u32,
    /// The most CTAs of a cluster of a launch.
    cluster: u32,
}

/// The only module of a context. Handles of functions follow.
const MODULE: usize = 1;

impl State {
    pub(crate) fn load(&mut self, text: &[u8]) -> Result<CUmodule, Failure> {
        if self.module.is_some() {
            return Err(Failure::OUT_OF_MEMORY);
        }
        let parsed = ptx_parse::parse(text);
        let module = parsed.into_result().map_err(|_| Failure::INVALID_PTX)?;
        self.module = Some((module.clone(), Machine::new(module)));
        Ok(std::ptr::without_provenance_mut(MODULE))
    }

    pub(crate) fn machine(&mut self, module: CUmodule) -> Result<&mut Machine<'static>, Failure> {
        if module.addr() != MODULE {
            return Err(Failure::INVALID_HANDLE);
        }
        self.memory()
    }

    /// The virtual machine of the context, which contains its memory.
    pub(crate) fn memory(&mut self) -> Result<&mut Machine<'static>, Failure> {
        let module = self.module.as_mut().ok_or(Failure::INVALID_CONTEXT)?;
        Ok(&mut module.1)
    }

    /// Adds the kernel with this name to the functions and returns its handle.
    pub(crate) fn function(&mut self, handle: CUmodule, name: &str) -> Result<CUfunction, Failure> {
        self.machine(handle)?;
        let (module, _) = self.module.as_ref().ok_or(Failure::INVALID_HANDLE)?;
        let (_, function, _) = module
            .definitions()
            .find(|(_, function, _)| {
                function.kind == FunctionKind::Entry && module.name(function.name) == name
            })
            .ok_or(Failure::NOT_FOUND)?;
        let mut end = 0usize;
        let mut parameters = Vec::new();
        for parameter in function.interface.params.of(module.params()) {
            let layout = parameter
                .layout(module.pool())
                .ok_or(Failure::INVALID_PTX)?;
            let size = layout.size.ok_or(Failure::INVALID_PTX)? as usize;
            let start = end.next_multiple_of(layout.align as usize);
            end = start + size;
            parameters.push((start, size));
        }
        self.functions.push(Function {
            name: name.to_owned(),
            parameters,
            shared: SHARED,
            cluster: CLUSTER,
        });
        Ok(std::ptr::without_provenance_mut(
            MODULE + self.functions.len(),
        ))
    }

    pub(crate) fn function_mut(&mut self, handle: CUfunction) -> Result<&mut Function, Failure> {
        handle
            .addr()
            .checked_sub(MODULE + 1)
            .and_then(|index| self.functions.get_mut(index))
            .ok_or(Failure::INVALID_HANDLE)
    }

    /// Runs a kernel to its end. A driver runs it asynchronously and reports a failure at the next use of the context.
    pub(crate) fn run(&mut self, launch: &Launch) -> Result<(), Failure> {
        match self.memory()?.launch(launch) {
            Ok(outcome) => print!("{}", String::from_utf8_lossy(&outcome.output)),
            Err(_) => self.has_failed = true,
        }
        Ok(())
    }
}

impl Function {
    pub(crate) fn set(
        &mut self,
        attribute: CUfunction_attribute,
        value: i32,
    ) -> Result<(), Failure> {
        use CUfunction_attribute as A;
        let value = u32::try_from(value).map_err(|_| Failure::INVALID_VALUE)?;
        match attribute {
            A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => self.shared = value,
            A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
                self.cluster = CLUSTER << value
            }
            _ => return Err(Failure::INVALID_VALUE),
        }
        Ok(())
    }

    /// The launch that the arguments of a call describe.
    ///
    /// # Safety
    ///
    /// There is a pointer for each parameter, to as many bytes as that has, and the configuration has as many attributes as it says.
    pub(crate) unsafe fn launch(
        &self,
        config: &CUlaunchConfig,
        arguments: *mut *mut c_void,
    ) -> Result<Launch, Failure> {
        let mut launch = Launch::new(&self.name);
        launch.grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        launch.block = [config.blockDimX, config.blockDimY, config.blockDimZ];
        launch.shared = config.sharedMemBytes;
        for index in 0..config.numAttrs as usize {
            // SAFETY: the index is less than the number of attributes.
            let attribute = unsafe { &*config.attrs.add(index) };
            match attribute.id {
                CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    // SAFETY: the value of this attribute has dimensions.
                    let dimensions = unsafe { attribute.value.clusterDim };
                    launch.cluster = [dimensions.x, dimensions.y, dimensions.z];
                }
                CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {}
                _ => return Err(Failure::INVALID_VALUE),
            }
        }
        let is_allowed = launch.shared <= self.shared
            && launch.cluster.iter().product::<u32>() <= self.cluster
            && launch.grid.iter().chain(&launch.block).all(|n| *n > 0);
        if !is_allowed {
            return Err(Failure::INVALID_VALUE);
        }
        for (index, (_, size)) in self.parameters.iter().enumerate() {
            // SAFETY: there is a pointer for each parameter, to the bytes of its size.
            let argument = unsafe { (*arguments.add(index)).cast::<u8>() };
            // SAFETY: see above.
            let bytes = unsafe { std::slice::from_raw_parts(argument, *size) };
            launch.arguments.push(bytes.to_vec());
        }
        Ok(launch)
    }
}
