//! A kernel that an example makes, with all that is needed to run it.

use ptx_build::{BuildError, ModuleBuilder};

/// A text with one kernel, how it is launched, and with what.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The module.
    pub text: String,
    /// The kernel in it.
    pub name: &'static str,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
}

/// A parameter of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Parameter {
    /// `.u64`: the address of a buffer of that many elements.
    Buffer {
        /// Its name.
        name: String,
        /// What it holds.
        element: Element,
        /// How many.
        count: usize,
        /// Whether the kernel writes it.
        written: bool,
    },
    /// `.u32`
    U32(u32),
    /// `.f32`
    F32(f32),
    /// The 128 bytes of a tensor map: a matrix in a separate buffer, in tiles.
    Map {
        /// Its name.
        name: String,
        /// What it holds.
        element: Element,
        /// Elements in a row, and rows.
        size: [u64; 2],
        /// The same of a tile.
        tile: [u32; 2],
        /// Bytes of the swizzle.
        swizzle: u32,
    },
}

/// What a buffer holds.
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
        let (name, written) = (name.to_owned(), false);
        Self::Buffer {
            name,
            element,
            count,
            written,
        }
    }

    /// A buffer that is written, after being read perhaps.
    #[must_use]
    pub fn output(name: &str, element: Element, count: usize) -> Self {
        let (name, written) = (name.to_owned(), true);
        Self::Buffer {
            name,
            element,
            count,
            written,
        }
    }
}

impl Kernel {
    /// A kernel of a module that is finished with this: checked as a whole.
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
