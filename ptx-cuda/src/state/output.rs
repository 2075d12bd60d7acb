//! The output of kernels. As with a GPU, it is written when the program waits for the device.

use super::Driver;
use crate::caller;

impl Driver {
    /// Writes the output of kernels to the standard output of the program.
    pub(crate) fn flush_output(&mut self) {
        if !self.output.is_empty() {
            caller::write_to_standard_output(&self.output);
            self.output.clear();
        }
    }
}
