//! Decompression, with limits.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;
use ptx_ir::Code;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::entry::{Compression, ContainerEntry, EntryKind, FLAG_OBFUSCATED};
use crate::error::ContainerError;

/// A limit for contents that are decompressed, in bytes: 1 GiB. It is several times the size of the largest module in the libraries of CUDA.
pub const DEFAULT_LIMIT: u64 = 1 << 30;

/// zstd frames without a size need a window of this size at most, unless they were made with unusual options.
const WINDOW: u64 = 8 << 20;

impl ContainerEntry {
    /// The content, decompressed, without the zero bytes after PTX. `bytes` is the file that the entry was read from; with another one the
    /// result is an error or has no meaning.
    ///
    /// At most `limit` bytes are decompressed; memory for three times as many and for 32 MiB is allocated at most.
    ///
    /// # Errors
    ///
    /// [`Code::ContentTooLarge`] if the content is larger than the limit, [`Code::CorruptContent`] if it cannot be decompressed or has
    /// another size than the header says, [`Code::UnsupportedContainer`] if it is obfuscated or compressed in an unknown way,
    /// [`Code::TruncatedContainer`] if `bytes` ends before it.
    pub fn content<'a>(
        &self,
        bytes: &'a [u8],
        limit: u64,
    ) -> Result<Cow<'a, [u8]>, ContainerError> {
        let fail = |code, message: String| {
            let error =
                ContainerError::new(code, self.offset, format!("{}: {message}", self.name()));
            Err(error.within(self.member.as_ref()))
        };
        let end = self.payload.saturating_add(self.stored);
        let Some(stored) = bytes.get(self.payload..end) else {
            return fail(
                Code::TruncatedContainer,
                "the file ends before its content".to_owned(),
            );
        };
        if self.flags & FLAG_OBFUSCATED != 0 {
            return fail(
                Code::UnsupportedContainer,
                "the content is obfuscated".to_owned(),
            );
        }
        if self.size > limit {
            let message = format!("{} bytes are more than the limit of {limit}", self.size);
            return fail(Code::ContentTooLarge, message);
        }
        // At most `limit`, and memory is only allocated for what is present.
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let content = match self.compression() {
            Compression::None => Ok(Cow::Borrowed(stored)),
            Compression::Lz4 => lz4(stored, size).map(Cow::Owned),
            Compression::Zstd => zstd(stored, size).map(Cow::Owned),
            Compression::Unknown => {
                let message = "the content is compressed in an unknown way".to_owned();
                return fail(Code::UnsupportedContainer, message);
            }
        };
        match content {
            Ok(content) if self.kind == EntryKind::Ptx => Ok(without_zeros(content)),
            Ok(content) => Ok(content),
            Err(message) => fail(Code::CorruptContent, message),
        }
    }
}

fn without_zeros(content: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let len = content
        .iter()
        .rposition(|b| *b != 0)
        .map_or(0, |last| last + 1);
    match content {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..len).unwrap_or(bytes)),
        Cow::Owned(mut bytes) => {
            bytes.truncate(len);
            Cow::Owned(bytes)
        }
    }
}

fn lz4(stored: &[u8], size: usize) -> Result<Vec<u8>, String> {
    // A byte of LZ4 yields 255 bytes at most.
    if size / 256 > stored.len() {
        return Err(format!(
            "{} bytes of LZ4 cannot yield {size} bytes",
            stored.len()
        ));
    }
    let mut content = vec![0; size];
    match lz4_flex::block::decompress_into(stored, &mut content) {
        Ok(len) if len == size => Ok(content),
        Ok(len) => Err(wrong_size(len, size)),
        Err(error) => Err(format!("invalid LZ4: {error}")),
    }
}

fn zstd(mut stored: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let invalid = |error| format!("invalid zstd: {error}");
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(WINDOW.max(size as u64));
    decoder.init(&mut stored).map_err(invalid)?;
    let mut content = Vec::new();
    while !decoder.is_finished() {
        let step = BlockDecodingStrategy::UptoBytes(1 << 20);
        decoder.decode_blocks(&mut stored, step).map_err(invalid)?;
        let found = decoder.collect().unwrap_or_default();
        if content.len() + found.len() + decoder.can_collect() > size {
            return Err(wrong_size(size + 1, size));
        }
        if content.is_empty() {
            content = found;
        } else {
            // Doubled, as usual, but never beyond the size.
            content.reserve_exact(content.len().max(found.len()).min(size - content.len()));
            content.extend(found);
        }
    }
    match content.len() {
        len if len == size => Ok(content),
        len => Err(wrong_size(len, size)),
    }
}

fn wrong_size(found: usize, expected: usize) -> String {
    format!(
        "expected {expected} bytes after decompression, found {found}{}",
        if found > expected { " or more" } else { "" }
    )
}

/// Decompresses a gzip file, which may have several parts.
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
    let fail = |code, message| Err(ContainerError::new(code, 0, message));
    match decoder.read_to_end(&mut content) {
        Ok(len) if len as u64 <= limit => Ok(content),
        Ok(_) => {
            let message = format!("the gzip file contains more than the limit of {limit} bytes");
            fail(Code::ContentTooLarge, message)
        }
        Err(error) => fail(Code::CorruptContent, format!("invalid gzip file: {error}")),
    }
}
