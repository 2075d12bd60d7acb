//! A buffer of records in global memory, and the function that appends to it.

use alloc::string::{String, ToString};

use ptx_ir::{Module, Operand, RegId};

use super::error::Error;
use super::probe::Probe;

/// The buffer into which probes write records. The module gets a counter `NAME_count` of the width of an address: the number of records so far,
/// including those that exceeded the capacity. The array `NAME_records` has `capacity` records of 32 bytes:
///
/// | byte | | |
/// |---|---|---|
/// | 0 | `u64` | the address |
/// | 8 | `u64` | the value |
/// | 16 | `u32` | the number of the [site](super::Site) |
/// | 20 | `u32` | the size of the access in bytes |
/// | 24 | `u32` | the linear index of the block in the grid |
/// | 28 | `u32` | the linear index of the thread in the block |
///
/// Threads append records in any order. The host sets the counter to zero before a launch, and reads both variables after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Records {
    /// The prefix of the names.
    pub name: String,
    /// The largest number of records.
    pub capacity: u32,
}

impl Records {
    /// The size of a record in bytes.
    pub const BYTES: u64 = 32;

    /// The PTX code of the variables and the function.
    #[must_use]
    pub fn code(&self, module: &Module) -> String {
        let wide = module.header().address_size == Some(64);
        include_str!("record.ptx")
            .replace("@pointer", if wide { "u64" } else { "u32" })
            .replace("@capacity", &self.capacity.to_string())
            .replace(
                "@bytes",
                &(u64::from(self.capacity) * Self::BYTES).to_string(),
            )
            .replace("@name", &self.name)
    }

    /// The function, in a module with the code.
    #[must_use]
    pub fn function(&self, module: &Module) -> Option<Operand> {
        module
            .symbol(&format!("{}_record", self.name))
            .map(Operand::Symbol)
    }

    /// Appends a record, under the guard and an optional predicate.
    ///
    /// # Errors
    ///
    /// An error of [`Probe::call`].
    pub fn append(
        &self,
        probe: &mut Probe<'_, '_>,
        predicate: Option<RegId>,
        function: Operand,
        [size, address, value]: [Operand; 3],
    ) -> Result<(), Error> {
        let id = probe.id();
        let size = probe.narrowed(size)?;
        probe.call(predicate, function, &[id, size, address, value])
    }
}
