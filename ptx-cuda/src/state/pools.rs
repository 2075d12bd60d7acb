//! Pools of memory.

use std::collections::HashMap;

use super::Driver;
use crate::handles::{Kind, Raw};
use crate::status::Status;

/// A pool of memory.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// The attributes that the program set, by their numbers.
    pub(crate) attributes: HashMap<u32, u64>,
}

impl Kind for Pool {
    const NUMBER: usize = 6;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

impl Driver {
    /// The pool of functions that name none.
    pub(crate) fn default_pool(&mut self) -> Raw {
        *self
            .default_pool
            .get_or_insert_with(|| self.pools.insert(Pool::default()))
    }
}
