//! A buffer before the sink. Short texts, which are the most frequent ones, are copied with a fixed length.

use alloc::vec::Vec;

use crate::sink::Sink;

/// The number of bytes that are collected before they are passed to the sink.
const CAPACITY: usize = 1 << 15;

/// A text of at most sixteen bytes, padded, so that it is copied without a loop.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Short {
    bytes: [u8; 16],
    len: u8,
}

impl Short {
    pub(crate) fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Self {
            bytes,
            len: text.len() as u8,
        })
    }
}

pub(crate) struct Out<'a, S: Sink> {
    sink: &'a mut S,
    buffer: Vec<u8>,
    len: usize,
    failed: Option<S::Error>,
}

impl<'a, S: Sink> Out<'a, S> {
    pub(crate) fn new(sink: &'a mut S) -> Self {
        Self::with_capacity(sink, CAPACITY)
    }

    /// A buffer for a single statement.
    pub(crate) fn short_text(sink: &'a mut S) -> Self {
        Self::with_capacity(sink, 256)
    }

    fn with_capacity(sink: &'a mut S, capacity: usize) -> Self {
        Self {
            sink,
            buffer: vec![0; capacity],
            len: 0,
            failed: None,
        }
    }

    pub(crate) fn finish(mut self) -> Result<(), S::Error> {
        self.flush();
        match self.failed {
            None => Ok(()),
            Some(e) => Err(e),
        }
    }

    #[inline(never)]
    fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(e) = self.sink.put(&self.buffer[..self.len])
        {
            self.failed = Some(e);
        }
        self.len = 0;
    }

    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) {
        if self.len >= self.buffer.len() {
            self.flush();
        }
        self.buffer[self.len] = byte;
        self.len += 1;
    }

    /// Copies sixteen bytes, of which the first `len` belong to the text.
    #[inline(always)]
    fn fixed(&mut self, bytes: &[u8; 16], len: usize) {
        if self.len + 16 > self.buffer.len() {
            self.flush();
        }
        if let Some(place) = self.buffer.get_mut(self.len..self.len + 16) {
            place.copy_from_slice(bytes);
        }
        self.len += len;
    }

    #[inline(always)]
    pub(crate) fn short(&mut self, text: &Short) {
        self.fixed(&text.bytes, text.len as usize);
    }

    /// Copies a part of a text. If sixteen bytes can be read, a short part is copied at once.
    #[inline]
    pub(crate) fn text_in(&mut self, text: &[u8], start: usize, len: usize) {
        if len <= 16
            && let Some(chunk) = text.get(start..).and_then(|t| t.first_chunk::<16>())
        {
            return self.fixed(chunk, len);
        }
        self.text(text.get(start..start + len).unwrap_or_default());
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &[u8]) {
        if text.len() > self.buffer.len() - self.len {
            self.flush();
            if text.len() > self.buffer.len() {
                if self.failed.is_none()
                    && let Err(e) = self.sink.put(text)
                {
                    self.failed = Some(e);
                }
                return;
            }
        }
        self.buffer[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    #[inline(always)]
    pub(crate) fn unsigned(&mut self, mut n: u32) {
        if n < 10 {
            return self.byte(b'0' + n as u8);
        }
        let mut digits = [0u8; 16];
        let mut first = 10;
        while n > 0 {
            first -= 1;
            digits[first] = b'0' + (n % 10) as u8;
            n /= 10;
        }
        let mut bytes = [0u8; 16];
        bytes[..10 - first].copy_from_slice(&digits[first..10]);
        self.fixed(&bytes, 10 - first);
    }

    #[inline(always)]
    pub(crate) fn signed(&mut self, n: i32) {
        if n < 0 {
            self.byte(b'-');
        }
        self.unsigned(n.unsigned_abs());
    }
}

impl Out<'_, Vec<u8>> {
    /// Moves the output since the last call to `text`.
    pub(crate) fn take(&mut self, text: &mut Vec<u8>) {
        text.append(self.sink);
        text.extend_from_slice(self.buffer.get(..self.len).unwrap_or_default());
        self.len = 0;
    }
}
