//! Names in scope: what a spelling means at a point of the text.
//!
//! One name space per scope holds registers, variables, parameters, functions and labels; inner
//! scopes shadow outer ones. A name is resolved where it is used if a visible declaration has it;
//! only labels are found later, up to the end of their scope (see [`labels`](crate::labels)).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ptx_ir::{LabelId, NameId, Operand, RegId, ScopeId, SymbolId, TextChange, VarId};

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

/// A label that is used and not defined so far. Where its scope closes, it belongs to the scope around it: to the innermost
/// open scope that is not newer than its use.
#[derive(Copy, Clone, Debug)]
struct Undefined {
    name: NameId,
    id: LabelId,
    /// The innermost scope at its first use.
    scope: u32,
    at: u32,
    shadowed: u32,
    /// Whether it was defined, or turned out to be a label of an outer scope.
    resolved: bool,
}

/// Marks an entry of `visible` as that of an [`Undefined`].
const UNDEFINED: u32 = 1 << 31;

/// An open scope.
#[derive(Debug)]
struct OpenScope {
    /// Scopes are numbered in the order in which they are opened.
    number: u32,
    /// How many bindings and ranges there were before it.
    bindings: u32,
    ranges: u32,
    /// Labels used in inner scopes that are labels of this scope, unless an inner scope defines them.
    merges: Vec<u32>,
}

