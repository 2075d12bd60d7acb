//! Names in scope: the meaning of a spelling at a point of the text.
//!
//! One name space per scope holds registers, variables, parameters, functions and labels; inner
//! scopes shadow outer ones. A name is resolved at its use if it has a visible declaration.
//! Only labels are resolved later, at the latest at the end of their scope (see [`labels`](crate::labels)).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ptx_ir::raw::TextChange;
use ptx_ir::{LabelId, NameId, Operand, RegId, ScopeId, SymbolId, VarId};

use crate::labels::PendingLabels;
use crate::ranges::{RangeKind, Ranges};

/// The meaning of a plain name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    Reg(RegId),
    Var(VarId),
    Symbol(SymbolId),
    /// A label, which may be used before it is defined.
    Label {
        id: LabelId,
        defined: bool,
    },
}

/// A name with its meaning in a scope.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) name: NameId,
    pub(crate) meaning: Meaning,
    /// The depth of the scope.
    pub(crate) depth: u32,
    /// The offset of the name in its declaration.
    pub(crate) offset: u32,
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

/// A label that is used and not defined so far. It belongs to the innermost open scope that is not newer than its use: when a
/// scope closes, its undefined labels belong to the scope around it.
#[derive(Copy, Clone, Debug)]
struct Undefined {
    name: NameId,
    id: LabelId,
    /// The number of the innermost scope at its first use.
    scope: u32,
    /// The offset of its first use.
    offset: u32,
    /// The binding of the same name that this one shadows, as in [`Binding`].
    shadowed: u32,
    /// Whether the label was defined later, or is one of an outer scope.
    resolved: bool,
}

/// Marks an entry of `visible` as that of an [`Undefined`].
const UNDEFINED: u32 = 1 << 31;

/// An open scope.
#[derive(Debug)]
struct OpenScope {
    /// Scopes are numbered in the order in which they are opened.
    number: u32,
    /// The number of bindings of outer scopes.
    bindings: u32,
    /// The number of ranges of outer scopes.
    ranges: u32,
    /// The indices of undefined labels of inner scopes that mean labels of this scope, unless an inner scope defines them.
    merges: Vec<u32>,
}

/// The open scopes with their names.
pub(crate) struct Scopes {
    /// The innermost binding of each name, + 1; or [`UNDEFINED`] and the index of an undefined label.
    visible: Vec<u32>,
    bindings: Vec<Binding>,
    undefined: Vec<Undefined>,
    open: Vec<OpenScope>,
    /// The number of scopes that were opened so far.
    opened: u32,
    /// The plain names, other than labels, that end in a digit, by the key of their prefix: first those of the
    /// module, then those of the function.
    numbered: [BTreeSet<(u64, NameId)>; 2],
    /// Functions that the current body declares, which the rest of the module sees as well, with the offset of their names.
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

