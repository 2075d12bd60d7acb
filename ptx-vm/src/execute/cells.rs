//! The words of memory that repeated loops access, while an observer looks for hangs.

use std::collections::HashMap;

use super::block::Block;
use super::grid::Grid;
use super::location::Memory;
use super::warp::Warp;

/// The bytes of a word.
pub(super) const WORD: u64 = 4;
/// The words that are followed at most.
const MOST_CELLS: usize = 1 << 16;

/// A memory of the launch.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Owner {
    Global,
    /// The shared memory of a CTA.
    Block(u64),
    /// The stack of a thread of a CTA.
    Thread(u64, u32),
}

/// A word of four bytes of memory.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Cell {
    owner: Owner,
    /// Its address divided by its size.
    word: u64,
}

impl Cell {
    /// The first one in the order of words.
    pub(super) const FIRST: Self = Self {
        owner: Owner::Global,
        word: 0,
    };

    /// The words that an access of a thread touches.
    pub(super) fn of_access(
        grid: &Grid<'_>,
        block: &Block,
        (memory, thread): (Memory, u32),
        (address, bytes): (u64, u64),
    ) -> impl Iterator<Item = Self> {
        let linear = grid.linear(block.index);
        let owner = match memory {
            Memory::Global => Some(Owner::Global),
            Memory::Shared(rank) if rank == block.rank => Some(Owner::Block(linear)),
            Memory::Shared(rank) => Some(Owner::Block(grid.of_rank(block.index, rank))),
            Memory::Local => Some(Owner::Thread(linear, thread)),
            Memory::Parameter => None,
        };
        let end = address.saturating_add(bytes).div_ceil(WORD);
        let words = address / WORD..end;
        owner
            .into_iter()
            .flat_map(move |owner| words.clone().map(move |word| Self { owner, word }))
    }

    /// The word is on the stack of a thread.
    pub(super) const fn is_local(&self) -> bool {
        matches!(self.owner, Owner::Thread(..))
    }
}

/// The bytes of a word of memory that a lane accesses; bytes outside of memory are zero.
pub(super) fn value(
    grid: &Grid<'_>,
    block: &Block,
    warp: &Warp,
    (memory, lane, cell): (Memory, usize, Cell),
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

/// Lanes of a warp that run together: their CTA, the first thread of their warp, and their mask.
pub(super) type LaneSet = (u64, u32, u32);

/// The use of a word by the lanes of a launch.
#[derive(Copy, Clone, Debug)]
struct CellUse {
    /// The only lanes that access it; `None` if there are several sets.
    user: Option<LaneSet>,
    /// A loop of the only user is taken for a repetition although it changes the word: no other lanes may access it.
    is_private: bool,
}

/// The words that lanes access.
#[derive(Debug, Default)]
pub(super) struct Cells {
    uses: HashMap<Cell, CellUse>,
}

impl Cells {
    /// Lanes access a word. Gives whether it remains as before for all others: if not, the word is not private any more, or there are too many.
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

    /// Whether only these lanes access a word.
    pub(super) fn is_only_user(&self, cell: Cell, user: LaneSet) -> bool {
        self.uses
            .get(&cell)
            .is_some_and(|cell| cell.user == Some(user))
    }

    /// No other lanes may access a word from now on. Gives whether none did.
    pub(super) fn make_private(&mut self, cell: Cell) -> bool {
        let Some(entry) = self.uses.get_mut(&cell) else {
            return false;
        };
        entry.is_private = true;
        entry.user.is_some()
    }
}
