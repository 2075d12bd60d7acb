//! An input, and its content.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ptx_container::{ContainerEntry, DEFAULT_LIMIT, InputFormat};
use ptx_ir::SourceText;

use super::container::{self, Opened};
use super::origin::Origin;

/// An input.
pub(crate) struct Input {
    pub(super) origin: Origin,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// That of the file, which is not read yet.
    File,
    /// A file that was read to know what it is.
    Text(SourceText),
    /// Nothing, because of this error.
    Unreadable(String),
    /// An entry of a file.
    Entry(Arc<Opened>, Box<ContainerEntry>),
}

/// The content of an input with its name.
pub(crate) struct Source {
    /// The path with control characters escaped.
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Its content.
    pub(crate) bytes: SourceText,
}

impl Input {
    pub(super) fn file(path: &Path) -> Self {
        Self {
            origin: Origin::new(Some(path)),
            content: Content::File,
        }
    }

    pub(super) fn unreadable(origin: Origin, error: &dyn Display) -> Self {
        Self {
            origin,
            content: Content::Unreadable(error.to_string()),
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The size in bytes, as far as it is known before reading.
    pub(super) fn size(&self) -> u64 {
        match &self.content {
            Content::File => {
                let path = self.origin.file.as_deref();
                path.and_then(|p| fs::metadata(p).ok())
                    .map_or(0, |m| m.len())
            }
            Content::Text(text) => text.len() as u64,
            Content::Unreadable(_) => 0,
            Content::Entry(_, entry) => entry.size(),
        }
    }

    pub(super) fn read(&self) -> io::Result<Source> {
        let bytes: SourceText = match &self.content {
            Content::File => {
                let path = self.origin.file.as_deref().unwrap_or(Path::new("-"));
                let bytes = fs::read(path).map(SourceText::from)?;
                let format = InputFormat::of(&bytes);
                if !container::may_be_ptx(format) {
                    let opened = Opened::new(bytes).map_err(io::Error::other)?;
                    return Err(io::Error::other(opened.refusal(0)));
                }
                bytes
            }
            Content::Text(text) => text.clone(),
            Content::Unreadable(error) => return Err(io::Error::other(error.clone())),
            Content::Entry(file, entry) => {
                let content = entry.content(&file.bytes, DEFAULT_LIMIT);
                content.map_err(io::Error::other)?.into_owned().into()
            }
        };
        Ok(Source {
            name: self.origin.name(),
            origin: self.origin.clone(),
            bytes,
        })
    }
}
