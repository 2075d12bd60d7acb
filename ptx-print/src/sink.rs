//! Destinations of printed text.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A destination of printed text.
pub trait Sink {
    /// Why a sink can refuse bytes.
    type Error;

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// If the destination cannot take them.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

impl Sink for Vec<u8> {
    type Error = core::convert::Infallible;

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Prints to a [`fmt::Write`]. Bytes that are not UTF-8 (only comments can have them) become U+FFFD.
#[derive(Debug)]
pub(crate) struct FmtSink<W>(pub W);

impl<W: fmt::Write> Sink for FmtSink<W> {
    type Error = fmt::Error;

    fn put(&mut self, bytes: &[u8]) -> Result<(), fmt::Error> {
        match core::str::from_utf8(bytes) {
            Ok(text) => self.0.write_str(text),
            Err(_) => self.0.write_str(&String::from_utf8_lossy(bytes)),
        }
    }
}

/// Prints to a [`std::io::Write`].
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct IoSink<W>(pub W);

#[cfg(feature = "std")]
impl<W: std::io::Write> Sink for IoSink<W> {
    type Error = std::io::Error;

    fn put(&mut self, bytes: &[u8]) -> Result<(), std::io::Error> {
        self.0.write_all(bytes)
    }
}
