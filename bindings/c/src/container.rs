//! The PTX modules in executables, libraries, objects, archives and fatbins.

use std::mem::MaybeUninit;

use ptxkit::container::{ContainerEntry, ContainerError, EntryKind, entries};

use crate::memory::{create, free, ptxkit_string};
use crate::status::{get, ptxkit_status, run};

/// The maximum size of a decompressed module in bytes.
const MAX_CONTENT: u64 = 1 << 30;

/// The PTX modules of a binary file. They never change, so any number of threads may use them at the same time.
pub struct ptxkit_container {
    entries: Vec<Entry>,
    problems: Vec<String>,
}

/// A PTX module in a binary file.
struct Entry {
    name: String,
    target: String,
    source: Vec<u8>,
}

/// A PTX module of a binary file.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_entry {
    /// A name that is unique in the file, such as `3.sm_90.ptx`.
    pub name: ptxkit_string,
    /// The target for which it was compiled, such as `sm_90`.
    pub target: ptxkit_string,
    /// The decompressed text.
    pub source: ptxkit_string,
}

/// Reads an entry; `None` if it is not PTX.
fn read(entry: &ContainerEntry, file: &[u8]) -> Result<Option<Entry>, ContainerError> {
    if entry.kind() != EntryKind::Ptx {
        return Ok(None);
    }
    Ok(Some(Entry {
        name: entry.name(),
        target: entry.target(),
        source: entry.content(file, MAX_CONTENT)?.into_owned(),
    }))
}

/// Finds the PTX modules of a binary file. Parts that cannot be read become problems; a file without PTX has no modules. Free the result with
/// `ptxkit_container_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_open(
    file: ptxkit_string,
    container: Option<&mut MaybeUninit<Option<Box<ptxkit_container>>>>,
) -> ptxkit_status {
    run(|| {
        create(container, || {
            let bytes = file.bytes()?;
            let mut container = ptxkit_container {
                entries: Vec::new(),
                problems: Vec::new(),
            };
            for entry in entries(bytes) {
                match entry.and_then(|e| read(&e, bytes)) {
                    Ok(entry) => container.entries.extend(entry),
                    Err(error) => container.problems.push(error.to_string()),
                }
            }
            Ok(container)
        })
    })
}

/// Returns the number of PTX modules of a binary file.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_count(container: Option<&ptxkit_container>) -> usize {
    get(|| Some(container?.entries.len()))
}

/// Returns a PTX module of a binary file; an empty one if there is no module at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_get(
    container: Option<&ptxkit_container>,
    index: usize,
) -> ptxkit_entry {
    get(|| {
        let entry = container?.entries.get(index)?;
        Some(ptxkit_entry {
            name: ptxkit_string::new(&entry.name),
            target: ptxkit_string::new(&entry.target),
            source: ptxkit_string::from_bytes(&entry.source),
        })
    })
}

/// Returns the error of a part of a binary file that could not be read; an empty string if there is no problem at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_problem(
    container: Option<&ptxkit_container>,
    index: usize,
) -> ptxkit_string {
    get(|| Some(ptxkit_string::new(container?.problems.get(index)?)))
}

/// Frees the PTX modules of a binary file.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_free(container: Option<Box<ptxkit_container>>) {
    free(container);
}
