//! Pools of memory.

use std::collections::HashMap;

use super::{AllocationKind, Driver};
use crate::caller;
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// A pool of memory.
#[derive(Debug)]
pub(crate) struct Pool {
    /// How the memory of the pool is allocated.
    pub(crate) kind: AllocationKind,
    /// The attributes that the program set, by their numbers.
    pub(crate) attributes: HashMap<u32, u64>,
    /// The kinds of handles for other processes that the program wants.
    pub(crate) handle_kinds: u32,
    /// Whether the pool is one of another process, whose memory only that process allocates.
    pub(crate) is_imported: bool,
}

impl Pool {
    /// A pool without attributes.
    pub(crate) fn new(kind: AllocationKind) -> Self {
        Self {
            kind,
            attributes: HashMap::new(),
            handle_kinds: 0,
            is_imported: false,
        }
    }
}

impl Kind for Pool {
    const NUMBER: usize = 6;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

/// The kind of handles that are file descriptors.
pub(crate) const FILE_DESCRIPTOR: u32 = 1;

/// The bytes of the value of an attribute of pools.
const fn attribute_bytes(number: u32) -> usize {
    if number <= 3 { 4 } else { 8 }
}

impl Driver {
    /// How the memory of a pool is allocated. Fails unless the program can allocate memory of the pool.
    pub(crate) fn kind_of_pool(&self, pool: Raw) -> Outcome<AllocationKind> {
        let pool = self.pools.get(pool)?;
        match pool.is_imported {
            false => Ok(pool.kind),
            true => Err(Status::INVALID_VALUE),
        }
    }

    /// An attribute of a pool, and the bytes of its value.
    pub(crate) fn pool_attribute(&self, pool: Raw, number: u32) -> Outcome<(u64, usize)> {
        let set = self.pools.get(pool)?.attributes.get(&number).copied();
        let value = match number {
            // The reuse of memory is enabled if nothing else was set.
            1..=3 => set.unwrap_or(1),
            4 => set.unwrap_or(0),
            // The bytes that are reserved and used, now and at most.
            5..=8 => self.memory.used,
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok((value, attribute_bytes(number)))
    }

    /// Sets an attribute of a pool to a value at an address of the host.
    pub(crate) fn set_pool_attribute(
        &mut self,
        pool: Raw,
        number: u32,
        value: usize,
    ) -> Outcome<()> {
        if !(1..=8).contains(&number) {
            return Err(Status::INVALID_VALUE);
        }
        let mut bytes = [0; 8];
        let source = caller::bytes(value, attribute_bytes(number))?;
        bytes[..source.len()].copy_from_slice(source);
        let pool = self.pools.get_mut(pool)?;
        pool.attributes.insert(number, u64::from_le_bytes(bytes));
        Ok(())
    }

    /// The pool that exists for a kind of allocations without being created.
    pub(crate) fn default_pool(&mut self, kind: AllocationKind) -> Raw {
        let existing = self.default_pools.iter();
        let existing = existing.copied().find(|(of_pool, _)| *of_pool == kind);
        match existing {
            Some((_, pool)) => pool,
            None => {
                let pool = self.pools.insert(Pool::new(kind));
                self.default_pools.push((kind, pool));
                pool
            }
        }
    }

    /// The pool of functions that name none: the one that the program chose, or the default one of the device.
    pub(crate) fn current_pool(&mut self) -> Raw {
        let chosen = self
            .chosen_pool
            .filter(|pool| self.pools.get(*pool).is_ok());
        chosen.unwrap_or_else(|| self.default_pool(AllocationKind::Device))
    }

    /// Chooses the pool of functions that name none, which has memory of the device.
    pub(crate) fn choose_pool(&mut self, pool: Raw) -> Outcome<()> {
        if self.kind_of_pool(pool)? != AllocationKind::Device {
            return Err(Status::INVALID_VALUE);
        }
        self.chosen_pool = Some(pool);
        Ok(())
    }

    /// Destroys a pool that the program created.
    pub(crate) fn destroy_pool(&mut self, pool: Raw) -> Outcome<()> {
        if self
            .default_pools
            .iter()
            .any(|(_, default)| *default == pool)
        {
            return Err(Status::INVALID_VALUE);
        }
        self.pools.remove(pool).map(|_| ())
    }
}
