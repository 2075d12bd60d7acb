//! Files, directories and modules in containers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ptx_container::{ContainerError, DEFAULT_LIMIT, EntryKind, InputFormat};
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

/// What is in a file.
pub(crate) enum Content {
    Module(String, SourceText),
    /// A file or a part of it that cannot be read: its name, a code and a message.
    Unreadable(String, String, String),
}

/// Calls `each` with the modules of a file, one after the other, and with what cannot be read.
pub(crate) fn read(source: Source, each: &mut dyn FnMut(Content)) {
    let (name, bytes) = match source {
        Source::Bytes(name, bytes) => (name, Ok(bytes)),
        Source::Path(path) => (name_of(&path), fs::read(&path)),
    };
    match bytes {
        Ok(bytes) => modules(&name, bytes, each),
        Err(error) => each(unreadable(&name, &error)),
    }
}

/// The name of a file in the tables.
pub(crate) fn name_of(path: &Path) -> String {
    ptx_report::clean(&path.to_string_lossy()).into_owned()
}

/// A file that the system cannot read.
pub(crate) fn unreadable(name: &str, error: &io::Error) -> Content {
    Content::Unreadable(name.to_owned(), "unreadable".to_owned(), error.to_string())
}

/// `member k.o: byte 0x40: the entry is truncated`
fn place_and_message(error: &ContainerError) -> String {
    let text = error.to_string();
    let after_code = text.split_once(": ").map(|(_, rest)| rest.to_owned());
    after_code.unwrap_or(text)
}

fn modules(name: &str, mut bytes: Vec<u8>, each: &mut dyn FnMut(Content)) {
    let refuse = |error: &ContainerError| {
        Content::Unreadable(
            name.to_owned(),
            error.code().to_string(),
            place_and_message(error),
        )
    };
    let mut unpacked = match ptx_container::unpack(&bytes, DEFAULT_LIMIT) {
        Ok(unpacked) => unpacked,
        Err(error) => return each(refuse(&error)),
    };
    bytes = unpacked.content.take().unwrap_or(bytes);
    if matches!(unpacked.format, InputFormat::Ptx | InputFormat::Text) {
        return each(Content::Module(name.to_owned(), bytes.into()));
    }
    let mut found = false;
    for entry in ptx_container::entries(&bytes) {
        let content = entry.and_then(|entry| match entry.kind() {
            EntryKind::Ptx => {
                let content = entry.content(&bytes, DEFAULT_LIMIT)?;
                let name = ptx_report::clean(&format!("{name}!{}", entry.name())).into_owned();
                Ok(Some(Content::Module(name, content.into_owned().into())))
            }
            _ => Ok(None),
        });
        match content {
            Ok(Some(module)) => {
                found = true;
                each(module);
            }
            Ok(None) => {}
            Err(error) => {
                found = true;
                each(refuse(&error));
            }
        }
    }
    if !found {
        let message = format!("expected PTX, found {unpacked}");
        each(Content::Unreadable(
            name.to_owned(),
            Code::NoPtx.to_string(),
            message,
        ));
    }
}

/// The files of sources, in order. Directories are read when it is their turn.
pub(crate) struct Files<I> {
    sources: I,
    /// What is left of the directories that are being read, the innermost last.
    folders: Vec<std::vec::IntoIter<PathBuf>>,
}

/// A file, or what cannot be read.
pub(crate) enum Found {
    File(Source),
    Unreadable(PathBuf, io::Error),
}

impl<I: Iterator<Item = Source>> Files<I> {
    pub(crate) fn new(sources: I) -> Self {
        Self {
            sources,
            folders: Vec::new(),
        }
    }

    /// The entries of a directory in order.
    fn enter(&mut self, folder: &Path) -> io::Result<()> {
        let entries = fs::read_dir(folder)?;
        let mut paths: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<io::Result<_>>()?;
        paths.sort();
        self.folders.push(paths.into_iter());
        Ok(())
    }

    /// Whether a path in a directory is a directory; links to directories are not followed.
    fn is_folder(path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|m| m.is_dir())
    }
}

impl<I: Iterator<Item = Source>> Iterator for Files<I> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let folder = match self.folders.last_mut() {
                Some(paths) => match paths.next() {
                    Some(path) if Self::is_folder(&path) => path,
                    Some(path) if path.extension().is_some_and(|e| e == "ptx") => {
                        return Some(Found::File(Source::Path(path)));
                    }
                    Some(_) => continue,
                    None => {
                        self.folders.pop();
                        continue;
                    }
                },
                None => match self.sources.next()? {
                    Source::Path(path) if path.is_dir() => path,
                    other => return Some(Found::File(other)),
                },
            };
            if let Err(error) = self.enter(&folder) {
                return Some(Found::Unreadable(folder, error));
            }
        }
    }
}
