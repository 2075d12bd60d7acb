//! Pools of memory.

use std::collections::HashMap;

use super::Driver;
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// A pool of memory.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// The attributes that the program set, by their numbers.
    pub(crate) attributes: HashMap<u32, u64>,
    /// The kinds of handles for other processes that the program wants.
    pub(crate) handle_kinds: u32,
    /// Whether the pool is one of another process, whose memory only that process allocates.
    pub(crate) is_imported: bool,
}

impl Kind for Pool {
    const NUMBER: usize = 6;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

/// The kind of handles that are file descriptors.
pub(crate) const FILE_DESCRIPTOR: u32 = 1;

impl Driver {
    /// Fails unless the program can allocate memory of a pool.
    pub(crate) fn check_pool(&self, pool: Raw) -> Outcome<()> {
        match self.pools.get(pool)?.is_imported {
            false => Ok(()),
            true => Err(Status::INVALID_VALUE),
        }
    }

    /// The pool of functions that name none.
    pub(crate) fn default_pool(&mut self) -> Raw {
        *self
            .default_pool
            .get_or_insert_with(|| self.pools.insert(Pool::default()))
    }
}
