//! User objects: data of the program that lives as long as a graph refers to it.

use crate::call::{call, releasing};
use crate::caller::{Out, set};
use crate::handles::Raw;
use crate::state::{HostFunction, UserObject};
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuUserObjectCreate(
    object: Out<'_, Raw>,
    data: usize,
    destructor: Option<extern "C" fn(usize)>,
    references: u32,
    flags: u32,
) -> Status {
    const NO_DESTRUCTOR_SYNCHRONIZATION: u32 = 1;
    call("cuUserObjectCreate", |driver| {
        if references == 0 || flags != NO_DESTRUCTOR_SYNCHRONIZATION {
            return Err(Status::INVALID_VALUE);
        }
        let destructor = destructor.ok_or(Status::INVALID_VALUE)?;
        let handle = driver.user_objects.insert(UserObject {
            destructor: HostFunction::Plain(destructor, data),
            references,
        });
        set(object, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuUserObjectRetain(object: Raw, count: u32) -> Status {
    call("cuUserObjectRetain", |driver| {
        driver.retain_user_object(object, count)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuUserObjectRelease(object: Raw, count: u32) -> Status {
    releasing("cuUserObjectRelease", |driver| {
        driver.release_user_object(object, count)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphRetainUserObject(
    graph: Raw,
    object: Raw,
    count: u32,
    flags: u32,
) -> Status {
    const MOVE: u32 = 1;
    call("cuGraphRetainUserObject", |driver| {
        if flags & !MOVE != 0 {
            return Err(Status::INVALID_VALUE);
        }
        driver.add_graph_references(graph, object, count, flags == MOVE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphReleaseUserObject(graph: Raw, object: Raw, count: u32) -> Status {
    releasing("cuGraphReleaseUserObject", |driver| {
        driver.remove_graph_references(graph, object, count)
    })
}
