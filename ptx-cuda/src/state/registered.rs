//! Code that a program registers before `main`: its functions and variables are known by addresses on the host, and its code is loaded when they are first used.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Driver;
use super::images::{self, LoadError};
use super::linkers::linked;
use crate::caller;
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// A function or a variable of registered code.
#[derive(Clone, Debug)]
struct Symbol {
    /// The index of the code that contains it.
    code: usize,
    /// The name in PTX.
    name: Box<str>,
    /// The kernel of a function that was used: in which context, and its handle.
    kernel: Option<(Raw, Raw)>,
}

/// A variable that the program and kernels access at the same address.
#[derive(Clone, Debug)]
struct ManagedVariable {
    code: usize,
    name: Box<str>,
    /// The address of the program's pointer to the variable.
    pointer: usize,
}

/// Code that a program registered.
#[derive(Debug, Default)]
struct Code {
    /// Fatbins, whose PTX is linked if there are several.
    images: Vec<&'static [u8]>,
    /// The module in each context that used the code.
    modules: HashMap<Raw, Raw>,
    /// Why the code cannot be loaded. The reason was printed.
    failed: Option<Status>,
}

/// All registered code. It exists before the driver is initialized, and a process that was forked has it, too.
#[derive(Debug, Default)]
struct Registry {
    code: Vec<Code>,
    /// Functions by their addresses on the host.
    functions: HashMap<usize, Symbol>,
    /// Variables by their addresses on the host.
    variables: HashMap<usize, Symbol>,
    managed: Vec<ManagedVariable>,
}

impl Registry {
    /// The code and the name of a variable. A managed variable is also known by the address that its pointer contains, which is what programs pass.
    fn variable(&self, address: usize) -> Option<(usize, Box<str>)> {
        if let Some(symbol) = self.variables.get(&address) {
            return Some((symbol.code, symbol.name.clone()));
        }
        let mut managed = self.managed.iter();
        let variable = managed.find(|variable| {
            address != 0 && caller::read(variable.pointer as *const usize) == Ok(address)
        })?;
        Some((variable.code, variable.name.clone()))
    }
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

/// Uses the registry. Functions that use both lock the driver first.
fn with_registry<T>(function: impl FnOnce(&mut Registry) -> T) -> T {
    let mut guard: MutexGuard<'_, Option<Registry>> =
        REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    function(guard.get_or_insert_default())
}

/// The distance between the numbers that the program gets for registered code, which it takes for pointers.
const CODE_STEP: usize = 16;

/// The index of registered code from the number that the program got.
const fn code_index(number: usize) -> usize {
    (number / CODE_STEP).wrapping_sub(1)
}

/// Registers fatbins that are linked with each other, and returns the number of this code.
pub(crate) fn register_code(images: Vec<&'static [u8]>) -> usize {
    with_registry(|registry| {
        registry.code.push(Code {
            images,
            ..Code::default()
        });
        registry.code.len() * CODE_STEP
    })
}

/// Registers a kernel with the address of its function on the host.
pub(crate) fn register_function(code: usize, address: usize, name: &str) {
    let symbol = Symbol {
        code: code_index(code),
        name: name.into(),
        kernel: None,
    };
    with_registry(|registry| registry.functions.insert(address, symbol));
}

/// Registers a variable with its address on the host.
pub(crate) fn register_variable(code: usize, address: usize, name: &str) {
    let symbol = Symbol {
        code: code_index(code),
        name: name.into(),
        kernel: None,
    };
    with_registry(|registry| registry.variables.insert(address, symbol));
}

/// Registers a managed variable. The pointer at an address on the host is set when the code is loaded.
pub(crate) fn register_managed(code: usize, pointer: usize, name: &str) {
    register_variable(code, pointer, name);
    with_registry(|registry| {
        registry.managed.push(ManagedVariable {
            code: code_index(code),
            name: name.into(),
            pointer,
        });
    });
}

/// Whether a function is registered.
pub(crate) fn is_registered(function: usize) -> bool {
    with_registry(|registry| registry.functions.contains_key(&function))
}

/// Removes code and all that is registered with it, and returns its modules.
fn unregister(number: usize) -> Vec<Raw> {
    let index = code_index(number);
    with_registry(|registry| {
        registry.functions.retain(|_, symbol| symbol.code != index);
        registry.variables.retain(|_, symbol| symbol.code != index);
        registry.managed.retain(|variable| variable.code != index);
        let code = registry.code.get_mut(index).map(std::mem::take);
        code.map_or_else(Vec::new, |code| code.modules.into_values().collect())
    })
}

impl Driver {
    /// Removes registered code and unloads its modules.
    pub(crate) fn unregister_code(&mut self, number: usize) {
        self.flush_output();
        for module in unregister(number) {
            // A module ends with its context, too.
            let _ = self.unload(module);
        }
    }

