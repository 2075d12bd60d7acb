//! Runs NVIDIA PTX without a GPU.
//!
//! A [`Device`] has memory, and modules are loaded into it; [`Device::launch`] runs a kernel. A [`Machine`] is a device with one module. The semantics of instructions come from the tables of
//! `ptx-isa` ([`ptx_isa::Form::computation`]); the lanes of a warp execute instructions together.
//!
//! ```
//! use ptx_vm::{Launch, Machine};
//!
//! let module = ptx_parse::parse_str(
//!     ".version 8.0\n.target sm_90\n.address_size 64\n
//!     .visible .entry twice(.param .u64 data)\n{\n
//!     .reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n
//!     ld.param.u64 %rd1, [data];\n
//!     mov.u32 %r1, %tid.x;\n
//!     mul.wide.u32 %rd2, %r1, 4;\n
//!     add.s64 %rd3, %rd1, %rd2;\n
//!     ld.global.u32 %r2, [%rd3];\n
//!     add.u32 %r2, %r2, %r2;\n
//!     st.global.u32 [%rd3], %r2;\n
//!     ret;\n}\n",
//! )
//! .into_result()?;
//! let mut machine = Machine::new(&module);
//! let data = machine.allocate(12).ok_or("no memory")?;
//! machine.write_slice(data, &[1u32, 2, 3])?;
//! let launch = Launch::new("twice").shape(1, 3).argument(data.to_le_bytes());
//! machine.launch(&launch)?;
//! assert_eq!(machine.read_slice::<u32>(data, 3)?, [2, 4, 6]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod account;
mod asynchrony;
mod check;
mod device;
mod diagnostic;
mod error;
mod execute;
mod executor;
mod lanes;
mod launch;
mod lower;
mod machine;
mod matrix;
mod memory;
mod profile;
mod program;
mod schedule;
mod shape;
mod structure;
mod tensor;
mod texture;
mod trace;

pub use asynchrony::{Asynchrony, UnknownAsynchrony};
pub use check::{Checker, Checks, Occurrence, Report, UnknownChecker};
pub use device::{Device, DeviceBuilder, KernelParameter, KernelResources, ModuleId, Snapshot};
pub use error::{RunError, StopReason, Wait};
pub use execute::performs;
pub use executor::{Executor, OneThread, Progress, RunOptions};
pub use launch::{Cooperative, Launch, LaunchLimits, Outcome, UnsupportedInstruction};
pub use machine::Machine;
pub use memory::{AddressSize, DeviceValue, HostPage, PAGE_BYTES, PageSource};
pub use profile::{InstructionProfile, MatrixProfile, MemoryProfile, Profile};
pub use ptx_analysis::Swizzle;
pub use schedule::{Schedule, UnknownSchedule};
pub use structure::StructArgument;
pub use tensor::{TensorElement, TensorFill, TensorInterleave, TensorMap, TensorMapError};
pub use texture::{
    AddressMode, Array, ArrayDescription, ArrayPart, ChannelType, ColorEncoding, Comparison,
    Coordinates, CubeEdges, Extent, FilterMode, ReadMode, Sampler, TexelBox, TexelFormat,
    TextureDescription, TextureError,
};
pub use trace::{
    AccessUse, ExecutedStep, RegisterValues, StepAccess, StepGrid, StepObserver, StepPlace,
    StepRegister, StepState,
};
