//! Decompression with limits.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;
use ptx_ir::Code;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::entry::{Compression, ContainerEntry, EntryKind, FLAG_OBFUSCATED};
use crate::error::ContainerError;

/// A limit for decompressed contents in bytes: 1 GiB. It is several times the size of the largest module in the libraries of CUDA.
pub const DEFAULT_LIMIT: u64 = 1 << 30;

/// The maximum window of zstd frames in bytes, if the content is not larger. zstd only uses a larger window with unusual options.
const MAX_WINDOW: u64 = 8 << 20;

/// The number of bytes of zstd that are decompressed at a time.
const ZSTD_STEP: usize = 1 << 20;

impl ContainerEntry {
    /// Returns the decompressed content, without the zero bytes after PTX. `bytes` must be the file that the entry was read from; for another file, the
    /// result is an error or meaningless.
    ///
    /// At most `limit` bytes are decompressed. At most three times as much memory, plus 32 MiB, is allocated.
    ///
    /// # Errors
    ///
    /// * [`Code::ContentTooLarge`] if the content is larger than the limit
    /// * [`Code::CorruptContent`] if the content cannot be decompressed, or its size differs from the size in the header
    /// * [`Code::UnsupportedContainer`] if the content is obfuscated, or compressed by an unknown method
    /// * [`Code::TruncatedContainer`] if `bytes` ends before the end of the content
    pub fn content<'a>(
        &self,
        bytes: &'a [u8],
        limit: u64,
    ) -> Result<Cow<'a, [u8]>, ContainerError> {
        self.decompress(bytes, limit).map_err(|failure| {
            let message = format!("{}: {}", self.name(), failure.message);
            ContainerError::new(failure.code, self.offset, message).within(self.member.as_ref())
        })
    }

    fn decompress<'a>(&self, bytes: &'a [u8], limit: u64) -> Result<Cow<'a, [u8]>, Failure> {
        let end = self.payload.saturating_add(self.stored);
        let Some(stored) = bytes.get(self.payload..end) else {
            let message = "the file ends before its content";
            return Err(Failure::new(Code::TruncatedContainer, message));
        };
        if self.flags & FLAG_OBFUSCATED != 0 {
            let message = "the content is obfuscated";
            return Err(Failure::new(Code::UnsupportedContainer, message));
        }
        if self.size > limit {
            let message = format!("{} bytes are more than the limit of {limit}", self.size);
            return Err(Failure::new(Code::ContentTooLarge, message));
        }
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let content = match self.compression() {
            Compression::None => Cow::Borrowed(stored),
            Compression::Lz4 => Cow::Owned(lz4(stored, size)?),
            Compression::Zstd => Cow::Owned(zstd(stored, size)?),
            Compression::Unknown => {
                let message = "the content is compressed in an unknown way";
                return Err(Failure::new(Code::UnsupportedContainer, message));
            }
        };
        Ok(match self.kind {
            EntryKind::Ptx => without_trailing_zeros(content),
            _ => content,
        })
    }
}

/// An error of a content without its location.
struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    fn corrupt(message: impl Into<String>) -> Self {
        Self::new(Code::CorruptContent, message)
    }

    fn wrong_size(size: usize, expected: usize) -> Self {
        Self::corrupt(format!(
            "expected {expected} bytes after decompression, found {size}{}",
            if size > expected { " or more" } else { "" }
        ))
    }
}

fn without_trailing_zeros(content: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let last = content.iter().rposition(|byte| *byte != 0);
    let len = last.map_or(0, |last| last + 1);
    match content {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..len).unwrap_or(bytes)),
        Cow::Owned(mut bytes) => {
            bytes.truncate(len);
            Cow::Owned(bytes)
        }
    }
}

/// Decompresses a block of LZ4 to `size` bytes.
fn lz4(stored: &[u8], size: usize) -> Result<Vec<u8>, Failure> {
    // A byte of LZ4 yields at most 255 bytes, so a small file cannot make this function allocate much memory.
    if size / 256 > stored.len() {
        return Err(Failure::corrupt(format!(
            "{} bytes of LZ4 cannot yield {size} bytes",
            stored.len()
        )));
    }
    let mut content = vec![0; size];
    match lz4_flex::block::decompress_into(stored, &mut content) {
        Ok(len) if len == size => Ok(content),
        Ok(len) => Err(Failure::wrong_size(len, size)),
        Err(error) => Err(Failure::corrupt(format!("invalid LZ4: {error}"))),
    }
}

/// Decompresses a frame of zstd to `size` bytes. Memory is only allocated for bytes that the frame yields.
fn zstd(mut stored: &[u8], size: usize) -> Result<Vec<u8>, Failure> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW.max(size as u64));
    decoder.init(&mut stored).map_err(invalid_zstd)?;
    let mut content = Vec::new();
    while !decoder.is_finished() {
        let step = BlockDecodingStrategy::UptoBytes(ZSTD_STEP);
        decoder
            .decode_blocks(&mut stored, step)
            .map_err(invalid_zstd)?;
        let chunk = decoder.collect().unwrap_or_default();
        if content.len() + chunk.len() + decoder.can_collect() > size {
            return Err(Failure::wrong_size(size + 1, size));
        }
        if content.is_empty() {
            content = chunk;
        } else {
            // The capacity doubles, as usual, but never exceeds the size.
            content.reserve_exact(content.len().max(chunk.len()).min(size - content.len()));
            content.extend(chunk);
        }
    }
    if content.len() != size {
        return Err(Failure::wrong_size(content.len(), size));
    }
    Ok(content)
}

fn invalid_zstd(error: impl Display) -> Failure {
    Failure::corrupt(format!("invalid zstd: {error}"))
}

/// Decompresses a gzip file, which may have several members.
///
/// # Errors
///
/// [`Code::ContentTooLarge`] if the result has more than `limit` bytes, [`Code::CorruptContent`] if the file is not a valid gzip file.
///
/// ```
/// let error = ptx_container::gunzip(b"\x1f\x8b", 1000).unwrap_err();
/// assert_eq!(error.code(), ptx_ir::Code::CorruptContent);
/// ```
pub fn gunzip(bytes: &[u8], limit: u64) -> Result<Vec<u8>, ContainerError> {
    let mut content = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes).take(limit.saturating_add(1));
    match decoder.read_to_end(&mut content) {
        Ok(len) if len as u64 <= limit => Ok(content),
        Ok(_) => {
            let message = format!("the gzip file contains more than the limit of {limit} bytes");
            Err(ContainerError::new(Code::ContentTooLarge, 0, message))
        }
        Err(error) => {
            let message = format!("invalid gzip file: {error}");
            Err(ContainerError::new(Code::CorruptContent, 0, message))
        }
    }
}
