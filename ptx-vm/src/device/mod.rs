//! The device: memory, loaded modules and launches.

mod children;
mod dependent;
mod kernels;
mod modules;
mod reserved;
mod residency;
mod running;
mod snapshot;
mod texture_parts;
mod textures;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use kernels::{KernelParameter, KernelResources};
pub use modules::ModuleId;
pub use snapshot::Snapshot;

use modules::LoadedModule;

use crate::check::{Allocations, EarlierWrites, Owner, Report, WrittenBytes};
use crate::error::{RunError, StopReason};
use crate::memory::{
    AddressSize, DeviceValue, GlobalMemory, Heap, MAX_MEMBERS, PageSource, bytes_of, values_of,
};
use crate::profile::Profile;
use crate::program::CODE;
use crate::texture::TextureStore;

/// A device: memory, modules and launches, one after the other.
///
/// ```
/// use ptx_vm::{Device, Launch};
///
/// let writer = ptx_parse::parse_str(
///     ".version 8.0\n.target sm_90\n.address_size 64\n
///     .visible .global .u32 value = 5;\n
///     .visible .entry write(.param .u64 target)\n{\n
///     .reg .b32 %r1;\n.reg .b64 %rd1;\n
///     ld.param.u64 %rd1, [target];\n
///     ld.global.u32 %r1, [value];\n
///     st.global.u32 [%rd1], %r1;\n
///     ret;\n}\n",
/// )
/// .into_result()?;
/// let other = writer.clone();
/// let mut device = Device::new();
/// let [first, second] = [device.load(&writer)?, device.load(&other)?];
/// let (value, _) = device.variable(second, "value").ok_or("no variable")?;
/// device.write_slice(value, &[7u32])?;
/// let target = device.allocate(8).ok_or("no memory")?;
/// device.launch(first, &Launch::new("write").argument(target.to_le_bytes()))?;
/// device.launch(second, &Launch::new("write").argument((target + 4).to_le_bytes()))?;
/// assert_eq!(device.read_slice::<u32>(target, 2)?, [5, 7]);
/// device.free(target)?;
/// device.unload(first)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Device<'m> {
    memory: GlobalMemory,
    state: State<'m>,
    output: Vec<u8>,
    /// The reports of the checkers of the last launch.
    reports: Vec<Report>,
    profile: Option<Profile>,
    /// The bytes that earlier grids of a sequence of dependent launches write, while such a sequence is checked.
    earlier_writes: Option<Arc<EarlierWrites>>,
}

/// The state of a device that a snapshot copies, besides the memory.
#[derive(Clone, Debug)]
struct State<'m> {
    /// The loaded modules, by the numbers of their identifiers.
    modules: BTreeMap<u64, Arc<LoadedModule<'m>>>,
    /// The number of the next module.
    next_module: u64,
    /// The address of the first function of the next module. Addresses are not used again.
    next_code: u64,
    heap: Heap,
    /// The memory for the parameters of launches from kernels, which is empty between grids.
    parameter_heap: Heap,
    allocations: Allocations,
    /// The bytes of each reservation of addresses, by its first address.
    reserved: BTreeMap<u64, u64>,
    /// The bytes of global memory that were written.
    written: WrittenBytes,
    /// The address of the workspace of grid barriers, once a launch needed it.
    workspace: Option<u64>,
    textures: TextureStore,
}

/// The configuration of a new device.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct DeviceBuilder {
    address_size: AddressSize,
    pages: Option<Arc<dyn PageSource>>,
}

impl DeviceBuilder {
    /// Sets the size of addresses; by default 64 bits. Only modules with this size can be loaded.
    pub const fn address_size(mut self, size: AddressSize) -> Self {
        self.address_size = size;
        self
    }

    /// Sets a source of the pages of global memory.
    pub fn pages(mut self, source: Arc<dyn PageSource>) -> Self {
        self.pages = Some(source);
        self
    }

    /// Creates the device.
    #[must_use]
    pub fn build<'m>(self) -> Device<'m> {
        let memory = GlobalMemory::new(self.address_size, self.pages);
        let state = State {
            modules: BTreeMap::new(),
            next_module: 0,
            next_code: CODE,
            heap: Heap::default(),
            parameter_heap: Heap::default(),
            allocations: Allocations::default(),
            reserved: BTreeMap::new(),
            written: WrittenBytes::new(memory.start(), GlobalMemory::PAGE),
            workspace: None,
            textures: TextureStore::default(),
        };
        Device {
            memory,
            state,
            output: Vec::new(),
            reports: Vec::new(),
            profile: None,
            earlier_writes: None,
        }
    }
}

