//! Links of several modules into one.

use super::Driver;
use super::images::{self, LoadError};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};
use ptx_transform::{LinkOptions, link};

/// A link in progress.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    /// The texts of the modules.
    texts: Vec<Vec<u8>>,
    /// The linked module, with a zero byte at the end.
    linked: Option<Vec<u8>>,
}

impl Kind for Linker {
    const NUMBER: usize = 7;
}

/// An input of a link.
#[derive(Debug)]
pub(crate) struct LinkInput {
    /// The number of the kind of code.
    pub(crate) kind: u32,
    pub(crate) bytes: Vec<u8>,
}

/// The number of libraries among the kinds of code.
const LIBRARY: u32 = 4;

impl Driver {
    /// Adds an input to a link.
    pub(crate) fn add_link_input(&mut self, linker: Raw, input: LinkInput) -> Outcome<()> {
        let target = self.config.target;
        let linker = self.linkers.get_mut(linker)?;
        match images::ptx_of(&input.bytes, target) {
            Ok(text) => linker.texts.push(text),
            // The driver provides the functions of the device runtime, which is such a library.
            Err(_) if input.kind == LIBRARY => {}
            Err(error) => return Err(printed(error)),
        }
        Ok(())
    }

    /// Links the inputs. The result, a text that ends with a zero byte, exists until the link is destroyed.
    pub(crate) fn complete_link(&mut self, linker: Raw) -> Outcome<&[u8]> {
        let target = self.config.target;
        let linker = self.linkers.get_mut(linker)?;
        let mut text = match &linker.texts[..] {
            [] => return Err(Status::INVALID_VALUE),
            [only] => only.clone(),
            several => linked(several, target).map_err(printed)?,
        };
        text.push(0);
        Ok(linker.linked.insert(text))
    }
}

/// The text of several modules as one.
pub(crate) fn linked(texts: &[Vec<u8>], target: ptx_isa::Target) -> Result<Vec<u8>, LoadError> {
    let modules: Result<Vec<_>, _> = texts
        .iter()
        .map(|text| images::parse(text, target))
        .collect();
    let modules = modules?;
    let references: Vec<_> = modules.iter().collect();
    match link(&references, &LinkOptions::default()) {
        Ok(linked) => Ok(linked.text().to_vec()),
        Err(error) => Err(LoadError::new(Status::INVALID_PTX, error.to_string())),
    }
}

/// Prints the reason why code cannot be used, and returns its status.
fn printed(error: LoadError) -> Status {
    eprintln!("ptxkit: {error}");
    error.status
}
