//! A buffer of records in global memory, and the function that appends to it.

use alloc::string::{String, ToString};

use ptx_ir::{Module, Operand, RegId};

use super::error::Error;
use super::inject::symbol;
use super::probe::Probe;

/// Where probes write records. The module gets a counter, `NAME_count`, as wide as an address: the number of records so far,
/// those that found no room among them. Behind each other in `NAME_records` lie `capacity` of these, of 32 bytes:
///
/// | byte | | |
/// |---|---|---|
/// | 0 | `u64` | the address |
/// | 8 | `u64` | the value |
/// | 16 | `u32` | the number of the [site](super::Site) |
/// | 20 | `u32` | how many bytes |
/// | 24 | `u32` | the block, counted through `x`, `y`, `z` of the grid |
/// | 28 | `u32` | the thread, counted through `x`, `y`, `z` of the block |
///
/// Threads append in any order. The host sets the counter to zero before a launch, and reads both after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Records {
    /// What the names begin with.
    pub name: String,
    /// How many fit.
    pub capacity: u32,
}

impl Records {
    /// Bytes of a record.
    pub const BYTES: u64 = 32;

    /// The variables and the function.
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

    /// The function, in a module that has the code.
    pub fn function(&self, module: &Module) -> Option<Operand> {
        symbol(module, &alloc::format!("{}_record", self.name))
    }

    /// Appends a record, for the threads that have the predicate if there is one.
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
