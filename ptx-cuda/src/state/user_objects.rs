//! User objects: data of the program whose destructor is called when no graph refers to it any more.

use super::{Driver, HostFunction};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// A user object.
#[derive(Debug)]
pub(crate) struct UserObject {
    pub(crate) destructor: HostFunction,
    /// The number of references of the program and of graphs.
    pub(crate) references: u32,
}

impl Kind for UserObject {
    const NUMBER: usize = 14;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

impl Driver {
    /// Adds references to a user object.
    pub(crate) fn retain_user_object(&mut self, object: Raw, count: u32) -> Outcome<()> {
        let object = self.user_objects.get_mut(object)?;
        let references = object.references.checked_add(count).filter(|_| count > 0);
        object.references = references.ok_or(Status::INVALID_VALUE)?;
        Ok(())
    }

    /// Removes references to a user object. Without references it is destroyed: its destructor is called when the driver is not in use.
    pub(crate) fn release_user_object(&mut self, object: Raw, count: u32) -> Outcome<()> {
        let entry = self.user_objects.get_mut(object)?;
        let references = entry.references.checked_sub(count).filter(|_| count > 0);
        entry.references = references.ok_or(Status::INVALID_VALUE)?;
        if entry.references == 0 {
            let entry = self.user_objects.remove(object)?;
            self.destructors.push(entry.destructor);
        }
        Ok(())
    }

    /// Adds references of a graph to a user object; with `moved`, they were references of the program.
    pub(crate) fn add_graph_references(
        &mut self,
        graph: Raw,
        object: Raw,
        count: u32,
        moved: bool,
    ) -> Outcome<()> {
        self.graphs.get(graph)?;
        if moved {
            let references = self.user_objects.get(object)?.references;
            if count == 0 || references < count {
                return Err(Status::INVALID_VALUE);
            }
        } else {
            self.retain_user_object(object, count)?;
        }
        *self
            .graphs
            .get_mut(graph)?
            .user_objects
            .entry(object)
            .or_default() += count;
        Ok(())
    }

    /// Removes references of a graph to a user object.
    pub(crate) fn remove_graph_references(
        &mut self,
        graph: Raw,
        object: Raw,
        count: u32,
    ) -> Outcome<()> {
        let references = &mut self.graphs.get_mut(graph)?.user_objects;
        let invalid = Status::INVALID_VALUE;
        let held = references.get_mut(&object).ok_or(invalid)?;
        *held = held.checked_sub(count).ok_or(invalid)?;
        if *held == 0 {
            references.remove(&object);
        }
        self.release_user_object(object, count)
    }
}
