//! The addresses of variables in shared memory.
//!
//! Variables that several kernels use come first. Those of a single kernel follow, at the same addresses as those of other kernels, and
//! then what a launch adds.

use std::collections::HashMap;

use ptx_ir::{FuncId, SymbolId, VarId};

use super::layout::Layout;
use super::users::Users;
use super::variables::SHARED_STRIDE;

/// The name of a variable.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Name {
    /// A variable of the module.
    Symbol(SymbolId),
    /// A variable that is declared inside a function.
    Local(FuncId, VarId),
}

/// A variable that has no address yet.
struct Declared {
    name: Name,
    /// The size in bytes; `None` for the variable of the bytes that a launch adds.
    size: Option<u64>,
    align: u64,
    users: Users,
}

/// The variables of a module, in the order of its text.
#[derive(Default)]
pub(super) struct Declarations(Vec<Declared>);

/// The sizes of the shared memory of kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedSizes {
    /// The end of the own variables of each kernel; kernels without any are absent.
    kernels: HashMap<FuncId, u64>,
    /// The end of the variables that several kernels use.
    common: u64,
    /// The offset of the bytes that a launch adds.
    dynamic: u64,
    /// The alignment of their address.
    align: u64,
}

/// The least alignment of the bytes that a launch adds.
const DYNAMIC_ALIGN: u64 = 16;
/// The alignment of the shared memory of a CTA on GPUs. Kernels without variables of a size rely on it.
const MEMORY_ALIGN: u64 = 1 << 10;

impl Declarations {
    pub(super) fn add(&mut self, name: Name, size: Option<u64>, align: u64, users: Users) {
        self.0.push(Declared {
            name,
            size,
            align,
            users,
        });
    }

    /// Gives each variable an address.
    pub(super) fn place(&self) -> (Vec<(Name, u64)>, SharedSizes) {
        let mut addresses = Vec::new();
        let mut common = Layout::default();
        for (variable, size) in self.sized() {
            if variable.users == Users::Several {
                addresses.push((variable.name, common.add(size, variable.align)));
            }
        }
        let mut kernels: HashMap<FuncId, Layout> = HashMap::new();
        for (variable, size) in self.sized() {
            if let Users::One(kernel) = variable.users {
                let layout = kernels.entry(kernel).or_insert_with(|| common.clone());
                addresses.push((variable.name, layout.add(size, variable.align)));
            }
        }
        let added = self.0.iter().filter(|variable| variable.size.is_none());
        let align = added.clone().map(|variable| variable.align).max();
        let align = align.unwrap_or(1).max(DYNAMIC_ALIGN);
        let max_bytes = kernels.values().map(Layout::bytes).max();
        let max_bytes = max_bytes.unwrap_or(0).max(common.bytes());
        let sizes = SharedSizes {
            kernels: kernels.iter().map(|(&id, l)| (id, l.bytes())).collect(),
            common: common.bytes(),
            dynamic: 0,
            align,
        };
        let sizes = SharedSizes {
            dynamic: sizes.dynamic_offset(max_bytes, self.user_of_added()),
            ..sizes
        };
        addresses.extend(added.map(|variable| (variable.name, sizes.dynamic)));
        (addresses, sizes)
    }

    /// The only kernel that uses the bytes that a launch adds.
    fn user_of_added(&self) -> Option<FuncId> {
        let mut users = self.0.iter().filter(|variable| variable.size.is_none());
        let Users::One(kernel) = users.next()?.users else {
            return None;
        };
        users
            .all(|variable| variable.users == Users::One(kernel))
            .then_some(kernel)
    }

    fn sized(&self) -> impl Iterator<Item = (&Declared, u64)> {
        let variables = self.0.iter();
        variables.filter_map(|variable| Some((variable, variable.size?)))
    }
}

impl SharedSizes {
    /// The offset of the bytes that a launch adds, which is not before `start`. Modulo [`MEMORY_ALIGN`], it is that on a GPU for the only kernel that uses
    /// them, and 0 for several kernels.
    fn dynamic_offset(&self, start: u64, user: Option<FuncId>) -> u64 {
        let align = self.align.max(MEMORY_ALIGN);
        let remainder = user.map_or(0, |kernel| {
            let end = self.needed(kernel, 0).checked_next_multiple_of(self.align);
            end.map_or(0, |end| end % align)
        });
        start
            .saturating_sub(remainder)
            .checked_next_multiple_of(align)
            .and_then(|offset| offset.checked_add(remainder))
            .unwrap_or(u64::MAX)
    }

    /// The bytes that a launch of a kernel needs: those of its variables, and those that the launch adds.
    pub(crate) fn needed(&self, kernel: FuncId, added: u32) -> u64 {
        let end_of_kernel = self.kernels.get(&kernel).copied().unwrap_or(self.common);
        match added {
            0 => end_of_kernel,
            added => end_of_kernel
                .checked_next_multiple_of(self.align)
                .unwrap_or(u64::MAX)
                .saturating_add(added.into()),
        }
    }

    /// Whether the shared memory of a CTA ends before that of the next one of its cluster.
    pub(crate) fn fits(&self, kernel: FuncId, added: u32) -> bool {
        self.end(kernel, added) <= SHARED_STRIDE
    }

    /// One past the last address in a launch.
    pub(crate) fn end(&self, kernel: FuncId, added: u32) -> u64 {
        match added {
            0 => self.needed(kernel, 0),
            added => self.dynamic.saturating_add(added.into()),
        }
    }
}
