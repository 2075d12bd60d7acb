//! Owners of handles, and the error of a handle that is used in another function or module.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::declared::{LabelInfo, Local, Registers};
use crate::error::{BuildError, BuildErrorKind};
use crate::handle::{CodeLabel, Func, Reg, RegRange, Variable};

/// A handle as it was given.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Handle {
    Reg(Reg),
    Range(RegRange),
    Var(Variable),
    Label(CodeLabel),
    Func(Func),
}

impl Handle {
    fn noun(self) -> &'static str {
        match self {
            Self::Reg(_) => "register",
            Self::Range(_) => "range of registers",
            Self::Var(_) => "variable",
            Self::Label(_) => "label",
            Self::Func(_) => "function",
        }
    }

    fn owner(self) -> (u32, usize) {
        let (owner, index) = match self {
            Self::Reg(h) => (h.owner, h.index),
            Self::Range(h) => (h.owner, h.index),
            Self::Var(h) => (h.owner, h.index),
            Self::Label(h) => (h.owner, h.index),
            Self::Func(h) => (h.owner, h.index),
        };
        (owner, index as usize)
    }

    fn help(self) -> &'static str {
        match self {
            Self::Reg(_) | Self::Range(_) => {
                "a register is of the function that made it: make one here, and pass the value as an argument or through memory"
            }
            Self::Var(_) => {
                "parameters and local variables are of their function: what several functions share is declared by `ModuleBuilder::declare`, in their module"
            }
            Self::Label(_) => {
                "a label is of the function that made it: make one here with `label`, and jump to other functions by calling them"
            }
            Self::Func(_) => {
                "declare the function in this module too: `declare_func` with `Linkage::Extern`"
            }
        }
    }
}

/// The names of a function; those of one that is being made are in its own body.
#[derive(Default, Debug)]
pub(crate) struct Names {
    pub(crate) function: String,
    pub(crate) registers: Registers,
    pub(crate) locals: Vec<Local>,
    pub(crate) labels: Vec<LabelInfo>,
}

impl Names {
    fn name(&self, handle: Handle, index: usize) -> Option<String> {
        match handle {
            Handle::Reg(reg) => Some(self.registers.name(reg.index)),
            Handle::Var(_) => Some(self.locals.get(index)?.name.clone()),
            Handle::Label(_) => Some(self.labels.get(index)?.name.clone()),
            Handle::Range(_) | Handle::Func(_) => None,
        }
    }
}

/// The functions of a module that were begun, in the order of their numbers.
#[derive(Default, Debug)]
pub(crate) struct HandleOwners(Vec<(u32, Names)>);

impl HandleOwners {
    /// A function is begun.
    pub(crate) fn begin(&mut self, owner: u32, function: &str) {
        let function = function.to_string();
        let names = Names {
            function,
            ..Names::default()
        };
        self.0.push((owner, names));
    }

    fn find(&self, owner: u32) -> Option<usize> {
        self.0.binary_search_by_key(&owner, |(o, _)| *o).ok()
    }

    /// A function is finished, or abandoned: its names are kept for later mistakes.
    pub(crate) fn end(&mut self, owner: u32, names: Names) {
        let entry = self.find(owner).and_then(|i| self.0.get_mut(i));
        if let Some((_, entry)) = entry {
            *entry = names;
        }
    }

    /// The error for a handle of another function or module than the one that uses it.
    #[cold]
    pub(crate) fn refuse(&self, handle: Handle, place: Option<&str>) -> BuildError {
        let (owner, index) = handle.owner();
        let noun = handle.noun();
        let description = match self.find(owner).and_then(|i| self.0.get(i)) {
            Some((_, names)) => {
                let name = names
                    .name(handle, index)
                    .map_or(String::new(), |n| format!(" `{n}`"));
                format!("the {noun}{name} of `{}`", names.function)
            }
            None => format!("a {noun} of another module"),
        };
        let place = place.map_or("the module".to_string(), |p| format!("`{p}`"));
        let message = format!("{description} is used in {place}, where it does not belong");
        BuildError::new(BuildErrorKind::Foreign, message, handle.help())
    }
}

/// Every function and every module has a separate number, which its handles hold.
pub(crate) fn next_owner() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