pub(crate) struct Scopes {
    /// By name: its innermost binding, + 1.
    visible: Vec<u32>,
    bindings: Vec<Binding>,
    undefined: Vec<Undefined>,
    open: Vec<OpenScope>,
    /// How many scopes were opened.
    opened: u32,
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
            undefined: Vec::new(),
            open: Vec::new(),
            opened: 0,
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
        self.opened += 1;
        self.open.push(OpenScope {
            number: self.opened,
            bindings: self.bindings.len() as u32,
            ranges: self.ranges.len() as u32,
            merges: Vec::new(),
        });
    }

    /// Forgets the names of the current scope. Its undefined labels belong to the scope around it from then on; those of
    /// the outermost one are never defined.
    pub(crate) fn close_scope(&mut self) {
        let Some(closed) = self.open.pop() else {
            return;
        };
        while self.bindings.len() > closed.bindings as usize {
            if let Some(b) = self.bindings.pop() {
                self.visible[b.name.as_u32() as usize] = b.shadowed;
            }
        }
        self.ranges.truncate(closed.ranges as usize);
        match self.open.last_mut() {
            Some(outer) => {
                let merges = core::mem::take(&mut outer.merges);
                merges.into_iter().for_each(|index| self.merge(index));
            }
            None => {
                self.numbered[1].clear();
                while let Some(label) = self.undefined.pop() {
                    if !label.resolved {
                        self.visible[label.name.as_u32() as usize] = label.shadowed;
                        let unresolved = Operand::Name(label.name);
                        self.labels.undefined.push((label.id, unresolved));
                    }
                }
            }
        }
    }

    /// Makes an undefined label the one that it shadows, whose scope is the current one.
    fn merge(&mut self, index: u32) {
        let Some(label) = self.undefined.get_mut(index as usize) else {
            return;
        };
        if core::mem::replace(&mut label.resolved, true) {
            return;
        }
        let (name, id, shadowed) = (label.name, label.id, label.shadowed);
        self.visible[name.as_u32() as usize] = shadowed;
        if let Some(Meaning::Label { id: other, .. }) = self.find(name).map(|b| b.meaning) {
            self.labels.merged.push((id, other));
        }
    }

    /// The binding with a number of `visible`.
    #[inline]
    fn binding(&self, number: u32) -> Option<Binding> {
        if number & UNDEFINED == 0 {
            let index = (number as usize).checked_sub(1)?;
            return self.bindings.get(index).copied();
        }
        self.undefined_binding(number ^ UNDEFINED)
    }

    fn undefined_binding(&self, index: u32) -> Option<Binding> {
        let label = self.undefined.get(index as usize)?;
        let (id, defined) = (label.id, false);
        Some(Binding {
            name: label.name,
            meaning: Meaning::Label { id, defined },
            depth: self.open.partition_point(|s| s.number <= label.scope) as u32,
            at: label.at,
            shadowed: label.shadowed,
        })
    }

    /// The innermost binding of `name`.
    #[inline]
    pub(crate) fn find(&self, name: NameId) -> Option<Binding> {
        self.binding(*self.visible.get(name.as_u32() as usize)?)
    }

    /// The binding of `name` in the scope at `depth`.
    pub(crate) fn find_at(&self, name: NameId, depth: u32) -> Option<Binding> {
        let mut binding = self.find(name)?;
        while binding.depth > depth {
            binding = self.binding(binding.shadowed)?;
        }
        (binding.depth == depth).then_some(binding)
    }

    /// The binding of `name` in the current scope itself.
    pub(crate) fn find_here(&self, name: NameId) -> Option<Binding> {
        self.find(name).filter(|b| b.depth == self.depth())
    }

    /// Defines an undefined label of the current scope.
    pub(crate) fn define_label(&mut self, name: NameId, at: usize) -> Option<LabelId> {
        let binding = self.find_here(name)?;
        let id = binding.undefined_label()?;
        let slot = self.visible.get_mut(name.as_u32() as usize)?;
        let label = self.undefined.get_mut((*slot ^ UNDEFINED) as usize)?;
        label.resolved = true;
        *slot = label.shadowed;
        self.bind(name, Meaning::Label { id, defined: true }, at);
        Some(id)
    }

    fn slot(&mut self, name: NameId) -> &mut u32 {
        let index = name.as_u32() as usize;
        if index >= self.visible.len() {
            let len = (index + 1).next_power_of_two().max(64);
            self.visible.resize(len, 0);
        }
        &mut self.visible[index]
    }

    /// Gives `name` a meaning in the current scope.
    pub(crate) fn bind(&mut self, name: NameId, meaning: Meaning, at: usize) {
        let depth = self.depth();
        let number = self.bindings.len() as u32 + 1;
        let shadowed = core::mem::replace(self.slot(name), number);
        self.bindings.push(Binding {
            name,
            meaning,
            depth,
            at: at as u32,
            shadowed,
        });
    }

    /// Makes `name` that of a label of the current scope that is not defined so far.
    pub(crate) fn bind_undefined(&mut self, name: NameId, id: LabelId, at: usize) {
        let index = self.undefined.len() as u32;
        if let Some(outer) = self.find(name)
            && let Some(scope) = (outer.depth as usize).checked_sub(1)
            && let Some(scope) = self.open.get_mut(scope)
        {
            scope.merges.push(index);
        }
        let shadowed = core::mem::replace(self.slot(name), UNDEFINED | index);
        self.undefined.push(Undefined {
            name,
            id,
            scope: self.open.last().map_or(0, |s| s.number),
            at: at as u32,
            shadowed,
            resolved: false,
        });
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

    /// The names of the module.
    pub(crate) fn module_bindings(&self) -> &[Binding] {
        let end = self
            .open
            .first()
            .map_or(self.bindings.len(), |s| s.bindings as usize);
        self.bindings.get(..end).unwrap_or_default()
    }

    /// Whether the module declares a range.
    pub(crate) fn has_module_ranges(&self) -> bool {
        let open = self.open.first();
        open.map_or(self.ranges.len(), |s| s.ranges as usize) > 0
    }

    /// Forgets the names of the module that are declared from an offset on, and gives them in their order.
    pub(crate) fn hide_from(&mut self, at: usize) -> Vec<Binding> {
        let first = self.bindings.partition_point(|b| (b.at as usize) < at);
        let hidden = self.bindings.split_off(first);
        for b in hidden.iter().rev() {
            self.visible[b.name.as_u32() as usize] = b.shadowed;
        }
        hidden
    }

    /// The text of the module has changed.
    pub(crate) fn move_bindings(&mut self, change: TextChange) {
        for binding in &mut self.bindings {
            binding.at = change.offset(binding.at);
        }
    }

    /// Whether no body declares a name for the rest of the module.
    pub(crate) fn exports_nothing(&self) -> bool {
        self.exported.is_empty()
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
