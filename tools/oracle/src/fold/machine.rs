//! The values that the virtual machine stores when it runs the kernels of a module.

use std::collections::HashMap;

use ptx_vm::{Launch, Machine};

use super::expected::Known;
use super::kernel::Store;

/// The values that a kernel stores. The kernel must be able to run.
pub(super) fn stored(
    machine: &mut Machine<'_>,
    name: &str,
    stores: &[Store],
) -> Result<Known, String> {
    let bytes = 16 * stores.len() as u64;
    let memory = machine.allocate(bytes).ok_or("no memory")?;
    let launch = Launch::new(name).argument(memory.to_le_bytes());
    machine.launch(&launch).map_err(|e| e.to_string())?;
    let mut values = HashMap::new();
    for store in stores {
        let address = memory + u64::from(store.offset);
        let bytes = machine
            .read(address, usize::from(store.bits / 8))
            .map_err(|e| e.to_string())?;
        let mut value = [0; 8];
        for (target, byte) in value.iter_mut().zip(bytes) {
            *target = byte;
        }
        values.insert(store.offset, u64::from_le_bytes(value));
    }
    Ok(values)
}
