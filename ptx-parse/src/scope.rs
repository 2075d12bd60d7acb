//! Names in scope: what a spelling stands for at a place of the text.
//!
//! One name space per scope holds registers, variables, parameters, functions and labels; inner
//! scopes shadow outer ones. A name is settled where it is mentioned if something visible has it;
//! only labels are found later, up to the end of their scope (see [`forward`](crate::forward)).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ptx_ir::{LabelId, NameId, RegDeclId, RegId, SymbolId, VarId};

/// What a plain name stands for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    Reg(RegId),
    Var(VarId),
    Symbol(SymbolId),
    /// A label that is set, or only mentioned so far.
    Label {
        id: LabelId,
        set: bool,
    },
}

/// What the numbered names of a range stand for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum RangeKind {
    Reg(RegDeclId),
    /// The first variable of the range, which tells name, space and scope.
    Var(VarId),
    Symbol(SymbolId),
}

#[derive(Copy, Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) name: NameId,
    pub(crate) meaning: Meaning,
    pub(crate) depth: u32,
    /// Where the name stands in its declaration.
    pub(crate) at: u32,
    /// The binding of the same name that this one shadows, + 1.
    shadowed: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Range {
    key: u64,
    /// The name before the number, for those that do not fit a key.
    pub(crate) name: NameId,
    pub(crate) kind: RangeKind,
    pub(crate) count: u32,
    pub(crate) depth: u32,
    /// The id given to each number mentioned, + 1.
    ids: Vec<u32>,
    /// Ids of numbers too large for `ids`.
    sparse: BTreeMap<u32, u32>,
    /// Whether a plain name may be spelled like a member, and has to be looked for.
    pub(crate) ambiguous: bool,
    /// The range with the same key around this one, + 1.
    outer: u32,
    /// The nearest of them with more members, + 1.
    larger: u32,
}

/// Numbers below this index a table; larger ones do so only where the table is half full.
const DENSE: u32 = 1 << 16;

#[derive(Default)]
pub(crate) struct Names {
    /// By name: its innermost binding, + 1.
    visible: Vec<u32>,
    bindings: Vec<Binding>,
    /// The innermost ranges stand last.
    ranges: Vec<Range>,
    /// By key: the innermost range, + 1.
    by_key: BTreeMap<u64, u32>,
    /// By hash of the key: a range, + 1. A hint, checked against the range.
    hints: [u16; 32],
    /// Tables of closed ranges, to be used again.
    spare: Vec<Vec<u32>>,
    /// Keys of the plain names, other than labels, that end in a digit: of the module and of the
    /// function.
    numbered: [BTreeSet<(u64, NameId)>; 2],
    /// How many open ranges have a prefix too long for an exact key.
    long_ranges: u32,
    /// Open scopes: how many bindings and ranges there were before each.
    scopes: Vec<(u32, u32)>,
}

/// Prefixes up to this length have an exact key.
pub(crate) const SHORT: usize = 7;

/// The name before a number as one word: its bytes if there are at most seven, else a hash. The
/// length is in the top byte.
#[inline(always)]
pub(crate) fn prefix_key(src: &[u8], start: usize, len: usize) -> u64 {
    if len > SHORT {
        return long_key(&src[start..start + len]);
    }
    let word = match src.get(start..).and_then(|s| s.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk) & ((1 << (8 * len)) - 1),
        None => src[start..start + len]
            .iter()
            .rev()
            .fold(0, |word, &b| word << 8 | b as u64),
    };
    word | (len as u64) << 56
}

#[inline(never)]
fn long_key(prefix: &[u8]) -> u64 {
    let step = |h: u64, &b: &u8| (h ^ b as u64).wrapping_mul(0x100_0000_01B3);
    prefix.iter().fold(0xCBF2_9CE4_8422_2325, step) | 0xFF << 56
}

#[inline(always)]
fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59) as usize
}

