//! Reserved addresses, in which the caller chooses where allocations begin.

use super::Device;
use crate::check::Owner;
use crate::error::RunError;

impl Device<'_> {
    /// Reserves addresses that begin at a multiple of an alignment, a power of two, and returns the first one. No allocation has them until [`map`](Self::map) begins one
    /// there, as after `cuMemAddressReserve`. Returns `None` if too few addresses are left, or for another alignment.
    ///
    /// ```
    /// let mut device = ptx_vm::Device::new();
    /// let start = device.reserve(4096, 4096).ok_or("no addresses")?;
    /// assert!(device.write_slice(start, &[1u32]).is_err());
    /// device.map(start + 1024, 1024)?;
    /// device.write_slice(start + 1024, &[1u32])?;
    /// device.unmap(start + 1024)?;
    /// device.release(start)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        if !alignment.is_power_of_two() {
            return None;
        }
        let start = self.memory.allocate(bytes, alignment)?;
        self.state.reserved.insert(start, bytes);
        Some(start)
    }

    /// Ends a reservation.
    ///
    /// # Errors
    ///
    /// If no reservation begins at the address, or an allocation is within it.
    pub fn release(&mut self, address: u64) -> Result<(), RunError> {
        let bytes = self.state.reserved.get(&address).copied();
        let bytes = bytes.ok_or_else(|| {
            RunError::impossible(format!("no reserved addresses begin at {address:#x}"))
        })?;
        if self.state.allocations.has_live(address, address + bytes) {
            return Err(RunError::impossible(format!(
                "the reserved addresses from {address:#x} on contain an allocation"
            )));
        }
        self.state.reserved.remove(&address);
        self.memory.free(address, bytes);
        Ok(())
    }

    /// Begins an allocation at a reserved address. [`Checker::Initcheck`](crate::Checker::Initcheck) treats its memory as uninitialized.
    ///
    /// # Errors
    ///
    /// If the range is not within one reservation, or overlaps an allocation.
    pub fn map(&mut self, address: u64, bytes: u64) -> Result<(), RunError> {
        let end = address.saturating_add(bytes);
        let reserved = self.state.reserved.range(..=address).next_back();
        let is_within = reserved.is_some_and(|(start, size)| end - start <= *size);
        if bytes == 0 || !is_within || self.state.allocations.has_live(address, end) {
            return Err(RunError::impossible(format!(
                "the {bytes} bytes at {address:#x} are not reserved addresses without an allocation"
            )));
        }
        self.state.allocations.insert(address, bytes, Owner::Host);
        self.state.written.remove(address, bytes);
        Ok(())
    }

    /// Ends an allocation of [`map`](Self::map). Its addresses remain reserved.
    ///
    /// # Errors
    ///
    /// If no allocation of [`map`](Self::map) begins at the address.
    pub fn unmap(&mut self, address: u64) -> Result<(), RunError> {
        if !self.is_reserved(address) {
            return Err(RunError::impossible(format!(
                "{address:#x} is not a reserved address"
            )));
        }
        let freed = self.state.allocations.free_by_host(address);
        let bytes = freed.map_err(RunError::impossible)?;
        self.memory.drop_pages(address, bytes);
        Ok(())
    }

    /// Whether an address is one of [`reserve`](Self::reserve).
    pub(super) fn is_reserved(&self, address: u64) -> bool {
        let reserved = self.state.reserved.range(..=address).next_back();
        reserved.is_some_and(|(start, bytes)| address - start < *bytes)
    }
}
