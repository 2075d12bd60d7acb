//! The interface of devices that run launches: GPUs, and the virtual machine.

use anyhow::Result;
use ptx_vm::Launch;

/// A device that runs launches.
pub trait Device: Send + Sync {
    /// The name of the device.
    fn name(&self) -> String;

    /// The version of the driver.
    fn driver(&self) -> String;

    /// The number of the architecture, 90 for `sm_90`; `None` if the device runs modules for every target.
    fn architecture(&self) -> Option<u32>;

    /// Loads the text of a module, with separate memory.
    ///
    /// # Errors
    ///
    /// Fails if the device refuses the text.
    fn load(&self, text: &str) -> Result<Box<dyn Loaded>>;
}

/// A module on a device with its memory.
pub trait Loaded {
    /// Allocates bytes, which are zero, and returns their address.
    ///
    /// # Errors
    ///
    /// Fails if the device has not enough memory.
    fn allocate(&mut self, bytes: u64) -> Result<u64>;

    /// The address of a variable of the module.
    ///
    /// # Errors
    ///
    /// Fails if the module has no such variable.
    fn variable(&mut self, name: &str) -> Result<u64>;

    /// Copies bytes to memory.
    ///
    /// # Errors
    ///
    /// Fails if an address is not in memory, or an earlier launch failed.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies bytes from memory.
    ///
    /// # Errors
    ///
    /// See [`write`](Self::write).
    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>>;

    /// Runs a kernel to its end and returns its output; `None` if the device prints it.
    ///
    /// # Errors
    ///
    /// Fails if the launch is impossible, or the kernel fails. The state of a GPU after a failed kernel is not specified.
    fn launch(&mut self, launch: &Launch) -> Result<Option<Vec<u8>>>;

    /// Whether memory can be read and kernels be launched after one failed.
    fn survives_errors(&self) -> bool;
}
