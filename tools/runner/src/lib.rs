//! Runs launches on a GPU, if the machine has one, and on the virtual machine, to compare their results.
//!
//! ```
//! use ptx_vm::Launch;
//! use runner::{Device, VirtualMachine};
//!
//! let gpu = runner::gpu()?; // without one, a message was printed
//! let device = gpu.as_deref().unwrap_or(&VirtualMachine);
//! let text = ".version 8.0\n.target sm_80\n.address_size 64\n
//!     .visible .entry k(.param .u64 p) { .reg .b64 p0; ld.param.u64 p0, [p]; st.global.u32 [p0], 7; ret; }";
//! let mut module = device.load(text)?;
//! let buffer = module.allocate(4)?;
//! module.launch(&Launch::new("k").argument(buffer.to_le_bytes()))?;
//! assert_eq!(module.read(buffer, 4)?, 7u32.to_le_bytes());
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod approximations;
mod device;
#[cfg(feature = "cuda")]
mod gpu;
mod machine;
#[cfg(feature = "cuda")]
mod tensor;
mod version;

pub use device::{Device, Loaded};
#[cfg(feature = "cuda")]
pub use gpu::Gpu;
pub use machine::VirtualMachine;
#[cfg(feature = "cuda")]
pub use tensor::{Element, Tensor};
pub use version::Abilities;

/// The first GPU. Without one, or without the feature `cuda`, prints a line on standard error and returns `None`.
///
/// # Errors
///
/// Fails if the driver does not describe the GPU.
pub fn gpu() -> anyhow::Result<Option<Box<dyn Device>>> {
    #[cfg(feature = "cuda")]
    return Ok(Gpu::find()?.map(|gpu| Box::new(gpu) as Box<dyn Device>));
    #[cfg(not(feature = "cuda"))]
    {
        eprintln!("!!! NO GPU: built without the feature `cuda`, NOTHING WAS RUN ON A GPU !!!");
        Ok(None)
    }
}
