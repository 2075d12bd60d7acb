//! A GPU and its driver.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use cudarc::driver::{CudaContext, result, sys};
use ptx_vm::Launch;

use crate::device::{Device, Loaded};

/// The oldest version of CUDA whose driver has all functions that are called: 12.5.
const MIN_DRIVER: i32 = 12_050;

/// A GPU.
#[derive(Debug)]
pub struct Gpu {
    name: String,
    capability: u32,
    driver: i32,
}

impl Gpu {
    /// The first GPU. Without one, prints a line on standard error and returns `None`.
    ///
    /// # Errors
    ///
    /// Fails if the driver does not describe the GPU.
    pub fn find() -> Result<Option<Self>> {
        // SAFETY: the call only searches for the library of the driver and loads it.
        let has_driver = unsafe { sys::is_culib_present() };
        if !has_driver {
            eprintln!("!!! NO GPU: no CUDA driver on this machine, NOTHING WAS RUN ON A GPU !!!");
            return Ok(None);
        }
        let context = match CudaContext::new(0) {
            Ok(context) => context,
            Err(error) => {
                eprintln!("!!! NO GPU: {error}, NOTHING WAS RUN ON A GPU !!!");
                return Ok(None);
            }
        };
        let mut version = 0;
        // SAFETY: the driver writes one number.
        unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
        if version < MIN_DRIVER {
            eprintln!("!!! THE DRIVER {version} IS TOO OLD, NOTHING WAS RUN ON A GPU !!!");
            return Ok(None);
        }
        let (major, minor) = context.compute_capability()?;
        Ok(Some(Self {
            name: context.name()?,
            capability: u32::try_from(major * 10 + minor)?,
            driver: version,
        }))
    }
}

impl Device for Gpu {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn driver(&self) -> String {
        format!("{}.{}", self.driver / 1000, self.driver % 1000 / 10)
    }

    fn architecture(&self) -> Option<u32> {
        Some(self.capability)
    }

    fn load(&self, text: &str) -> Result<Box<dyn Loaded>> {
        // Each module has a separate context: a kernel that fails ends the context.
        let context = CudaContext::new_non_primary(0, 0)?;
        // Barriers of all blocks read registers that the driver sets only for cooperative launches.
        let is_cooperative = text.contains("%envreg");
        let text = CString::new(text).context("the driver takes no text with a zero byte")?;
        // SAFETY: the context is current, and the text ends with a zero byte.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) }
            .context("the driver does not assemble the text")?;
        Ok(Box::new(GpuModule {
            context,
            module,
            is_cooperative,
            allocations: Vec::new(),
        }))
    }
}

/// A module in a separate context. Memory and module end with the context.
struct GpuModule {
    context: Arc<CudaContext>,
    module: sys::CUmodule,
    is_cooperative: bool,
    /// The addresses and sizes of the buffers and of the variables whose address was requested.
    allocations: Vec<(u64, u64)>,
}

impl GpuModule {
    /// Checks that some bytes are within a buffer or a variable, and makes the context current.
    fn check(&self, address: u64, bytes: usize) -> Result<()> {
        let end = address.checked_add(bytes as u64);
        let is_allocated = self
            .allocations
            .iter()
            .any(|&(start, size)| start <= address && end.is_some_and(|end| end - start <= size));
        ensure!(
            bytes == 0 || is_allocated,
            "{bytes} bytes at {address:#x} are not in a buffer"
        );
        Ok(self.context.bind_to_thread()?)
    }

    fn function(&self, launch: &Launch) -> Result<sys::CUfunction> {
        use sys::CUfunction_attribute_enum as Attribute;
        let name = CString::new(launch.kernel.as_str())?;
        // SAFETY: the module is loaded in the current context.
        let function = unsafe { result::module::get_function(self.module, name) }
            .with_context(|| format!("no kernel `{}`", launch.kernel))?;
        if launch.shared > 0 {
            let (attribute, bytes) = (
                Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                i32::try_from(launch.shared)?,
            );
            // SAFETY: the function belongs to the module.
            unsafe { result::function::set_function_attribute(function, attribute, bytes) }?;
        }
        if launch.cluster.iter().product::<u32>() > 8 {
            let attribute = Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            // SAFETY: the function belongs to the module.
            unsafe { result::function::set_function_attribute(function, attribute, 1) }?;
        }
        Ok(function)
    }
}

