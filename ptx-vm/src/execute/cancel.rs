//! Requests that a cluster that has not begun is cancelled: manual 9.7.13.17. The machine refuses all of them, as if all clusters had begun:
//! each of them then does its own work.

use super::bulk::in_block;
use super::execution::{Control, Execution, Outcome};
use crate::lanes::lanes;
use crate::program::{Act, ActOperand};

/// The answer to a request that is refused.
const REFUSED: u128 = 0;

impl Execution<'_> {
    /// Writes the answer to a request and completes its bytes at an mbarrier object, in this CTA or in all of the cluster.
    pub(super) fn cancel_cluster(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let [to, object] = addresses[..] else {
            return Ok(Control::Next);
        };
        let in_cluster = self.grid.cluster.iter().product::<u32>() as usize;
        for lane in lanes(self.active) {
            let target = self.location(&to, lane);
            let object = self.location(&object, lane);
            let ranks: Vec<Option<usize>> = if act.is_multicast() {
                (0..in_cluster).map(Some).collect()
            } else {
                vec![None]
            };
            for rank in ranks {
                self.write(in_block(target, rank), 16, REFUSED, lane)?;
                self.complete_transactions(in_block(object, rank), 16, lane)?;
            }
        }
        Ok(Control::Next)
    }

    /// Reads an answer: no cluster was cancelled, and so there is none whose index it could give.
    pub(super) fn cancelled_cluster(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            if let Some(Some(ActOperand::Places(places))) = act.operands.first() {
                for place in places {
                    self.set(*place, lane, 0);
                }
            }
        }
        Ok(Control::Next)
    }
}