impl Names {
    /// How deep the current scope is; 0 is the module.
    pub(crate) fn depth(&self) -> u32 {
        self.scopes.len() as u32
    }

    pub(crate) fn open_scope(&mut self) {
        self.scopes
            .push((self.bindings.len() as u32, self.ranges.len() as u32));
    }

    /// The bindings of the current scope.
    pub(crate) fn scope_bindings(&self) -> &[Binding] {
        let first = self.scopes.last().map_or(0, |s| s.0);
        &self.bindings[first as usize..]
    }

    /// Forgets the names of the current scope.
    pub(crate) fn close_scope(&mut self) {
        let Some((bindings, ranges)) = self.scopes.pop() else {
            return;
        };
        while self.bindings.len() > bindings as usize {
            if let Some(b) = self.bindings.pop() {
                self.visible[b.name.as_u32() as usize] = b.shadowed;
            }
        }
        if self.ranges.len() > ranges as usize {
            while self.ranges.len() > ranges as usize {
                let Some(mut range) = self.ranges.pop() else {
                    break;
                };
                self.long_ranges -= (range.key >> 56 == 0xFF) as u32;
                self.by_key.insert(range.key, range.outer);
                range.ids.clear();
                self.spare.push(range.ids);
            }
            self.hints = [0; 32];
        }
        if self.scopes.is_empty() {
            self.numbered[1].clear();
        }
    }

    /// The innermost binding of `name`.
    #[inline]
    pub(crate) fn find(&self, name: NameId) -> Option<&Binding> {
        match self.visible.get(name.as_u32() as usize) {
            None | Some(0) => None,
            Some(&n) => self.bindings.get(n as usize - 1),
        }
    }

    /// The binding of `name` in the scope at `depth`.
    pub(crate) fn find_outward(&self, name: NameId, depth: u32) -> Option<&Binding> {
        let mut binding = self.find(name)?;
        while binding.depth > depth {
            binding = self
                .bindings
                .get((binding.shadowed as usize).checked_sub(1)?)?;
        }
        (binding.depth == depth).then_some(binding)
    }

    /// The binding of `name` in the current scope itself.
    pub(crate) fn find_here(&self, name: NameId) -> Option<&Binding> {
        self.find(name).filter(|b| b.depth == self.depth())
    }

    pub(crate) fn find_here_mut(&mut self, name: NameId) -> Option<&mut Binding> {
        let depth = self.depth();
        let index = *self.visible.get(name.as_u32() as usize)?;
        self.bindings
            .get_mut((index as usize).checked_sub(1)?)
            .filter(|b| b.depth == depth)
    }

    /// Makes `name` mean something in the current scope.
    pub(crate) fn bind(&mut self, name: NameId, meaning: Meaning, at: usize) {
        let index = name.as_u32() as usize;
        if index >= self.visible.len() {
            let room = (index + 1).next_power_of_two().max(64);
            self.visible.resize(room, 0);
        }
        let shadowed = self.visible[index];
        let depth = self.depth();
        self.bindings.push(Binding {
            name,
            meaning,
            depth,
            at: at as u32,
            shadowed,
        });
        self.visible[index] = self.bindings.len() as u32;
    }

    /// Notes that a plain name of the current scope ends in a number behind the prefix of `key`.
    pub(crate) fn note_numbered(&mut self, key: u64, name: NameId) {
        let level = !self.scopes.is_empty() as usize;
        self.numbered[level].insert((key, name));
        let mut next = self.by_key.get(&key).copied().unwrap_or(0);
        while let Some(range) = self.ranges.get_mut((next as usize).wrapping_sub(1)) {
            if range.ambiguous {
                break;
            }
            range.ambiguous = true;
            next = range.outer;
        }
    }

