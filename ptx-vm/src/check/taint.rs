//! `initcheck`: values that are computed from registers without a value and pass through the memory of a CTA or of a thread.

use std::collections::HashMap;

use super::checkers::Checkers;
use super::state::{Followed, Origin, Traced};
use crate::execute::{Execution, Memory, Touch, Use};
use crate::lanes::lanes;

/// Bytes of a word.
const WORD: u64 = 4;

/// The bytes of a memory that hold such values, and what these were computed from.
#[derive(Clone, Debug, Default)]
pub(super) struct Tainted {
    /// By the address of a word divided by its size: a bit for each byte.
    words: HashMap<u64, (u8, Traced)>,
}

impl Tainted {
    /// The memory in use, in bytes.
    pub(super) fn memory(&self) -> u64 {
        (self.words.capacity() * size_of::<(u64, (u8, Traced))>()) as u64
    }

    /// Records what bytes were computed from.
    fn set(&mut self, at: u64, bytes: u64, from: Traced) {
        for (word, mask) in words(at, bytes) {
            let (of, origin) = self.words.entry(word).or_insert((0, from));
            (*of, *origin) = (*of | mask, from);
        }
    }

    /// The bytes hold values, or nothing at all.
    pub(super) fn clear(&mut self, at: u64, bytes: u64) {
        if self.words.is_empty() {
            return;
        }
        if bytes / WORD > self.words.len() as u64 {
            let end = at.saturating_add(bytes).div_ceil(WORD);
            self.words
                .retain(|word, _| !(at / WORD..end).contains(word));
            return;
        }
        for (word, mask) in words(at, bytes) {
            if let Some((of, _)) = self.words.get_mut(&word) {
                *of &= !mask;
                if *of == 0 {
                    self.words.remove(&word);
                }
            }
        }
    }

    /// The origin of bytes, if all of them hold values without one.
    fn get(&self, at: u64, bytes: u64) -> Option<Traced> {
        let mut first_origin = None;
        for (word, mask) in words(at, bytes) {
            let (of, from) = self.words.get(&word)?;
            if of & mask != mask {
                return None;
            }
            first_origin.get_or_insert(*from);
        }
        first_origin
    }
}

/// The words of a range of bytes, and which of their bytes are in it.
fn words(at: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = at.saturating_add(bytes);
    (at / WORD..end.div_ceil(WORD)).map(move |word| {
        let start = word * WORD;
        let inside = (0..WORD).filter(|byte| (at..end).contains(&(start + byte)));
        (word, inside.fold(0, |mask, byte| mask | 1 << byte))
    })
}

/// Elements of an access of one lane: the variable of each that is followed, and the bytes from an address on.
struct Elements<'a> {
    variables: &'a [Option<u32>],
    bytes: u64,
}

impl Elements<'_> {
    /// The variable and the address of each element at an address.
    fn at(&self, at: u64) -> impl Iterator<Item = (Option<u32>, u64)> {
        let all = (0..).zip(self.variables);
        all.map(move |(n, variable)| (*variable, at.wrapping_add(n * self.bytes)))
    }
}

impl Checkers {
    /// Follows values into memory of the CTA or the thread and out of it.
    pub(super) fn follow_memory(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
    ) {
        let memory = touch.memory;
        if !self.sites.follows_memory || !matches!(memory, Memory::Shared(_) | Memory::Local) {
            return;
        }
        let sites = std::sync::Arc::clone(&self.sites);
        let number = sites.number(execution.id, execution.at);
        let variables = sites.get(number).map_or(&[][..], |site| &site.elements);
        let elements = Elements {
            variables,
            bytes: touch.element,
        };
        let count = sites.variables(execution.id).len();
        match touch.usage {
            Use::Read if variables.is_empty() => {}
            Use::Read => {
                // The origin of the first lane is reported.
                let mut traced = Vec::new();
                for lane in lanes(allowed) {
                    let Some(tainted) = self.tainted(execution, memory, lane) else {
                        continue;
                    };
                    let read = elements.at(touch.at[lane]).filter_map(|(variable, at)| {
                        Some((variable?, tainted.get(at, touch.element)?))
                    });
                    let traced_variables: Vec<(u32, Traced)> = read.collect();
                    let registers = self.own_warp(execution).registers(execution.call, count);
                    for (variable, from) in traced_variables {
                        if let Some(followed) = registers.get_mut(variable as usize) {
                            followed.known &= !(1 << lane);
                            if !traced.contains(&variable) {
                                followed.origin = Some(from);
                                traced.push(variable);
                            }
                        }
                    }
                }
            }
            Use::Write => {
                for lane in lanes(allowed) {
                    let thread = execution.warp.first + lane as u32;
                    let registers = self.own_warp(execution).registers(execution.call, count);
                    let written = elements.at(touch.at[lane]).filter_map(|(variable, at)| {
                        let variable = variable?;
                        let followed = registers.get(variable as usize)?;
                        let from = unknown(followed, lane, (number, variable), thread)?;
                        Some((at, from))
                    });
                    let written: Vec<(u64, Traced)> = written.collect();
                    let Some(tainted) = self.tainted(execution, memory, lane) else {
                        continue;
                    };
                    let memory_before = tainted.memory();
                    tainted.clear(touch.at[lane], touch.bytes);
                    for (at, from) in written {
                        tainted.set(at, touch.element, from);
                    }
                    let growth = tainted.memory().saturating_sub(memory_before);
                    self.count_more(execution, memory, growth);
                }
            }
            Use::ReadWrite => {}
        }
    }

    /// Counts memory that is kept about a memory.
    pub(super) fn count_more(&mut self, execution: &Execution<'_>, memory: Memory, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let state = match memory {
            Memory::Shared(rank) => self.of_rank(execution, rank).1,
            _ => self.block(execution.grid, execution.grid.linear(execution.block.index)),
        };
        state.count_more(bytes);
    }

    fn tainted(
        &mut self,
        execution: &Execution<'_>,
        memory: Memory,
        lane: usize,
    ) -> Option<&mut Tainted> {
        match memory {
            Memory::Shared(rank) => Some(&mut self.of_rank(execution, rank).1.tainted),
            Memory::Local => self.own_warp(execution).tainted.get_mut(lane),
            Memory::Global | Memory::Parameter => None,
        }
    }
}

/// The origin of a variable in a lane; `None` if it has a value there. An instruction of a site reads it.
fn unknown(
    followed: &Followed,
    lane: usize,
    (site, variable): (u32, u32),
    thread: u32,
) -> Option<Traced> {
    if followed.known >> lane & 1 == 1 {
        return None;
    }
    let from = followed.origin.unwrap_or(Traced {
        origin: Origin::Register { site, variable },
        thread: None,
    });
    Some(Traced {
        origin: from.origin,
        thread: from.thread.or(Some(thread)),
    })
}
