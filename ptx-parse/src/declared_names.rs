//! The names that a body declares.

use alloc::vec::Vec;
use ptx_ir::{Body, Module, NameId, StmtId};
use ptx_isa::ScalarType;

/// A declared name or range of names.
#[derive(Copy, Clone)]
pub(crate) struct Declaration<'s> {
    pub(crate) name: &'s str,
    pub(crate) stmt: Option<StmtId>,
    /// The type of a register.
    pub(crate) ty: Option<ScalarType>,
    /// The number of members of a range; 0 for a plain name.
    pub(crate) count: u32,
}

impl<'s> Declaration<'s> {
    fn new(name: &'s str, stmt: Option<StmtId>) -> Self {
        Self {
            name,
            stmt,
            ty: None,
            count: 0,
        }
    }
}

/// The names that a body declares.
#[derive(Default)]
pub(crate) struct DeclaredNames<'s> {
    /// Labels, sorted by name.
    pub(crate) labels: Vec<Declaration<'s>>,
    /// Ranges of registers, sorted by prefix.
    pub(crate) ranges: Vec<Declaration<'s>>,
    /// Other registers, variables and parameters.
    pub(crate) plain: Vec<Declaration<'s>>,
}

impl<'s> DeclaredNames<'s> {
    /// Collects the names that `body` declares.
    pub(crate) fn new(module: &'s Module, body: &Body) -> Self {
        let declaration = |name: NameId, stmt| Declaration::new(module.name(name), stmt);
        let mut labels: Vec<_> = body
            .labels()
            .values()
            .map(|label| declaration(label.name, Some(label.stmt)))
            .collect();
        let mut plain: Vec<_> = body
            .vars()
            .values()
            .filter(|var| var.number.is_none())
            .map(|var| declaration(var.name, var.stmt))
            .collect();
        let mut ranges = Vec::new();
        for register in body.reg_decls().values() {
            let list = match register.count {
                Some(_) => &mut ranges,
                None => &mut plain,
            };
            list.push(Declaration {
                ty: register.ty.known(),
                count: register.count.unwrap_or(0),
                ..declaration(register.name, register.stmt)
            });
        }
        labels.sort_unstable_by_key(|d| d.name);
        ranges.sort_unstable_by_key(|d| d.name);
        Self {
            labels,
            ranges,
            plain,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len() + self.ranges.len() + self.plain.len()
    }

    /// Whether there are registers and all of their names begin with `%`, as in the output of compilers: names without `%` then
    /// are those of variables.
    pub(crate) fn registers_are_marked(&self) -> bool {
        let mut registers = self
            .ranges
            .iter()
            .chain(&self.plain)
            .filter(|d| d.ty.is_some())
            .peekable();
        registers.peek().is_some() && registers.all(|d| d.name.starts_with('%'))
    }

    pub(crate) fn label(&self, name: &str) -> Option<&Declaration<'s>> {
        find(&self.labels, name)
    }

    pub(crate) fn range(&self, prefix: &str) -> Option<&Declaration<'s>> {
        find(&self.ranges, prefix)
    }
}

fn find<'d, 's>(sorted: &'d [Declaration<'s>], name: &str) -> Option<&'d Declaration<'s>> {
    let index = sorted.partition_point(|d| d.name < name);
    sorted.get(index).filter(|d| d.name == name)
}