/// The size in bytes of each parameter of a kernel.
fn parameter_sizes(function: sys::CUfunction) -> Vec<usize> {
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function belongs to a loaded module, and the driver writes two numbers, or reports that the kernel has fewer parameters.
        let status = unsafe {
            sys::cuFuncGetParamInfo(function, sizes.len(), &raw mut offset, &raw mut size)
        };
        match status.result() {
            Ok(()) => sizes.push(size),
            Err(_) => return sizes,
        }
    }
}

fn attributes(launch: &Launch, is_cooperative: bool) -> Vec<sys::CUlaunchAttribute> {
    use sys::{CUlaunchAttributeID as Id, CUlaunchAttributeValue as Value};
    let attribute = |id, value| sys::CUlaunchAttribute {
        id,
        pad: [0; 4],
        value,
    };
    let mut attributes = Vec::new();
    // Without clusters in the launch, the kernel may declare them.
    if launch.cluster != [1; 3] {
        let [x, y, z] = launch.cluster;
        let dimensions = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
        let value = Value {
            clusterDim: dimensions,
        };
        attributes.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value));
    }
    if is_cooperative {
        let value = Value { cooperative: 1 };
        attributes.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value));
    }
    attributes
}

impl Loaded for GpuModule {
    fn allocate(&mut self, bytes: u64) -> Result<u64> {
        self.context.bind_to_thread()?;
        let size = usize::try_from(bytes.max(1))?;
        // SAFETY: the context is current; the memory is set before anything reads it.
        let address = unsafe { result::malloc_sync(size) }?;
        // SAFETY: as many bytes were allocated.
        unsafe { result::memset_d8_sync(address, 0, size) }?;
        self.allocations.push((address, bytes));
        Ok(address)
    }

    fn variable(&mut self, name: &str) -> Result<u64> {
        self.context.bind_to_thread()?;
        // SAFETY: the module is loaded in the current context.
        let variable = unsafe { result::module::get_global(self.module, CString::new(name)?) };
        let (address, bytes) = variable.with_context(|| format!("no variable `{name}`"))?;
        self.allocations.push((address, bytes as u64));
        Ok(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.check(address, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the bytes are within an allocation of the current context.
        Ok(unsafe { result::memcpy_htod_sync(address, bytes) }?)
    }

    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>> {
        self.check(address, bytes)?;
        let mut contents = vec![0; bytes];
        if bytes > 0 {
            // SAFETY: the bytes are within an allocation of the current context.
            unsafe { result::memcpy_dtoh_sync(&mut contents, address) }?;
        }
        Ok(contents)
    }

    fn launch(&mut self, launch: &Launch) -> Result<Option<Vec<u8>>> {
        self.context.bind_to_thread()?;
        let function = self.function(launch)?;
        let sizes = parameter_sizes(function);
        let mut arguments = launch.arguments.clone();
        if !arguments.iter().map(Vec::len).eq(sizes.iter().copied()) {
            bail!("the arguments of `{}` have {sizes:?} bytes", launch.kernel);
        }
        let mut pointers: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|bytes| bytes.as_mut_ptr().cast())
            .collect();
        let mut attributes = attributes(launch, self.is_cooperative);
        let config = sys::CUlaunchConfig {
            gridDimX: launch.grid[0],
            gridDimY: launch.grid[1],
            gridDimZ: launch.grid[2],
            blockDimX: launch.block[0],
            blockDimY: launch.block[1],
            blockDimZ: launch.block[2],
            sharedMemBytes: launch.shared,
            hStream: std::ptr::null_mut(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: u32::try_from(attributes.len())?,
        };
        let extra = std::ptr::null_mut();
        // SAFETY: there is a pointer for each parameter to the bytes of its size. All pointers are valid until the kernel ends. The kernel
        // accesses only memory of its context.
        let status = unsafe {
            sys::cuLaunchKernelEx(&raw const config, function, pointers.as_mut_ptr(), extra)
        };
        status.result()?;
        result::ctx::synchronize()?;
        Ok(None)
    }

    fn survives_errors(&self) -> bool {
        false
    }
}