    /// Removes the names of the current scope. Its undefined labels then belong to the scope around it. Undefined labels of
    /// the outermost scope are never defined.
    pub(crate) fn close_scope(&mut self) {
        let Some(closed) = self.open.pop() else {
            return;
        };
        while self.bindings.len() > closed.bindings as usize {
            if let Some(binding) = self.bindings.pop() {
                self.visible[binding.name.as_u32() as usize] = binding.shadowed;
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

    /// Merges an undefined label into the label that it shadows, whose scope is the current one.
    fn merge(&mut self, index: u32) {
        let Some(label) = self.undefined.get_mut(index as usize) else {
            return;
        };
        if core::mem::replace(&mut label.resolved, true) {
            return;
        }
        let (name, id, shadowed) = (label.name, label.id, label.shadowed);
        self.visible[name.as_u32() as usize] = shadowed;
        if let Some(Meaning::Label {
            id: outer_label, ..
        }) = self.find(name).map(|b| b.meaning)
        {
            self.labels.merged.push((id, outer_label));
        }
    }

    /// The binding that an entry of `visible` means.
    #[inline]
    fn binding(&self, entry: u32) -> Option<Binding> {
        if entry & UNDEFINED == 0 {
            let index = (entry as usize).checked_sub(1)?;
            return self.bindings.get(index).copied();
        }
        self.undefined_binding(entry ^ UNDEFINED)
    }

    fn undefined_binding(&self, index: u32) -> Option<Binding> {
        let label = self.undefined.get(index as usize)?;
        let (id, defined) = (label.id, false);
        Some(Binding {
            name: label.name,
            meaning: Meaning::Label { id, defined },
            depth: self.open.partition_point(|s| s.number <= label.scope) as u32,
            offset: label.offset,
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

    /// Defines an undefined label of the current scope. `None` if there is none with this name.
    pub(crate) fn define_label(&mut self, name: NameId, offset: usize) -> Option<LabelId> {
        let binding = self.find_here(name)?;
        let id = binding.undefined_label()?;
        let slot = self.visible.get_mut(name.as_u32() as usize)?;
        let label = self.undefined.get_mut((*slot ^ UNDEFINED) as usize)?;
        label.resolved = true;
        *slot = label.shadowed;
        self.bind(name, Meaning::Label { id, defined: true }, offset);
        Some(id)
    }

    /// The entry of `visible` for a name.
    fn slot(&mut self, name: NameId) -> &mut u32 {
        let index = name.as_u32() as usize;
        if index >= self.visible.len() {
            let len = (index + 1).next_power_of_two().max(64);
            self.visible.resize(len, 0);
        }
        &mut self.visible[index]
    }

    /// Binds `name`, which is declared at `offset`, in the current scope.
    pub(crate) fn bind(&mut self, name: NameId, meaning: Meaning, offset: usize) {
        let depth = self.depth();
        let number = self.bindings.len() as u32 + 1;
        let shadowed = core::mem::replace(self.slot(name), number);
        self.bindings.push(Binding {
            name,
            meaning,
            depth,
            offset: offset as u32,
            shadowed,
        });
    }

    /// Binds `name`, which is used at `offset`, to an undefined label of the current scope.
    pub(crate) fn bind_undefined(&mut self, name: NameId, id: LabelId, offset: usize) {
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
            offset: offset as u32,
            shadowed,
            resolved: false,
        });
    }

    /// Binds the members of a range in the current scope.
    pub(crate) fn bind_range(&mut self, key: u64, name: NameId, kind: RangeKind, count: u32) {
        let ambiguous = self.numbered(key).next().is_some();
        let depth = self.depth();
        self.ranges
            .declare(key, name, kind, count, depth, ambiguous);
    }

    /// Records a plain name of the current scope that ends in a number after the prefix of `key`.
    pub(crate) fn add_numbered(&mut self, key: u64, name: NameId) {
        let level = usize::from(!self.open.is_empty());
        self.numbered[level].insert((key, name));
        self.ranges.mark_ambiguous(key);
    }

    /// The plain names of the module and the function that are a prefix with this key and a number.
    pub(crate) fn numbered(&self, key: u64) -> impl Iterator<Item = NameId> + '_ {
        let with_key = (key, NameId::new(0))..=(key, NameId::new(u32::MAX));
        self.numbered
            .iter()
            .flat_map(move |set| set.range(with_key.clone()))
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

    /// Removes the names of the module that are declared at `start` or later, and returns them in their order.
    pub(crate) fn hide_from(&mut self, start: usize) -> Vec<Binding> {
        let first = self
            .bindings
            .partition_point(|b| (b.offset as usize) < start);
        let hidden = self.bindings.split_off(first);
        for b in hidden.iter().rev() {
            self.visible[b.name.as_u32() as usize] = b.shadowed;
        }
        hidden
    }

    /// Updates the offsets of bindings after a change of the source.
    pub(crate) fn move_bindings(&mut self, change: TextChange) {
        for binding in &mut self.bindings {
            binding.offset = change.offset(binding.offset);
        }
    }

    /// Whether no body declares a name for the rest of the module.
    pub(crate) fn exports_nothing(&self) -> bool {
        self.exported.is_empty()
    }

    /// Adds a function declared in a body to the names of the module. It is visible from the end of the body on.
    pub(crate) fn export(&mut self, name: NameId, symbol: SymbolId, offset: usize) {
        self.exported.push((name, symbol, offset));
    }

    /// Binds the functions that the body [exported](Self::export), at its end.
    pub(crate) fn bind_exported(&mut self) {
        for (name, symbol, offset) in core::mem::take(&mut self.exported) {
            if self.find(name).is_none() {
                self.bind(name, Meaning::Symbol(symbol), offset);
            }
        }
    }
}
