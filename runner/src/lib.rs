//! Runs kernels on a GPU, if the machine has one, to compare what they compute. Needs the feature `cuda`.
#![cfg(feature = "cuda")]

mod tensor;

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr as _, LaunchConfig, PushKernelArg as _, sys,
};
use cudarc::nvrtc::Ptx;

pub use tensor::{Element, Tensor};

/// A GPU and its driver.
///
/// ```
/// use runner::{Argument, Gpu, Launch};
/// let Some(gpu) = Gpu::find()? else { return Ok(()) }; // a message was printed
/// let text = ".version 8.0 .target sm_80 .address_size 64
///     .visible .entry k(.param .u64 p) { .reg .b64 p0; ld.param.u64 p0, [p]; st.global.u32 [p0], 7; ret; }";
/// let buffers = gpu.run(text, "k", Launch::threads(1, 1), &[Argument::Buffer(vec![0; 4])])?;
/// assert_eq!(buffers[0], 7u32.to_ne_bytes());
/// # Ok::<(), anyhow::Error>(())
/// ```
pub struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// What a kernel is given for one of its parameters.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The address of a buffer with this content, which comes back.
    Buffer(Vec<u8>),
    /// A `.u32`, `.s32` or `.b32`.
    U32(u32),
    /// A `.u64`, `.s64` or `.b64`.
    U64(u64),
    /// An `.f32`.
    F32(f32),
    /// A tensor map of a new buffer with these contents.
    Tensor(Vec<u8>, Tensor),
}

/// How many blocks and threads.
#[derive(Copy, Clone, Debug)]
pub struct Launch {
    /// Blocks in a grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

impl Launch {
    /// A row of blocks of a row of threads.
    pub const fn threads(blocks: u32, threads: u32) -> Self {
        Self {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            shared: 0,
        }
    }
}

/// An argument where the device can have it.
enum Held {
    Buffer(CudaSlice<u8>),
    U32(u32),
    U64(u64),
    F32(f32),
    /// The buffer lives as long as the map.
    Map(tensor::Map, #[allow(dead_code)] CudaSlice<u8>),
}

impl Gpu {
    /// The first GPU. Without one, a loud line on standard error and `None`.
    pub fn find() -> Result<Option<Self>> {
        // SAFETY: looks for the library of the driver and loads it, no more.
        let driver = unsafe { sys::is_culib_present() };
        if !driver {
            eprintln!("!!! NO GPU: no CUDA driver on this machine, NOTHING WAS RUN !!!");
            return Ok(None);
        }
        let context = match CudaContext::new(0) {
            Ok(context) => context,
            Err(error) => {
                eprintln!("!!! NO GPU: {error}, NOTHING WAS RUN !!!");
                return Ok(None);
            }
        };
        let stream = context.default_stream();
        Ok(Some(Self { context, stream }))
    }

    /// Its compute capability: 90 for an H100.
    pub fn capability(&self) -> Result<u32> {
        let (major, minor) = self.context.compute_capability()?;
        Ok(u32::try_from(major * 10 + minor)?)
    }

    /// Its name.
    pub fn name(&self) -> Result<String> {
        Ok(self.context.name()?)
    }

    /// Has the driver assemble a text, launches one of its kernels and waits. Gives the buffers as the kernel left them, in
    /// the order of the arguments. The kernel has to keep to the arguments' types, and to the buffers: a wrong access ends
    /// the context, and all later runs fail.
    pub fn run(
        &self,
        text: &str,
        kernel: &str,
        launch: Launch,
        arguments: &[Argument],
    ) -> Result<Vec<Vec<u8>>> {
        if text.contains('\0') || kernel.contains('\0') {
            bail!("the driver takes no text with a zero byte");
        }
        let module = self.context.load_module(Ptx::from_src(text));
        let module = module.context("the driver does not assemble the text")?;
        let function = module.load_function(kernel);
        let function = function.with_context(|| format!("no kernel `{kernel}`"))?;
        if launch.shared > 48 << 10 {
            let dynamic =
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(dynamic, i32::try_from(launch.shared)?)?;
        }
        let held = self.hold(arguments)?;
        let mut builder = self.stream.launch_builder(&function);
        for argument in &held {
            match argument {
                Held::Buffer(buffer) => builder.arg(buffer),
                Held::U32(value) => builder.arg(value),
                Held::U64(value) => builder.arg(value),
                Held::F32(value) => builder.arg(value),
                Held::Map(map, _) => builder.arg(map),
            };
        }
        let [gx, gy, gz] = launch.grid;
        let [bx, by, bz] = launch.block;
        let shape = LaunchConfig {
            grid_dim: (gx, gy, gz),
            block_dim: (bx, by, bz),
            shared_mem_bytes: launch.shared,
        };
        // SAFETY: the caller's kernel takes these arguments and stays within the buffers, which live until the copies below.
        unsafe { builder.launch(shape) }?;
        self.stream.synchronize()?;
        let buffers = held.iter().filter_map(|h| match h {
            Held::Buffer(buffer) => Some(buffer),
            _ => None,
        });
        buffers
            .map(|buffer| Ok(self.stream.clone_dtoh(buffer)?))
            .collect()
    }

    fn hold(&self, arguments: &[Argument]) -> Result<Vec<Held>> {
        let mut held = Vec::new();
        for argument in arguments {
            held.push(match argument {
                Argument::Buffer(bytes) => Held::Buffer(self.stream.clone_htod(bytes)?),
                Argument::U32(value) => Held::U32(*value),
                Argument::U64(value) => Held::U64(*value),
                Argument::F32(value) => Held::F32(*value),
                Argument::Tensor(bytes, tensor) => {
                    let buffer = self.stream.clone_htod(bytes)?;
                    let (address, guard) = buffer.device_ptr(&self.stream);
                    let map = tensor::Map::of(tensor, address)?;
                    drop(guard);
                    Held::Map(map, buffer)
                }
            });
        }
        Ok(held)
    }
}
