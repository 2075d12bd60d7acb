//! Errors.

use std::fmt;
use std::sync::Arc;

use ptx_ir::Code;

/// Why a file or a part of it cannot be read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ContainerError {
    code: Code,
    offset: u64,
    member: Option<Arc<str>>,
    message: String,
}

impl ContainerError {
    pub(crate) fn new(code: Code, offset: usize, message: impl Into<String>) -> Self {
        Self {
            code,
            offset: offset as u64,
            member: None,
            message: message.into(),
        }
    }

    pub(crate) fn within(mut self, member: Option<&Arc<str>>) -> Self {
        self.member = member.cloned();
        self
    }

    /// One of the codes `PTX11xx`.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Where, in bytes from the start of the file.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The member of the archive that has the error.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// What was found and expected, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// `PTX1102: member k.o: byte 0x40: the entry is truncated`
impl fmt::Display for ContainerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.code)?;
        if let Some(member) = &self.member {
            write!(f, "member {member}: ")?;
        }
        write!(f, "byte {:#x}: {}", self.offset, self.message)
    }
}

impl std::error::Error for ContainerError {}
