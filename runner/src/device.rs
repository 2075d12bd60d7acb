//! What runs launches: a GPU, or the virtual machine in its place.

use anyhow::Result;
use ptx_vm::Launch;

/// Something that runs launches.
pub trait Device: Send + Sync {
    /// What it is called.
    fn name(&self) -> String;

    /// The version of its driver.
    fn driver(&self) -> String;

    /// The number of its architecture, 90 for `sm_90`; `None` if it runs modules for every target.
    fn architecture(&self) -> Option<u32>;

    /// Takes the text of a module, and gives it its own memory.
    ///
    /// # Errors
    ///
    /// If the device does not take the text.
    fn load(&self, text: &str) -> Result<Box<dyn Loaded>>;
}

/// A module on a device, and its memory, which lives as long.
pub trait Loaded {
    /// Allocates bytes, all zero; gives their address.
    ///
    /// # Errors
    ///
    /// If there is not as much memory.
    fn allocate(&mut self, bytes: u64) -> Result<u64>;

    /// The address of a variable of the module.
    ///
    /// # Errors
    ///
    /// If the module has no such variable.
    fn variable(&mut self, name: &str) -> Result<u64>;

    /// Copies bytes to memory.
    ///
    /// # Errors
    ///
    /// If memory does not have all of these addresses, or an earlier launch failed.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies bytes from memory.
    ///
    /// # Errors
    ///
    /// As those of [`write`](Self::write).
    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>>;

    /// Runs a kernel to its end, and gives what it printed; `None` if the device prints that itself.
    ///
    /// # Errors
    ///
    /// If the launch is impossible, or the kernel fails. What a GPU does after a kernel failed is not known.
    fn launch(&mut self, launch: &Launch) -> Result<Option<Vec<u8>>>;

    /// Whether memory can be read and kernels be launched after one failed.
    fn survives_errors(&self) -> bool;
}
