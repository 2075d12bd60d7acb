//! Snapshots of a device.

use super::{Device, State};
use crate::memory::MemorySnapshot;

/// A copy of the memory, the allocations and the modules of a device, which shares pages of memory with it.
///
/// ```
/// let mut device = ptx_vm::Device::new();
/// let data = device.allocate(8).ok_or("no memory")?;
/// device.write_slice(data, &[1u32, 2])?;
/// let snapshot = device.snapshot();
/// device.write_slice(data, &[3u32])?;
/// device.free(data)?;
/// device.restore(&snapshot);
/// assert_eq!(device.read_slice::<u32>(data, 2)?, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot<'m> {
    memory: MemorySnapshot,
    state: State<'m>,
}

impl<'m> Device<'m> {
    /// Copies the state of the device. Linear in the number of allocations, and of pages (64 KiB) that were written since the last snapshot; pages are shared until they are
    /// written again. Of pages that a [`PageSource`](crate::PageSource) provides, only those that the device accessed are copied; after [`restore`](Self::restore), others are
    /// zero. The memory of the host that only snapshots use counts as used by the device.
    pub fn snapshot(&mut self) -> Snapshot<'m> {
        Snapshot {
            memory: self.memory.snapshot(),
            state: self.state.clone(),
        }
    }

    /// Sets the state of the device to that of a snapshot of this device: memory, allocations and modules. The output, the reports and the profile of the last launch remain.
    pub fn restore(&mut self, snapshot: &Snapshot<'m>) {
        self.memory.restore(&snapshot.memory);
        self.state.clone_from(&snapshot.state);
    }
}