impl Default for Device<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Device<'_> {
    /// A device with addresses of 64 bits, without modules and allocations.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// The configuration of a new device.
    pub fn builder() -> DeviceBuilder {
        DeviceBuilder::default()
    }

    /// Allocates zeroed global memory and returns its address, a multiple of 256. Returns `None` beyond 1 TiB in total.
    ///
    /// [`Checker::Initcheck`](crate::Checker::Initcheck) treats the memory as uninitialized; [`set_written`](Self::set_written) marks it as initialized.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        self.allocate_aligned(bytes, 1)
    }

    /// Allocates memory like [`allocate`](Self::allocate), at a multiple of an alignment, which is a power of two; `None` for another alignment, too.
    /// The memory up to the next multiple of the alignment is used by no other allocation, and is not part of this one.
    pub fn allocate_aligned(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        if !alignment.is_power_of_two() {
            return None;
        }
        let reserved_bytes = bytes.checked_next_multiple_of(alignment)?;
        let start = self.memory.allocate(reserved_bytes, alignment)?;
        self.state
            .allocations
            .insert_padded(start, bytes, reserved_bytes, Owner::Host);
        self.state.written.remove(start, reserved_bytes);
        Some(start)
    }

    /// Frees an allocation. A later one may use its memory and its address. Until then, [`Checker::Memcheck`](crate::Checker::Memcheck) reports accesses of kernels to it.
    ///
    /// # Errors
    ///
    /// If no allocation of [`allocate`](Self::allocate) begins at the address, or it was freed.
    pub fn free(&mut self, address: u64) -> Result<(), RunError> {
        if self.is_reserved(address) {
            return Err(RunError::impossible(format!(
                "{address:#x} is a reserved address, whose allocation ends by `unmap`"
            )));
        }
        let bytes = self
            .state
            .allocations
            .free_by_host(address)
            .map_err(RunError::impossible)?;
        self.memory.free(address, bytes);
        Ok(())
    }

    /// Creates multimem addresses: each of `bytes` bytes from the returned address on denotes the bytes at the same offset from all members, as after
    /// `cuMulticastBindAddr`. Only instructions for multimem addresses (`multimem`) can access them. A member is an address in an allocation or a variable.
    ///
    /// ```
    /// use ptx_vm::{Device, Launch};
    ///
    /// let module = ptx_parse::parse_str(
    ///     ".version 8.1\n.target sm_90\n.address_size 64\n
    ///     .visible .entry sum(.param .u64 all, .param .u64 result)\n{\n
    ///     .reg .b32 %r1;\n.reg .b64 %rd<3>;\n
    ///     ld.param.u64 %rd1, [all];\n
    ///     ld.param.u64 %rd2, [result];\n
    ///     multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1];\n
    ///     st.global.u32 [%rd2], %r1;\n
    ///     ret;\n}\n",
    /// )
    /// .into_result()?;
    /// let mut device = Device::new();
    /// let id = device.load(&module)?;
    /// let members = [device.allocate(4), device.allocate(4)].map(Option::unwrap_or_default);
    /// device.write_slice(members[0], &[3u32])?;
    /// device.write_slice(members[1], &[4u32])?;
    /// let all = device.multicast(&members, 4)?;
    /// let result = device.allocate(4).ok_or("no memory")?;
    /// let arguments = [all, result].map(|address| address.to_le_bytes());
    /// device.launch(id, &Launch::new("sum").argument(arguments[0]).argument(arguments[1]))?;
    /// assert_eq!(device.read_slice::<u32>(result, 1)?, [7]);
    /// device.free_multicast(all)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are no members or more than 64, if a member is not within one allocation or variable, or if the device has 32-bit addresses.
    pub fn multicast(&mut self, members: &[u64], bytes: u64) -> Result<u64, RunError> {
        let count = members.len();
        if !(1..=MAX_MEMBERS).contains(&count) {
            return Err(RunError::impossible(format!(
                "expected 1 to {MAX_MEMBERS} members of a multimem address, found {count}"
            )));
        }
        if self.memory.address_size() == AddressSize::Bits32 {
            return Err(RunError::impossible(
                "expected a device with 64-bit addresses for multimem addresses, found one with 32-bit addresses",
            ));
        }
        for member in members {
            self.check(*member, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        }
        let multicasts = self.memory.multicasts_mut();
        let address = multicasts.add(members, bytes);
        address.ok_or_else(|| RunError::impossible("no multimem addresses are left"))
    }

    /// Removes multimem addresses. The memory of the members remains.
    ///
    /// # Errors
    ///
    /// If no range of [`multicast`](Self::multicast) begins at the address, or it was removed.
    pub fn free_multicast(&mut self, address: u64) -> Result<(), RunError> {
        if self.memory.multicasts_mut().remove(address) {
            Ok(())
        } else {
            Err(RunError::impossible(format!(
                "expected the first multimem address of a range, found {address:#x}"
            )))
        }
    }

    /// Marks memory as written by the host, so that [`Checker::Initcheck`](crate::Checker::Initcheck) does not report reads of it.
    pub fn set_written(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes).min(self.memory.end());
        self.state
            .written
            .insert(address, end.saturating_sub(address));
    }

    /// Checks that a range is within one allocation, variable or the heap.
    fn check(&self, address: u64, bytes: usize) -> Result<(), RunError> {
        let end = address.saturating_add(bytes as u64);
        let (heap, _) = self.state.heap.used();
        let allocation = self.state.allocations.before(address);
        let allocated_end = allocation
            .filter(|allocation| allocation.freed.is_none())
            .map_or(0, |allocation| allocation.end)
            .max(if address >= heap {
                self.state.heap.end()
            } else {
                0
            });
        if bytes == 0 || end <= allocated_end {
            return Ok(());
        }
        let outside = allocated_end.max(address);
        Err(RunError::new(StopReason::OutOfBounds(outside)))
    }

    /// Copies bytes from memory.
    ///
    /// # Errors
    ///
    /// If the range is not within one allocation or variable, or the heap.
    pub fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, RunError> {
        self.check(address, bytes)?;
        let mut copy = vec![0; bytes];
        let read = self.memory.read_bytes(address, &mut copy);
        read.map_err(|fault| RunError::new(fault.into()))?;
        Ok(copy)
    }

    /// Copies bytes to memory.
    ///
    /// # Errors
    ///
    /// If the range is not within one allocation or variable, or the heap.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), RunError> {
        self.check(address, bytes.len())?;
        let written = self.memory.write_bytes(address, bytes);
        written.map_err(|fault| RunError::new(self.memory.reason(fault)))?;
        self.set_written(address, bytes.len() as u64);
        Ok(())
    }

    /// Copies numbers from memory.
    ///
    /// ```
    /// let mut device = ptx_vm::Device::new();
    /// let data = device.allocate(16).ok_or("no memory")?;
    /// device.write_slice(data, &[1.5f32, -2.0])?;
    /// assert_eq!(device.read_slice::<f32>(data, 2)?, [1.5, -2.0]);
    /// assert_eq!(device.read(data, 4)?, 1.5f32.to_le_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the range is not within one allocation or variable, or the heap.
    pub fn read_slice<T: DeviceValue>(&self, address: u64, len: usize) -> Result<Vec<T>, RunError> {
        let bytes = self.read(address, len.saturating_mul(size_of::<T>()))?;
        Ok(values_of(&bytes))
    }

    /// Copies numbers to memory: see [`read_slice`](Self::read_slice).
    ///
    /// # Errors
    ///
    /// If the range is not within one allocation or variable, or the heap.
    pub fn write_slice<T: DeviceValue>(
        &mut self,
        address: u64,
        values: &[T],
    ) -> Result<(), RunError> {
        self.write(address, &bytes_of(values))
    }

    /// Sets the memory of the host in bytes that the device may use until the next launch, which has its own limit
    /// ([`LaunchLimits::memory_bytes`](crate::LaunchLimits::memory_bytes)); at first 4 GiB.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.memory.account().set_limit(bytes);
    }

    /// The output of the kernel of the last launch, even if the launch failed.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// The profile of the last launch, even if it failed; `None` if no profile was collected.
    #[must_use]
    pub const fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The reports of the checkers of the last launch, even if it failed: at most 100, one for each code and instruction.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }
}
