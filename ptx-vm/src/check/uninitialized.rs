//! Uninitialized values: their origins, the registers that may contain them, and the bytes of memory that do.

use std::collections::HashMap;

use crate::execute::{Memory, Use};
use crate::memory::tensor::TensorAddress;

/// The reason why a value is uninitialized.
#[derive(Copy, Clone, Debug)]
pub(super) enum Origin {
    /// An instruction read this register, which was never written.
    Register { site: u32, register: u32 },
    /// An instruction read memory that was never written.
    Memory { site: u32, read: UnwrittenRead },
    /// An instruction read a cell of tensor memory that was never written.
    TensorMemory { site: u32, cell: TensorAddress },
}

/// The origin of an uninitialized value.
#[derive(Copy, Clone, Debug)]
pub(super) struct Traced {
    pub(super) origin: Origin,
    /// The thread that stored the value to memory; `None` if it stayed in the registers of a thread.
    pub(super) thread: Option<u32>,
}

/// A read of memory that was never written.
#[derive(Copy, Clone, Debug)]
pub(super) struct UnwrittenRead {
    pub(super) usage: Use,
    pub(super) memory: Memory,
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// The address of the first byte that was never written.
    pub(super) missing: u64,
}

/// The state of a register that may be uninitialized when it is read.
#[derive(Copy, Clone, Debug)]
pub(super) struct TrackedRegister {
    /// The lanes in which the register is initialized.
    pub(super) initialized: u32,
    /// The origin of the value in the other lanes; `None` if the register was never written.
    pub(super) origin: Option<Traced>,
    /// The bits that are initialized in the other lanes as well, such as half of a register that two registers are packed to.
    pub(super) determined_bits: u128,
}

impl TrackedRegister {
    /// A register in which no lane has written, or that all lanes have written.
    pub(super) const fn new(is_initialized: bool) -> Self {
        Self {
            initialized: if is_initialized { u32::MAX } else { 0 },
            origin: None,
            determined_bits: 0,
        }
    }

    /// The origin of the value in a lane, if it is uninitialized there. The instruction `site` of `thread` stores the register, which has this
    /// number.
    pub(super) fn origin_in_lane(
        &self,
        lane: usize,
        site: u32,
        register: u32,
        thread: u32,
    ) -> Option<Traced> {
        if self.initialized >> lane & 1 == 1 {
            return None;
        }
        let traced = self.origin.unwrap_or(Traced {
            origin: Origin::Register { site, register },
            thread: None,
        });
        Some(Traced {
            origin: traced.origin,
            thread: traced.thread.or(Some(thread)),
        })
    }
}

/// The bytes of a word.
const WORD_BYTES: u64 = 4;

/// The uninitialized bytes of a word of memory.
#[derive(Copy, Clone, Debug)]
struct TaintedWord {
    /// A bit for each uninitialized byte.
    bytes: u8,
    origin: Traced,
}

/// The bytes of a memory that contain uninitialized values.
#[derive(Clone, Debug, Default)]
pub(super) struct TaintedBytes {
    /// The words with uninitialized bytes, by their address divided by their size.
    words: HashMap<u64, TaintedWord>,
}

impl TaintedBytes {
    /// The memory in use, in bytes.
    pub(super) fn memory(&self) -> u64 {
        (self.words.capacity() * size_of::<(u64, TaintedWord)>()) as u64
    }

    /// Whether no byte is uninitialized.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds bytes with the origin of their values.
    pub(super) fn insert(&mut self, start: u64, bytes: u64, origin: Traced) {
        for (word, mask) in words(start, bytes) {
            let tainted = self
                .words
                .entry(word)
                .or_insert(TaintedWord { bytes: 0, origin });
            *tainted = TaintedWord {
                bytes: tainted.bytes | mask,
                origin,
            };
        }
    }

    /// Removes bytes: they are initialized, or were never written.
    pub(super) fn remove(&mut self, start: u64, bytes: u64) {
        if self.words.is_empty() {
            return;
        }
        if bytes / WORD_BYTES > self.words.len() as u64 {
            let removed = start / WORD_BYTES..start.saturating_add(bytes).div_ceil(WORD_BYTES);
            self.words.retain(|word, _| !removed.contains(word));
            return;
        }
        for (word, mask) in words(start, bytes) {
            if let Some(tainted) = self.words.get_mut(&word) {
                tainted.bytes &= !mask;
                if tainted.bytes == 0 {
                    self.words.remove(&word);
                }
            }
        }
    }

    /// The origin of the first of some bytes that contains an uninitialized value.
    pub(super) fn first_origin(&self, start: u64, bytes: u64) -> Option<Traced> {
        words(start, bytes).find_map(|(word, mask)| {
            let tainted = self.words.get(&word)?;
            (tainted.bytes & mask != 0).then_some(tainted.origin)
        })
    }

    /// The origin of the first of some bytes, if all of them contain uninitialized values.
    pub(super) fn origin(&self, start: u64, bytes: u64) -> Option<Traced> {
        let mut first_origin = None;
        for (word, mask) in words(start, bytes) {
            let tainted = self.words.get(&word)?;
            if tainted.bytes & mask != mask {
                return None;
            }
            first_origin.get_or_insert(tainted.origin);
        }
        first_origin
    }
}

/// The words of a range of bytes, each with a mask of its bytes that are in the range.
fn words(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = start.saturating_add(bytes);
    (start / WORD_BYTES..end.div_ceil(WORD_BYTES)).map(move |word| {
        let mask = (0..WORD_BYTES)
            .filter(|byte| (start..end).contains(&(word * WORD_BYTES + byte)))
            .fold(0, |mask, byte| mask | 1 << byte);
        (word, mask)
    })
}
