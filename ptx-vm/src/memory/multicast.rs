//! Multimem addresses: ranges of addresses that each denote several memory locations.
//!
//! ```text
//! 0x6800_0000_0000 ┌ range ┐  member 0: an address in global memory
//!                  └───────┘  member 1 …
//! ```
//!
//! An offset in a range denotes the same offset from each member.

use std::collections::BTreeMap;

/// The first multimem address. Global memory ends before it.
const START: u64 = 0x6800_0000_0000;
/// One past the last multimem address. The window of shared memory begins after it.
const END: u64 = 0x7000_0000_0000;
/// Ranges begin at multiples of it.
const ALIGN: u64 = 1 << 21;
/// The greatest number of memory locations of an address.
pub(crate) const MAX_MEMBERS: usize = 64;

/// A range of multimem addresses.
#[derive(Clone, Debug)]
struct Range {
    bytes: u64,
    /// The addresses of the memory that the first address denotes.
    members: Vec<u64>,
}

/// The ranges of multimem addresses of a device, by their first addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Multicasts {
    ranges: BTreeMap<u64, Range>,
    /// The number of bytes from the first multimem address to the next new range. Addresses are not used again.
    next: u64,
}

impl Multicasts {
    /// Adds a range of addresses; `None` if there are no addresses left.
    pub(crate) fn add(&mut self, members: &[u64], bytes: u64) -> Option<u64> {
        let start = START + self.next;
        // A gap follows, so that accesses beyond a range are found.
        let footprint = bytes.checked_next_multiple_of(ALIGN)?.checked_add(ALIGN)?;
        let end = start.checked_add(footprint).filter(|end| *end <= END)?;
        self.next = end - START;
        let members = members.to_vec();
        self.ranges.insert(start, Range { bytes, members });
        Some(start)
    }

    /// Removes the range that begins at an address; returns whether there was one.
    pub(crate) fn remove(&mut self, address: u64) -> bool {
        self.ranges.remove(&address).is_some()
    }

    /// The memory locations of bytes at a multimem address; `None` if no range contains all of them.
    pub(crate) fn locations(
        &self,
        address: u64,
        bytes: u64,
    ) -> Option<impl Iterator<Item = u64> + '_> {
        let (start, range) = self.ranges.range(..=address).next_back()?;
        let offset = address - start;
        let is_inside = offset.checked_add(bytes)? <= range.bytes;
        is_inside.then(|| range.members.iter().map(move |member| member + offset))
    }
}

/// Whether an address is a multimem address.
pub(crate) const fn is_multimem(address: u64) -> bool {
    address >= START && address < END
}