    /// The kernel of a registered function in the current context, whose code is loaded at the first use.
    pub(crate) fn registered_kernel(&mut self, function: usize) -> Outcome<Raw> {
        let unknown = Status::INVALID_DEVICE_FUNCTION;
        let context = self.current_context()?;
        let loaded_kernel = with_registry(|registry| {
            let symbol = registry.functions.get(&function).ok_or(unknown)?;
            Ok(symbol.kernel)
        })?;
        if let Some((owner, kernel)) = loaded_kernel
            && owner == context
            && self.kernels.get(kernel).is_ok()
        {
            return Ok(kernel);
        }
        let symbol = with_registry(|registry| registry.functions.get(&function).cloned());
        let Symbol { code, name, .. } = symbol.ok_or(unknown)?;
        let module = self.registered_module(code)?;
        let kernel = self.kernel(module, &name).map_err(|_| unknown)?;
        with_registry(|registry| {
            if let Some(symbol) = registry.functions.get_mut(&function) {
                symbol.kernel = Some((context, kernel));
            }
        });
        Ok(kernel)
    }

    /// The address and the size of a registered variable in the current context.
    pub(crate) fn registered_variable(&mut self, variable: usize) -> Outcome<(u64, u64)> {
        let unknown = Status::INVALID_SYMBOL;
        let (code, name) = with_registry(|registry| registry.variable(variable)).ok_or(unknown)?;
        let module = self.registered_module(code)?;
        self.variable(module, &name).map_err(|_| unknown)
    }

    /// Loads registered code into the current context, so that its managed variables can be used.
    pub(crate) fn load_registered_code(&mut self, number: usize) -> Outcome<()> {
        self.registered_module(code_index(number)).map(|_| ())
    }

    /// The module of registered code in the current context, which is loaded if it is not.
    fn registered_module(&mut self, index: usize) -> Outcome<Raw> {
        let context = self.current_context()?;
        let (images, module) = with_registry(|registry| {
            let code = registry.code.get(index).ok_or(Status::INVALID_VALUE)?;
            code.failed.map_or(Ok(()), Err)?;
            Ok((code.images.clone(), code.modules.get(&context).copied()))
        })?;
        if let Some(module) = module
            && self.modules.get(module).is_ok()
        {
            return Ok(module);
        }
        let loaded = self.load_images(&images);
        let (result, managed) = with_registry(|registry| {
            let Some(code) = registry.code.get_mut(index) else {
                return (Err(Status::INVALID_VALUE), Vec::new());
            };
            match loaded {
                Ok(module) => {
                    code.modules.insert(context, module);
                    let variables = registry.managed.iter();
                    let of_code = variables.filter(|variable| variable.code == index);
                    (Ok(module), of_code.cloned().collect())
                }
                Err(error) => {
                    eprintln!("ptxkit: {error}");
                    code.failed = Some(error.status);
                    (Err(error.status), Vec::new())
                }
            }
        });
        let module = result?;
        for variable in managed {
            let (address, _) = self.variable(module, &variable.name)?;
            caller::put(&address.to_ne_bytes(), variable.pointer);
        }
        Ok(module)
    }

    /// Loads the PTX of fatbins as one module.
    fn load_images(&mut self, images: &[&[u8]]) -> Result<Raw, LoadError> {
        let target = self.config.target;
        let mut texts = Vec::new();
        let mut skipped = None;
        for image in images {
            match images::ptx_of(image, target) {
                Ok(text) => texts.push(text),
                Err(error) => skipped = skipped.or(Some(error)),
            }
        }
        match (&texts[..], skipped) {
            ([], Some(error)) => Err(error),
            ([only], _) => self.try_load(only, None),
            // A part without PTX may contain nothing that the program uses, such as the library for launches by kernels.
            (several, skipped) => match (linked(several, target), skipped) {
                (Ok(text), _) => self.try_load(&text, None),
                (Err(error), Some(reason)) => Err(LoadError::new(
                    error.status,
                    format!(
                        "{}\nA part was not linked: {}",
                        error.message, reason.message
                    ),
                )),
                (Err(error), None) => Err(error),
            },
        }
    }
}
