//! The input of a scan: files, directories and modules in containers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptx_container::{ContainerEntry, ContainerError, DEFAULT_LIMIT, EntryKind, InputFormat};
use ptx_ir::{Code, SourceText};

/// An input of a scan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// A file, or all `.ptx` files in a directory and its subdirectories, in the order of their paths.
    Path(PathBuf),
    /// The content of a file, and its name in the tables.
    Bytes(String, Vec<u8>),
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

/// A module in a file, or an error.
pub(crate) enum Content {
    Module { name: String, source: SourceText },
    Unreadable(Unreadable),
}

/// A file, or a part of it, that cannot be read.
pub(crate) struct Unreadable {
    pub(crate) name: String,
    /// The code of the error.
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Unreadable {
    fn from_io(name: String, error: &io::Error) -> Self {
        Self {
            name,
            code: "unreadable".to_owned(),
            message: error.to_string(),
        }
    }

    /// The message is the text of the error without the code before the first colon: `member k.o: byte 0x40: the entry is truncated`.
    fn from_container(name: &str, error: &ContainerError) -> Self {
        let text = error.to_string();
        let message = text.split_once(": ").map(|(_, message)| message.to_owned());
        Self {
            name: name.to_owned(),
            code: error.code().to_string(),
            message: message.unwrap_or(text),
        }
    }
}

/// Calls `visit` with each module of a file, and with each part that cannot be read.
pub(crate) fn read(source: Source, visit: &mut dyn FnMut(Content)) {
    match source {
        Source::Bytes(name, bytes) => read_bytes(&name, bytes, visit),
        Source::Path(path) => match fs::read(&path) {
            Ok(bytes) => read_bytes(&table_name(&path), bytes, visit),
            Err(error) => {
                let unreadable = Unreadable::from_io(table_name(&path), &error);
                visit(Content::Unreadable(unreadable));
            }
        },
    }
}

/// The name of a file in the tables.
fn table_name(path: &Path) -> String {
    ptx_report::clean(&path.to_string_lossy()).into_owned()
}

fn read_bytes(name: &str, mut bytes: Vec<u8>, visit: &mut dyn FnMut(Content)) {
    let mut unpacked = match ptx_container::unpack(&bytes, DEFAULT_LIMIT) {
        Ok(unpacked) => unpacked,
        Err(error) => {
            let unreadable = Unreadable::from_container(name, &error);
            return visit(Content::Unreadable(unreadable));
        }
    };
    bytes = unpacked.content.take().unwrap_or(bytes);
    if matches!(unpacked.format, InputFormat::Ptx | InputFormat::Text) {
        return visit(Content::Module {
            name: name.to_owned(),
            source: bytes.into(),
        });
    }
    let mut is_empty = true;
    for entry in ptx_container::entries(&bytes) {
        match entry.and_then(|entry| read_entry(name, &bytes, &entry)) {
            Ok(None) => {}
            Ok(Some(module)) => {
                is_empty = false;
                visit(module);
            }
            Err(error) => {
                is_empty = false;
                visit(Content::Unreadable(Unreadable::from_container(
                    name, &error,
                )));
            }
        }
    }
    if is_empty {
        visit(Content::Unreadable(Unreadable {
            name: name.to_owned(),
            code: Code::NoPtx.to_string(),
            message: format!("expected PTX, found {unpacked}"),
        }));
    }
}

/// The module of an entry of a container; `None` if it is not PTX.
fn read_entry(
    container: &str,
    bytes: &[u8],
    entry: &ContainerEntry,
) -> Result<Option<Content>, ContainerError> {
    if entry.kind() != EntryKind::Ptx {
        return Ok(None);
    }
    let content = entry.content(bytes, DEFAULT_LIMIT)?.into_owned();
    let name = format!("{container}!{}", entry.name());
    Ok(Some(Content::Module {
        name: ptx_report::clean(&name).into_owned(),
        source: content.into(),
    }))
}

/// The files of sources in order. A directory is listed when the files before it were returned.
pub(crate) struct Files<I> {
    sources: I,
    /// The remaining paths of the directories that are being listed, each one in the directory before it.
    directories: Vec<std::vec::IntoIter<PathBuf>>,
}

impl<I: Iterator<Item = Source>> Files<I> {
    pub(crate) fn new(sources: I) -> Self {
        Self {
            sources,
            directories: Vec::new(),
        }
    }

    fn enter(&mut self, directory: &Path) -> io::Result<()> {
        let mut paths = fs::read_dir(directory)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        self.directories.push(paths.into_iter());
        Ok(())
    }
}

/// Whether a path in a directory is a directory. Links to directories are not followed.
fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

impl<I: Iterator<Item = Source>> Iterator for Files<I> {
    type Item = Result<Source, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let directory = match self.directories.last_mut() {
                Some(paths) => match paths.next() {
                    Some(path) if is_directory(&path) => path,
                    Some(path) if path.extension().is_some_and(|e| e == "ptx") => {
                        return Some(Ok(Source::Path(path)));
                    }
                    Some(_) => continue,
                    None => {
                        self.directories.pop();
                        continue;
                    }
                },
                None => match self.sources.next()? {
                    Source::Path(path) if path.is_dir() => path,
                    file => return Some(Ok(file)),
                },
            };
            if let Err(error) = self.enter(&directory) {
                return Some(Err(Unreadable::from_io(table_name(&directory), &error)));
            }
        }
    }
}
