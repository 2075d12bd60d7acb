//! A kernel that an example builds, with its launch: `tests/suite/kernels.rs` runs all of them.

use ptx_build::{BuildError, ModuleBuilder};

/// A module with a kernel, and a launch of the kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The text of the module.
    pub text: String,
    /// The name of the kernel.
    pub name: &'static str,
    /// The parameters of the kernel.
    pub parameters: Vec<Parameter>,
    /// The number of blocks in each dimension.
    pub grid: [u32; 3],
    /// The number of threads of a block in each dimension.
    pub block: [u32; 3],
}

/// A parameter of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Parameter {
    /// `.u64`: the address of a buffer in global memory.
    Buffer {
        /// The name of the parameter.
        name: String,
        /// The type of the elements.
        element: Element,
        /// The number of elements.
        count: usize,
        /// The kernel writes the buffer.
        is_output: bool,
    },
    /// `.u32`
    U32(u32),
    /// `.f32`
    F32(f32),
    /// The 128 bytes of a tensor map, which describes the tiles of a matrix in a separate buffer.
    Map {
        /// The name of the parameter.
        name: String,
        /// The type of the elements.
        element: Element,
        /// The number of elements in a row, and the number of rows.
        size: [u64; 2],
        /// The number of elements in a row of a tile, and the number of its rows.
        tile: [u32; 2],
        /// The width of the swizzle in bytes.
        swizzle: u32,
    },
}

/// The type of the elements of a buffer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Element {
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Integers of 32 bits.
    U32,
}

impl Parameter {
    /// A buffer that is only read.
    #[must_use]
    pub fn input(name: &str, element: Element, count: usize) -> Self {
        Self::Buffer {
            name: name.to_owned(),
            element,
            count,
            is_output: false,
        }
    }

    /// A buffer that the kernel writes, and may read before.
    #[must_use]
    pub fn output(name: &str, element: Element, count: usize) -> Self {
        Self::Buffer {
            name: name.to_owned(),
            element,
            count,
            is_output: true,
        }
    }
}

impl Kernel {
    /// Completes a module, and describes the launch of its kernel.
    ///
    /// # Errors
    ///
    /// The module is illegal.
    pub fn new(
        module: ModuleBuilder,
        name: &'static str,
        parameters: Vec<Parameter>,
        [grid, block]: [[u32; 3]; 2],
    ) -> Result<Self, BuildError> {
        let text = module.text();
        module.finish()?;
        Ok(Self {
            text,
            name,
            parameters,
            grid,
            block,
        })
    }
}
