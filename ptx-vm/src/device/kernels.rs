//! The kernels of loaded modules: their names, their parameters, and the memory that they need.

use ptx_ir::FunctionKind;

use super::{Device, ModuleId};
use crate::shape;

/// The place of a parameter among the bytes of all parameters of a kernel.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelParameter {
    /// The offset of its first byte.
    pub offset: u64,
    /// The number of its bytes.
    pub bytes: u64,
}

/// The parameters of a kernel and the memory that it needs, apart from that which a launch adds.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KernelResources {
    /// The parameters, in the order of the declaration.
    pub parameters: Vec<KernelParameter>,
    /// The bytes of variables in shared memory.
    pub shared_bytes: u64,
    /// The bytes of the stack of a thread, without the functions that the kernel calls.
    pub stack_bytes: u64,
    /// The bytes of the variables of the module in constant memory.
    pub constant_bytes: u64,
    /// The threads that a CTA may have, as the kernel declares (`.reqntid`, `.maxntid`); else 1024.
    pub block_threads: u32,
}

impl Device<'_> {
    /// The names of the kernels of a module.
    pub fn kernels(&self, module: ModuleId) -> impl Iterator<Item = &str> {
        let module = self.module(module).into_iter();
        module.flat_map(|module| {
            let functions = module.functions().iter();
            functions
                .filter(|(_, f)| f.kind == FunctionKind::Entry && f.body.is_some())
                .map(|(_, f)| module.name(f.name))
        })
    }

    /// The parameters of a kernel of a module, and the memory that it needs.
    ///
    /// ```
    /// let module = ptx_parse::parse_str(
    ///     ".version 8.0\n.target sm_90\n.address_size 64\n
    ///     .visible .entry copy(.param .u32 count, .param .u64 data)\n{\n
    ///     .shared .align 4 .b8 tile[256];\n
    ///     ret;\n}\n",
    /// )
    /// .into_result()?;
    /// let mut device = ptx_vm::Device::new();
    /// let id = device.load(&module)?;
    /// let resources = device.kernel_resources(id, "copy").ok_or("no kernel")?;
    /// assert_eq!(resources.shared_bytes, 256);
    /// assert_eq!(resources.parameters[1].offset, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn kernel_resources(&self, module: ModuleId, kernel: &str) -> Option<KernelResources> {
        let loaded = self.state.modules.get(&module.number())?;
        let id = loaded.module().function(kernel)?;
        let function = loaded.program.function(id).filter(|f| f.is_entry)?;
        let parameters = function.frame.parameters.iter();
        Some(KernelResources {
            parameters: parameters
                .map(|parameter| KernelParameter {
                    offset: parameter.offset(),
                    bytes: parameter.bytes,
                })
                .collect(),
            shared_bytes: loaded.program.variables.shared.needed(id, 0),
            stack_bytes: function.frame.bytes,
            constant_bytes: loaded.program.variables.constant_bytes,
            block_threads: shape::block_threads(loaded.module(), id),
        })
    }
}
