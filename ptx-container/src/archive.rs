//! The members of an archive (`.a`, `.lib`).
//!
//! Names are only read as far as they are short: in a crafted archive, all members could share one long name.

use std::sync::Arc;

use ptx_ir::Code;

use crate::error::ContainerError;

/// A longer name is cut.
const MOST_NAME: usize = 256;
const HEADER: usize = 60;

/// A member: its name, and where its content is.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Iterates over the members that contain files.
pub(crate) struct Members<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The table of long names, in the style of GNU and Windows.
    names: &'a [u8],
}

impl<'a> Members<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: b"!<arch>\n".len(),
            names: &[],
        }
    }

    fn fail(&mut self, code: Code, message: &str) -> Option<Result<Member, ContainerError>> {
        let error = ContainerError::new(code, self.at, message);
        self.at = self.bytes.len();
        Some(Err(error))
    }
}

impl Iterator for Members<'_> {
    type Item = Result<Member, ContainerError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
            let Some(header) = rest.get(..HEADER) else {
                return self.fail(
                    Code::TruncatedContainer,
                    "the header of a member is truncated",
                );
            };
            let (Some(size), true) = (number(&header[48..58]), header.ends_with(b"`\n")) else {
                return self.fail(Code::MalformedContainer, "expected the header of a member");
            };
            let mut start = self.at + HEADER;
            let end = start.saturating_add(size);
            let Some(content) = self.bytes.get(start..end) else {
                return self.fail(Code::TruncatedContainer, "a member is truncated");
            };
            self.at = end.saturating_add(end % 2).min(self.bytes.len());
            let raw = header[..16].trim_ascii_end();
            let name = match raw {
                b"//" => {
                    self.names = content;
                    continue;
                }
                // Tables of symbols.
                b"/" | b"/SYM64/" => continue,
                [b'/', digits @ ..] => {
                    let at = number(digits).unwrap_or(usize::MAX);
                    self.names.get(at..).unwrap_or_default()
                }
                // In the style of BSD, the name is before the content.
                [b'#', b'1', b'/', digits @ ..] => {
                    let len = number(digits).unwrap_or(0).min(content.len());
                    start += len;
                    &content[..len]
                }
                raw => raw,
            };
            let name = name.get(..MOST_NAME).unwrap_or(name);
            let len = name.iter().position(|b| matches!(b, b'\n' | 0));
            let name = name[..len.unwrap_or(name.len())].trim_ascii_end();
            let name = name.strip_suffix(b"/").unwrap_or(name);
            let name = String::from_utf8_lossy(name).into();
            return Some(Ok(Member { name, start, end }));
        }
    }
}

/// A decimal number followed by spaces.
fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits.trim_ascii_end())
        .ok()?
        .parse()
        .ok()
}