    /// The plain names with this prefix and a number behind it, of the module and the function.
    pub(crate) fn numbered(&self, key: u64) -> impl Iterator<Item = NameId> + '_ {
        let all = (key, NameId::new(0))..=(key, NameId::new(u32::MAX));
        self.numbered
            .iter()
            .flat_map(move |set| set.range(all.clone()))
            .map(|&(_, name)| name)
    }

    /// Makes the numbered names of a range mean something in the current scope.
    pub(crate) fn bind_range(&mut self, key: u64, name: NameId, kind: RangeKind, count: u32) {
        let (depth, ids) = (self.depth(), self.spare.pop().unwrap_or_default());
        let contested = self.numbered(key).next().is_some();
        let index = self.ranges.len() as u32 + 1;
        let outer = self.by_key.insert(key, index).unwrap_or(0);
        let mut larger = outer;
        while let Some(range) = self.ranges.get((larger as usize).wrapping_sub(1)) {
            if range.count > count {
                break;
            }
            larger = range.larger;
        }
        self.ranges.push(Range {
            key,
            name,
            kind,
            count,
            depth,
            ids,
            sparse: BTreeMap::new(),
            ambiguous: contested,
            outer,
            larger,
        });
        self.long_ranges += (key >> 56 == 0xFF) as u32;
        self.hints[slot(key)] = self.ranges.len().min(u16::MAX as usize) as u16;
    }

    /// Whether a range with a long prefix is open.
    #[inline(always)]
    pub(crate) fn has_long_ranges(&self) -> bool {
        self.long_ranges > 0
    }

    /// The innermost range with this short key, if it is the one seen last in its slot.
    #[inline(always)]
    pub(crate) fn hinted_range(&self, key: u64) -> Option<usize> {
        let index = (self.hints[slot(key)] as usize).wrapping_sub(1);
        (self.ranges.get(index)?.key == key).then_some(index)
    }

    /// The innermost range with this key. A long prefix has to be compared as well.
    #[inline(always)]
    pub(crate) fn find_range(&mut self, key: u64) -> Option<usize> {
        let hint = self.hints[slot(key)] as usize;
        match self.ranges.get(hint.wrapping_sub(1)) {
            Some(r) if r.key == key => Some(hint - 1),
            _ => self.search_range(key),
        }
    }

    #[inline(never)]
    fn search_range(&mut self, key: u64) -> Option<usize> {
        let index = (*self.by_key.get(&key)? as usize).checked_sub(1)?;
        self.hints[slot(key)] = (index + 1).min(u16::MAX as usize) as u16;
        Some(index)
    }

    /// Range `index` and, outward, those with its key that have ever more members.
    pub(crate) fn ranges_outward(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(Some(index), |&i| {
            (self.ranges.get(i)?.larger as usize).checked_sub(1)
        })
    }

    #[inline(always)]
    pub(crate) fn range(&self, index: usize) -> &Range {
        &self.ranges[index]
    }

    /// The id of a member of a range; `make` gives one at its first mention.
    #[inline(always)]
    pub(crate) fn member(
        &mut self,
        index: usize,
        number: u32,
        make: impl FnOnce(RangeKind) -> u32,
    ) -> (RangeKind, u32) {
        let range = &mut self.ranges[index];
        if let Some(&id) = range.ids.get(number as usize)
            && id != 0
        {
            return (range.kind, id - 1);
        }
        Self::new_member(range, number, make)
    }

    #[inline(never)]
    fn new_member(
        range: &mut Range,
        number: u32,
        make: impl FnOnce(RangeKind) -> u32,
    ) -> (RangeKind, u32) {
        if number < DENSE || (number as usize) < range.ids.len() * 2 {
            if number as usize >= range.ids.len() {
                let room = (number as usize + 1).max(range.ids.len() * 2);
                let room = room.max(range.count.min(64) as usize);
                range.ids.resize(room, 0);
            }
            let id = make(range.kind);
            range.ids[number as usize] = id + 1;
            return (range.kind, id);
        }
        let kind = range.kind;
        (
            kind,
            *range.sparse.entry(number).or_insert_with(|| make(kind)),
        )
    }
}
