//! A GPU and its driver.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use cudarc::driver::{CudaContext, result, sys};
use ptx_vm::Launch;

use crate::device::{Device, Loaded};

/// The oldest version of CUDA whose driver has all functions that are called: 12.5.
const OLDEST: i32 = 12_050;

/// A GPU.
#[derive(Debug)]
pub struct Gpu {
    name: String,
    capability: u32,
    driver: i32,
}

impl Gpu {
    /// The first GPU. Without one, a loud line on standard error and `None`.
    ///
    /// # Errors
    ///
    /// If the driver does not say what the GPU is.
    pub fn find() -> Result<Option<Self>> {
        // SAFETY: looks for the library of the driver and loads it, no more.
        let driver = unsafe { sys::is_culib_present() };
        if !driver {
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
        if version < OLDEST {
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
        // Its own context: a kernel that fails ends it, but not those of other modules.
        let context = CudaContext::new_non_primary(0, 0)?;
        // Barriers of all blocks need what the driver provides to launches whose blocks are all resident.
        let cooperative = text.contains("%envreg");
        let text = CString::new(text).context("the driver takes no text with a zero byte")?;
        // SAFETY: the context is current, and the text ends with a zero byte.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) };
        let module = module.context("the driver does not assemble the text")?;
        Ok(Box::new(OnGpu {
            context,
            module,
            cooperative,
            allocations: Vec::new(),
        }))
    }
}

/// A module in its own context. Memory and module end with the context.
struct OnGpu {
    context: Arc<CudaContext>,
    module: sys::CUmodule,
    cooperative: bool,
    /// Addresses and sizes of the buffers and of the variables that were asked for.
    allocations: Vec<(u64, u64)>,
}

impl OnGpu {
    /// Whether some bytes are within a buffer or a variable.
    fn check(&self, address: u64, bytes: usize) -> Result<()> {
        let end = address.checked_add(bytes as u64);
        let within = |&(start, size): &(u64, u64)| {
            start <= address && end.is_some_and(|end| end - start <= size)
        };
        ensure!(
            bytes == 0 || self.allocations.iter().any(within),
            "{bytes} bytes at {address:#x} are not in a buffer"
        );
        Ok(self.context.bind_to_thread()?)
    }

    fn function(&self, launch: &Launch) -> Result<sys::CUfunction> {
        use sys::CUfunction_attribute_enum as Attribute;
        let name = CString::new(launch.kernel.as_str())?;
        // SAFETY: the module is loaded in the current context.
        let function = unsafe { result::module::get_function(self.module, name) };
        let function = function.with_context(|| format!("no kernel `{}`", launch.kernel))?;
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

/// The bytes of each parameter of a kernel.
fn parameters(function: sys::CUfunction) -> Vec<usize> {
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function belongs to a loaded module, and the driver writes two numbers, or reports that the kernel has fewer parameters.
        let found = unsafe {
            sys::cuFuncGetParamInfo(function, sizes.len(), &raw mut offset, &raw mut size)
        };
        match found.result() {
            Ok(()) => sizes.push(size),
            Err(_) => return sizes,
        }
    }
}

fn attributes(launch: &Launch, cooperative: bool) -> Vec<sys::CUlaunchAttribute> {
    use sys::{CUlaunchAttributeID as Id, CUlaunchAttributeValue as Value};
    let attribute = |id, value| sys::CUlaunchAttribute {
        id,
        pad: [0; 4],
        value,
    };
    let mut all = Vec::new();
    // Where the launch has no clusters, the kernel may declare them.
    if launch.cluster != [1; 3] {
        let [x, y, z] = launch.cluster;
        let dimensions = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
        let value = Value {
            clusterDim: dimensions,
        };
        all.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value));
    }
    if cooperative {
        let value = Value { cooperative: 1 };
        all.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value));
    }
    all
}

impl Loaded for OnGpu {
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
        let found = unsafe { result::module::get_global(self.module, CString::new(name)?) };
        let (address, bytes) = found.with_context(|| format!("no variable `{name}`"))?;
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
        let mut found = vec![0; bytes];
        if bytes > 0 {
            // SAFETY: the bytes are within an allocation of the current context.
            unsafe { result::memcpy_dtoh_sync(&mut found, address) }?;
        }
        Ok(found)
    }

    fn launch(&mut self, launch: &Launch) -> Result<Option<Vec<u8>>> {
        self.context.bind_to_thread()?;
        let function = self.function(launch)?;
        let sizes = parameters(function);
        let mut arguments = launch.arguments.clone();
        if !arguments.iter().map(Vec::len).eq(sizes.iter().copied()) {
            bail!("the arguments of `{}` have {sizes:?} bytes", launch.kernel);
        }
        let mut pointers: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|bytes| bytes.as_mut_ptr().cast())
            .collect();
        let mut attributes = attributes(launch, self.cooperative);
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
        let none = std::ptr::null_mut();
        // SAFETY: a pointer for each parameter, to as many bytes as it has; all lives until the kernel has ended. What the kernel does
        // with memory stays in its context.
        let launched = unsafe {
            sys::cuLaunchKernelEx(&raw const config, function, pointers.as_mut_ptr(), none)
        };
        launched.result()?;
        result::ctx::synchronize()?;
        Ok(None)
    }

    fn survives_errors(&self) -> bool {
        false
    }
}
