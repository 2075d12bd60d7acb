//! Graphs: operations with dependencies, which are performed together.

use super::{Driver, Operation};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

impl Driver {
    /// The operations of an executable graph, in an order that its dependencies allow.
    pub(crate) fn operations_of_graph(&self, _graph: Raw) -> Outcome<Vec<Operation>> {
        Err(Status::NOT_SUPPORTED)
    }
}
