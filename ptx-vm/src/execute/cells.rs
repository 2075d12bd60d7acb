//! The words of memory that repeated loops access during the search for hangs.

use std::collections::HashMap;

use super::block::Block;
use super::grid::Grid;
use super::location::Memory;
use super::warp::Warp;

/// The bytes of a word.
pub(super) const WORD: u64 = 4;
/// The maximum number of words that are tracked.
const MOST_CELLS: usize = 1 << 16;

/// A memory of the launch.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Owner {
    Global,
    /// The shared memory of the CTA with a linear index.
    Block(u64),
    /// The stack of a thread of a CTA.
    Thread(u64, u32),
}

/// A word of four bytes of memory.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Cell {
    owner: Owner,
    /// The address divided by the size of a word.
    word: u64,
}

impl Cell {
    /// The first word in the order of words.
    pub(super) const FIRST: Self = Self {
        owner: Owner::Global,
        word: 0,
    };

    /// The words that contain the bytes of an access of a thread.
    pub(super) fn of_access(
        grid: &Grid<'_>,
        block: &Block,
        thread: u32,
        memory: Memory,
        address: u64,
        bytes: u64,
    ) -> impl Iterator<Item = Self> {
        let linear = grid.linear(block.index);
        let owner = match memory {
            Memory::Global => Some(Owner::Global),
            Memory::Shared(rank) if rank == block.rank => Some(Owner::Block(linear)),
            Memory::Shared(rank) => Some(Owner::Block(grid.block_of_rank(block.index, rank))),
            Memory::Local => Some(Owner::Thread(linear, thread)),
            Memory::Parameter => None,
        };
        let end = address.saturating_add(bytes).div_ceil(WORD);
        let words = address / WORD..end;
        owner
            .into_iter()
            .flat_map(move |owner| words.clone().map(move |word| Self { owner, word }))
    }

    /// Whether the word is on the stack of a thread.
    pub(super) const fn is_local(&self) -> bool {
        matches!(self.owner, Owner::Thread(..))
    }
}

/// The value of a word that a lane accesses in a memory; bytes outside of the memory are zero.
pub(super) fn value(
    grid: &Grid<'_>,
    block: &Block,
    warp: &Warp,
    lane: usize,
    memory: Memory,
    cell: Cell,
) -> u32 {
    let start = cell.word * WORD;
    let byte = |address: u64| match memory {
        Memory::Global => grid.device.read(address, 1).ok().map(|value| value as u8),
        Memory::Shared(rank) => block.shared(rank)?.get(address as usize).copied(),
        Memory::Local => warp.stacks.get(lane)?.get(address as usize).copied(),
        Memory::Parameter => None,
    };
    let bytes = core::array::from_fn(|index| byte(start + index as u64).unwrap_or(0));
    u32::from_le_bytes(bytes)
}

/// Lanes of a warp that run together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct LaneSet {
    /// The linear index of their CTA.
    pub(super) block: u64,
    /// The first thread of their warp.
    pub(super) warp: u32,
    pub(super) mask: u32,
}

impl LaneSet {
    /// Whether the set contains all lanes of a mask of its warp.
    pub(super) const fn contains(&self, mask: u32) -> bool {
        mask & !self.mask == 0
    }
}

/// The use of a word by the lanes of a launch.
#[derive(Copy, Clone, Debug)]
struct CellUse {
    /// The only set of lanes that accesses the word; `None` if there are several.
    user: Option<LaneSet>,
    /// The only user repeats a loop that changes the word: no other lanes may access it from then on.
    is_private: bool,
}

/// The words that lanes access.
#[derive(Debug, Default)]
pub(super) struct Cells {
    uses: HashMap<Cell, CellUse>,
}

impl Cells {
    /// Records an access of lanes to a word. Returns false if the word is private to other lanes, or if there are too many words.
    pub(super) fn access(&mut self, cell: Cell, user: LaneSet) -> bool {
        if self.uses.len() >= MOST_CELLS && !self.uses.contains_key(&cell) {
            return false;
        }
        let entry = self.uses.entry(cell).or_insert(CellUse {
            user: Some(user),
            is_private: false,
        });
        if entry.user != Some(user) {
            entry.user = None;
        }
        entry.user.is_some() || !entry.is_private
    }

    /// Whether no other lanes than `user` access a word.
    pub(super) fn is_only_user(&self, cell: Cell, user: LaneSet) -> bool {
        self.uses
            .get(&cell)
            .is_some_and(|entry| entry.user == Some(user))
    }

    /// Makes a word private to its only user. Returns false if it has several users.
    pub(super) fn make_private(&mut self, cell: Cell) -> bool {
        let Some(entry) = self.uses.get_mut(&cell) else {
            return false;
        };
        entry.is_private = true;
        entry.user.is_some()
    }
}
