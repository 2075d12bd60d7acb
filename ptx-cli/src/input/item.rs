//! An input: its origin and its content.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_container::{ContainerEntry, DEFAULT_LIMIT, InputFormat};
use ptx_ir::SourceText;
use ptx_report::clean;

use super::container::{self, Opened};

/// The origin of an input.
#[derive(Clone)]
pub(crate) struct Origin {
    /// `None` for standard input.
    pub(super) file: Option<PathBuf>,
    /// The name of a module in this file.
    pub(super) module: Option<String>,
    /// Whether the file is the input.
    pub(super) is_file: bool,
    /// Whether the file was found in a directory, and is a link to a file outside of it.
    pub(super) leads_out: bool,
}

impl Origin {
    pub(super) fn new(file: Option<&Path>) -> Self {
        Self {
            file: file.map(Path::to_owned),
            module: None,
            is_file: file.is_some(),
            leads_out: false,
        }
    }

    /// The file that is the input or contains it; `None` for standard input.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The file that can be replaced by a result.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| self.is_file)
    }

    /// Whether the file was found in a directory, and is a link to a file outside of it.
    pub(crate) fn leads_out(&self) -> bool {
        self.leads_out
    }

    /// The file that contains the input, if a result cannot replace this file.
    pub(crate) fn container(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| !self.is_file)
    }

    /// The name of the input, with control characters escaped.
    pub(crate) fn name(&self) -> String {
        let file = match &self.file {
            Some(path) => path.to_string_lossy(),
            None => "<stdin>".into(),
        };
        match &self.module {
            Some(module) => clean(&format!("{file}!{module}")).into_owned(),
            None => clean(&file).into_owned(),
        }
    }
}

/// An input.
pub(crate) struct Input {
    pub(super) origin: Origin,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// The content of the file, which is not read yet.
    File,
    /// The content of a file that was read to find its format.
    Text(SourceText),
    /// An error instead of a content.
    Unreadable(String),
    /// An entry of a file.
    Entry(Arc<Opened>, Box<ContainerEntry>),
}

/// The content of an input with its name.
pub(crate) struct Source {
    /// The path with control characters escaped.
    pub(crate) name: String,
    pub(crate) origin: Origin,
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
            Content::File => self
                .origin
                .file
                .as_deref()
                .and_then(|path| fs::metadata(path).ok())
                .map_or(0, |metadata| metadata.len()),
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
