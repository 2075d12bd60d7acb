//! Names in scope: what a spelling means at a point of the text.
//!
//! One name space per scope holds registers, variables, parameters, functions and labels; inner
//! scopes shadow outer ones. A name is resolved where it is used if a visible declaration has it;
//! only labels are found later, up to the end of their scope (see [`labels`](crate::labels)).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ptx_ir::{LabelId, NameId, RegId, ScopeId, SymbolId, VarId};

use crate::labels::PendingLabels;
use crate::ranges::{RangeKind, Ranges};

/// What a plain name means.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    Reg(RegId),
    Var(VarId),
    Symbol(SymbolId),
    /// A label that is defined, or only used so far.
    Label {
        id: LabelId,
        defined: bool,
    },
}

#[derive(Copy, Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) name: NameId,
    pub(crate) meaning: Meaning,
    pub(crate) depth: u32,
    /// The offset of the name in its declaration.
    pub(crate) at: u32,
    /// The binding of the same name that this one shadows, + 1.
    shadowed: u32,
}

impl Binding {
    /// A label that is used and not defined so far.
    pub(crate) fn undefined_label(&self) -> Option<LabelId> {
        match self.meaning {
            Meaning::Label { id, defined: false } => Some(id),
            _ => None,
        }
    }
}

pub(crate) struct Scopes {
    /// By name: its innermost binding, + 1.
    visible: Vec<u32>,
    bindings: Vec<Binding>,
    /// Open scopes: how many bindings and ranges there were before each.
    open: Vec<(u32, u32)>,
    /// The plain names, other than labels, that end in a digit, by the key of their prefix: of the
    /// module and of the function.
    numbered: [BTreeSet<(u64, NameId)>; 2],
    /// Names of a function body that the rest of the module sees as well.
    exported: Vec<(NameId, SymbolId, usize)>,
    pub(crate) ranges: Ranges,
    pub(crate) labels: PendingLabels,
    /// The scope of the body that statements are in.
    pub(crate) current: ScopeId,
}

/// The scope of a function itself.
pub(crate) const OUTERMOST: ScopeId = ScopeId::new(0);

impl Default for Scopes {
    fn default() -> Self {
        Self {
            visible: Vec::new(),
            bindings: Vec::new(),
            open: Vec::new(),
            numbered: Default::default(),
            exported: Vec::new(),
            ranges: Ranges::default(),
            labels: PendingLabels::default(),
            current: OUTERMOST,
        }
    }
}

impl Scopes {
    /// The depth of the current scope; 0 is the module.
    pub(crate) fn depth(&self) -> u32 {
        self.open.len() as u32
    }

    pub(crate) fn open_scope(&mut self) {
        self.open
            .push((self.bindings.len() as u32, self.ranges.len() as u32));
    }

    /// The labels of the current scope that are used and not defined.
    pub(crate) fn undefined_labels(&self) -> Vec<(NameId, LabelId, u32)> {
        let first = self.open.last().map_or(0, |s| s.0);
        self.bindings[first as usize..]
            .iter()
            .filter_map(|b| Some((b.name, b.undefined_label()?, b.at)))
            .collect()
    }

    /// Forgets the names of the current scope.
    pub(crate) fn close_scope(&mut self) {
        let Some((bindings, ranges)) = self.open.pop() else {
            return;
        };
        while self.bindings.len() > bindings as usize {
            if let Some(b) = self.bindings.pop() {
                self.visible[b.name.as_u32() as usize] = b.shadowed;
            }
        }
        self.ranges.truncate(ranges as usize);
        if self.open.is_empty() {
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
    pub(crate) fn find_at(&self, name: NameId, depth: u32) -> Option<&Binding> {
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

    /// Gives `name` a meaning in the current scope.
    pub(crate) fn bind(&mut self, name: NameId, meaning: Meaning, at: usize) {
        let index = name.as_u32() as usize;
        if index >= self.visible.len() {
            let len = (index + 1).next_power_of_two().max(64);
            self.visible.resize(len, 0);
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

    /// Gives the members of a range a meaning in the current scope.
    pub(crate) fn bind_range(&mut self, key: u64, name: NameId, kind: RangeKind, count: u32) {
        let ambiguous = self.numbered(key).next().is_some();
        let depth = self.depth();
        self.ranges
            .declare(key, name, kind, count, depth, ambiguous);
    }

    /// A plain name of the current scope ends in a number after the prefix of `key`.
    pub(crate) fn note_numbered(&mut self, key: u64, name: NameId) {
        let level = usize::from(!self.open.is_empty());
        self.numbered[level].insert((key, name));
        self.ranges.mark_ambiguous(key);
    }

    /// The plain names with this prefix and a number after it, of the module and the function.
    pub(crate) fn numbered(&self, key: u64) -> impl Iterator<Item = NameId> + '_ {
        let all = (key, NameId::new(0))..=(key, NameId::new(u32::MAX));
        self.numbered
            .iter()
            .flat_map(move |set| set.range(all.clone()))
            .map(|&(_, name)| name)
    }

    /// A function declared in a body is a name of the module from the end of the body on.
    pub(crate) fn export(&mut self, name: NameId, symbol: SymbolId, at: usize) {
        self.exported.push((name, symbol, at));
    }

    /// Binds what the body that ended has [exported](Self::export).
    pub(crate) fn bind_exported(&mut self) {
        for (name, symbol, at) in core::mem::take(&mut self.exported) {
            if self.find(name).is_none() {
                self.bind(name, Meaning::Symbol(symbol), at);
            }
        }
    }
}
