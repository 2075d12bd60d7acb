//! Decompresses files until their modules can be listed.

use std::fmt;

use crate::{ContainerError, InputFormat, gunzip, unzip};

/// The content of a file after decompression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unpacked {
    /// The decompressed content; `None` for a file that is not compressed. [`entries`](crate::entries) reads it.
    pub content: Option<Vec<u8>>,
    /// The format of the content. The files of a zip archive are an archive.
    pub format: InputFormat,
    /// The format for messages: that of the file, or that of the decompressed content of a gzip file.
    pub named: InputFormat,
    /// Whether the file is compressed by gzip.
    pub is_gzip: bool,
}

/// Decompresses a gzip file, and the files of a zip archive or Python wheel, which may be in a gzip file.
///
/// # Errors
///
/// The file is damaged, or its content has more than `limit` bytes.
///
/// ```
/// use ptx_container::{DEFAULT_LIMIT, InputFormat, unpack};
///
/// let text = b".version 8.0\n.target sm_90\n";
/// let unpacked = unpack(text, DEFAULT_LIMIT)?;
/// assert_eq!((unpacked.format, unpacked.content), (InputFormat::Ptx, None));
/// # Ok::<(), ptx_container::ContainerError>(())
/// ```
pub fn unpack(bytes: &[u8], limit: u64) -> Result<Unpacked, ContainerError> {
    let format = InputFormat::of(bytes);
    let mut unpacked = Unpacked {
        content: None,
        format,
        named: format,
        is_gzip: format == InputFormat::Gzip,
    };
    if unpacked.is_gzip {
        let content = gunzip(bytes, limit)?;
        unpacked.format = InputFormat::of(&content);
        unpacked.named = unpacked.format;
        unpacked.content = Some(content);
    }
    if unpacked.format == InputFormat::Zip {
        let content = unzip(unpacked.content.as_deref().unwrap_or(bytes), limit)?;
        unpacked.format = InputFormat::Archive;
        unpacked.content = Some(content);
    }
    Ok(unpacked)
}

/// `an ELF object in a gzip file`
impl fmt::Display for Unpacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compressed = if self.is_gzip { " in a gzip file" } else { "" };
        write!(f, "{}{compressed}", self.named)
    }
}
