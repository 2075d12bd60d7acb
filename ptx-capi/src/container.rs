//! PTX in executables, libraries, objects, archives and fatbins.

use std::mem::MaybeUninit;

use ptxkit::container::{ContainerEntry, ContainerError, EntryKind, entries};

use crate::memory::{create, free, ptxkit_string};
use crate::status::{get, ptxkit_status, run};

/// Larger contents are not decompressed, in bytes.
const MAX_CONTENT: u64 = 1 << 30;

type Entry = (String, String, Vec<u8>);

/// The PTX of a binary file. It does not change: any number of threads may use it at the same time.
pub struct ptxkit_container {
    entries: Vec<Entry>,
    problems: Vec<String>,
}

/// A PTX module of a binary file.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_entry {
    /// A name that is unique in the file, such as `3.sm_90.ptx`.
    pub name: ptxkit_string,
    /// The target for which it was compiled, such as `sm_90`.
    pub target: ptxkit_string,
    /// Its text, decompressed.
    pub source: ptxkit_string,
}

/// Name, target and text of an entry that is PTX.
fn read(entry: &ContainerEntry, file: &[u8]) -> Result<Option<Entry>, ContainerError> {
    if entry.kind() != EntryKind::Ptx {
        return Ok(None);
    }
    let content = entry.content(file, MAX_CONTENT)?.into_owned();
    Ok(Some((entry.name(), entry.target(), content)))
}

/// Finds the PTX of a binary file. What cannot be read is a problem; a file without PTX has no entries. Free the result with
/// `ptxkit_container_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_open(
    file: ptxkit_string,
    container: Option<&mut MaybeUninit<Option<Box<ptxkit_container>>>>,
) -> ptxkit_status {
    run(|| {
        create(container, || {
            let bytes = file.bytes()?;
            let mut found = ptxkit_container {
                entries: Vec::new(),
                problems: Vec::new(),
            };
            for entry in entries(bytes) {
                match entry.and_then(|e| read(&e, bytes)) {
                    Ok(entry) => found.entries.extend(entry),
                    Err(error) => found.problems.push(error.to_string()),
                }
            }
            Ok(found)
        })
    })
}

/// Returns the number of PTX modules of a binary file.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_count(container: Option<&ptxkit_container>) -> usize {
    get(|| Some(container?.entries.len()))
}

/// Returns a PTX module of a binary file; an empty one if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_get(
    container: Option<&ptxkit_container>,
    index: usize,
) -> ptxkit_entry {
    get(|| {
        let (name, target, source) = container?.entries.get(index)?;
        Some(ptxkit_entry {
            name: ptxkit_string::of(name),
            target: ptxkit_string::of(target),
            source: ptxkit_string::bytes_of(source),
        })
    })
}

/// Returns why a part of a binary file could not be read; an empty string if there is no problem at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_problem(
    container: Option<&ptxkit_container>,
    index: usize,
) -> ptxkit_string {
    get(|| Some(ptxkit_string::of(container?.problems.get(index)?)))
}

/// Frees the PTX of a binary file.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_container_free(container: Option<Box<ptxkit_container>>) {
    free(container);
}
