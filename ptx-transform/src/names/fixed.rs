//! Names that cannot change, as something speaks of them that is not resolved.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_ir::{Module, Operand};

use super::fresh::stem;
use super::{Entity, each_name};

/// The names that debug information, tables of targets and statements that were not understood mention.
pub(crate) struct Fixed {
    names: BTreeSet<Vec<u8>>,
    /// `N` of a table with `N<5>`.
    ranges: BTreeSet<Vec<u8>>,
}

impl Fixed {
    pub(crate) fn new(module: &Module) -> Self {
        let mut fixed = Self {
            names: BTreeSet::new(),
            ranges: BTreeSet::new(),
        };
        each_name(module, |n| {
            if let Entity::Unknown(name) = n.entity {
                fixed.names.insert(module.name_bytes(name).to_vec());
            }
        });
        for (_, _, body) in module.definitions() {
            for operand in body.pool.operands() {
                let Operand::Range(at) = *operand else {
                    continue;
                };
                let name = match body.pool.get(at) {
                    Operand::Name(name) => Some(name),
                    Operand::Label(id) => body.labels.get(id).map(|l| l.name),
                    _ => None,
                };
                if let Some(name) = name {
                    fixed.ranges.insert(module.name_bytes(name).to_vec());
                }
            }
        }
        fixed
    }

    /// Whether a thing keeps its name.
    pub(crate) fn has(&self, module: &Module, entity: Entity) -> bool {
        let Some(name) = entity.name(module) else {
            return true;
        };
        let name = module.name_bytes(name);
        let label = matches!(entity, Entity::Label(..)) && self.ranges.contains(stem(name));
        matches!(entity, Entity::Unknown(_)) || label || self.names.contains(name)
    }

    /// The names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().chain(&self.ranges).map(Vec::as_slice)
    }
}
