//! The attributes of the device and of kernels, and the limits of a context.

use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_ir::facts::ModuleFacts;

use super::linkers::directive_limit;
use super::occupancy::limits;
use super::{Driver, Kernel};
use crate::config::Capability;
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// The attributes of devices that are not 0.
const DEVICE_ATTRIBUTES: &str = include_str!("../../api/device_attributes.txt");
/// One more than the number of the last attribute of devices.
const DEVICE_ATTRIBUTE_COUNT: u32 = 149;

/// The shared memory in bytes of a multiprocessor.
pub(crate) fn shared_of_multiprocessor(capability: Capability) -> u32 {
    limits(capability).shared
}

/// The shared memory in bytes that a block may have.
pub(crate) fn shared_of_block(capability: Capability) -> u32 {
    limits(capability).shared_of_block()
}

/// The value of an attribute of the device.
pub(crate) fn attribute(driver: &Driver, number: u32) -> Outcome<i32> {
    if !(1..DEVICE_ATTRIBUTE_COUNT).contains(&number) {
        return Err(Status::INVALID_VALUE);
    }
    let mut lines = DEVICE_ATTRIBUTES.lines();
    let value = lines.find_map(|line| {
        let mut fields = line.split(' ');
        let first = fields.next()?;
        (first.parse() == Ok(number)).then(|| fields.nth(1))?
    });
    let capability = driver.config.capability;
    let value = match value {
        None => 0,
        Some("major") => capability.major as i32,
        Some("minor") => capability.minor as i32,
        Some("multiprocessors") => driver.config.multiprocessors as i32,
        Some("shared_of_multiprocessor") => shared_of_multiprocessor(capability) as i32,
        Some("shared_of_block") => shared_of_block(capability) as i32,
        Some("threads_of_multiprocessor") => 32 * limits(capability).warps as i32,
        Some("blocks_of_multiprocessor") => limits(capability).blocks as i32,
        Some("clusters") => (capability.major >= 9).into(),
        // Programs may request that the cache keeps data, which has no effect here.
        Some("persisting_cache") if capability.major >= 8 => 30 << 20,
        Some("access_policy_window") if capability.major >= 8 => 128 << 20,
        Some("persisting_cache" | "access_policy_window") => 0,
        Some(number) => number.parse().map_err(|_| Status::UNKNOWN)?,
    };
    Ok(value)
}

/// The numbers of attributes of kernels.
pub(super) mod kernel_attribute {
    pub(in crate::state) const MAX_THREADS_PER_BLOCK: u32 = 0;
    pub(super) const SHARED_SIZE_BYTES: u32 = 1;
    pub(super) const CONST_SIZE_BYTES: u32 = 2;
    pub(super) const LOCAL_SIZE_BYTES: u32 = 3;
    pub(in crate::state) const NUM_REGS: u32 = 4;
    pub(super) const PTX_VERSION: u32 = 5;
    pub(super) const BINARY_VERSION: u32 = 6;
    pub(super) const MAX_DYNAMIC_SHARED_SIZE_BYTES: u32 = 8;
    pub(in crate::state) const NON_PORTABLE_CLUSTER_SIZE: u32 = 14;
    /// One more than the last number.
    pub(super) const COUNT: u32 = 16;
}

/// Registers are allocated in groups of this many.
const REGISTER_GROUP: u32 = 8;
/// The fewest and the most registers of a thread.
const REGISTER_LIMITS: (u32, u32) = (16, 255);

impl Driver {
    /// The value of an attribute of a kernel.
    pub(crate) fn kernel_attribute(&self, kernel: Raw, number: u32) -> Outcome<i32> {
        use kernel_attribute as a;
        let kernel = self.kernels.get(kernel)?;
        if number >= a::COUNT {
            return Err(Status::INVALID_VALUE);
        }
        let to_i32 = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
        Ok(match number {
            a::MAX_THREADS_PER_BLOCK => to_i32(kernel.block_threads),
            a::CONST_SIZE_BYTES => to_i32(kernel.constant_bytes),
            a::SHARED_SIZE_BYTES => to_i32(kernel.shared_bytes),
            a::LOCAL_SIZE_BYTES => to_i32(kernel.stack_bytes),
            a::NUM_REGS => self.registers(kernel) as i32,
            a::PTX_VERSION | a::BINARY_VERSION => self.config.capability.number() as i32,
            a::MAX_DYNAMIC_SHARED_SIZE_BYTES => to_i32(kernel.dynamic_shared_limit.into()),
            other => kernel.attributes.get(&other).copied().unwrap_or(0),
        })
    }

    /// An estimate of the registers of a thread: those that are live at the same time at most, or the limit of the kernel. A compiler may use fewer or more.
    fn registers(&self, kernel: &Kernel) -> u32 {
        *kernel.registers.get_or_init(|| {
            let loaded = self.modules.get(kernel.module).ok();
            let function = loaded.and_then(|loaded| loaded.module.function(&kernel.name));
            let (Some(loaded), Some(function)) = (loaded, function) else {
                return REGISTER_LIMITS.0;
            };
            let facts = ModuleFacts::new(&loaded.module);
            let live = facts
                .function(function)
                .map_or(0, |facts| FunctionDataflow::new(facts).pressure().units);
            let (fewest, most) = REGISTER_LIMITS;
            let rounded = live.next_multiple_of(REGISTER_GROUP).clamp(fewest, most);
            let limit = directive_limit(&loaded.module, function).or(loaded.register_limit);
            rounded.min(limit.unwrap_or(most))
        })
    }

    /// Sets an attribute of a kernel.
    pub(crate) fn set_kernel_attribute(
        &mut self,
        kernel: Raw,
        number: u32,
        value: i32,
    ) -> Outcome<()> {
        let limit = shared_of_block(self.config.capability);
        let kernel = self.kernels.get_mut(kernel)?;
        match number {
            kernel_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let bytes = u32::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
                if u64::from(bytes) + kernel.shared_bytes > limit.into() {
                    return Err(Status::INVALID_VALUE);
                }
                kernel.dynamic_shared_limit = bytes;
            }
            9..kernel_attribute::COUNT => {
                kernel.attributes.insert(number, value);
            }
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    /// The value of a limit.
    pub(crate) fn limit(&self, limit: u32) -> Outcome<usize> {
        let default = match limit {
            STACK_SIZE => 1024,
            PRINTF_BYTES => 1 << 20,
            HEAP_BYTES => 8 << 20,
            SYNCHRONIZATION_DEPTH => 2,
            PENDING_LAUNCHES => 2048,
            FETCH_GRANULARITY => 64,
            PERSISTING_CACHE_BYTES => 0,
            _ => return Err(Status::UNSUPPORTED_LIMIT),
        };
        Ok(self.limits.get(&limit).copied().unwrap_or(default))
    }

    /// Sets a limit.
    pub(crate) fn set_limit(&mut self, limit: u32, value: usize) -> Outcome<()> {
        self.limit(limit)?;
        self.limits.insert(limit, value);
        Ok(())
    }
}

/// The number of the limit of the stack of a thread in bytes.
const STACK_SIZE: u32 = 0;
const PRINTF_BYTES: u32 = 1;
/// The number of the limit of the heap of kernels in bytes.
pub(crate) const HEAP_BYTES: u32 = 2;
const SYNCHRONIZATION_DEPTH: u32 = 3;
const PENDING_LAUNCHES: u32 = 4;
const FETCH_GRANULARITY: u32 = 5;
const PERSISTING_CACHE_BYTES: u32 = 6;
