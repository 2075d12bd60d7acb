//! Completion of asynchronous operations at mbarrier objects (PTX ISA manual 9.7.16.12).

use super::super::asynchronous::{AsyncOperation, Completes};
use super::super::bulk::in_block;
use super::super::execution::{Control, Execution, Failed, Outcome};
use super::super::location::Location;
use super::unknown_operands;
use crate::lanes::lanes;
use crate::program::Act;

/// The CTAs that a mask can name.
const MASK_BITS: usize = 32;

impl Execution<'_> {
    /// Starts arrivals at mbarrier objects after the preceding operations: at one, or at the same offset in the CTAs of a mask.
    pub(in crate::execute) fn tensor_commit(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let values = act.values();
        for lane in lanes(self.active) {
            let address = addresses.first().ok_or_else(|| unknown_operands(lane))?;
            let object = self.location(address, lane);
            if !act.is_multicast() {
                self.start_tensor_arrival(object, lane)?;
                continue;
            }
            let mask = values.first().map_or(0, |place| self.get(*place, lane));
            for rank in (0..MASK_BITS).filter(|rank| mask >> rank & 1 == 1) {
                self.start_tensor_arrival(in_block(object, Some(rank)), lane)?;
            }
        }
        Ok(Control::Next)
    }

    fn start_tensor_arrival(&mut self, object: Location, lane: usize) -> Result<(), Failed> {
        let operation = AsyncOperation::TensorArrival(object);
        self.start(operation, Completes::Arrival(object), None, lane)
    }
}
