//! Where an input comes from.

use std::path::{Path, PathBuf};

use ptx_report::clean;

/// Where an input comes from.
#[derive(Clone)]
pub(crate) struct Origin {
    /// `None` for standard input.
    pub(super) file: Option<PathBuf>,
    /// The name of a module in this file.
    pub(super) module: Option<String>,
    /// Whether the file is the input.
    pub(super) is_file: bool,
    /// Whether it was found in a directory, and is a link to a file outside of it.
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

    /// The file that it is, or is in; `None` for standard input.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The file that can be replaced by a result.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| self.is_file)
    }

    /// Whether it was found in a directory, and is a link to a file outside of it.
    pub(crate) fn leads_out(&self) -> bool {
        self.leads_out
    }

    /// The file that contains it, if a result cannot replace that.
    pub(crate) fn container(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| !self.is_file)
    }

    /// Its name, with control characters escaped.
    pub(crate) fn name(&self) -> String {
        let file = self.file.as_ref().map(|path| path.to_string_lossy());
        let file = file.unwrap_or("<stdin>".into());
        match &self.module {
            Some(module) => clean(&format!("{file}!{module}")).into_owned(),
            None => clean(&file).into_owned(),
        }
    }
}
