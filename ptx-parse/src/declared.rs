//! What a body declares, by name.

use alloc::vec::Vec;
use ptx_ir::{Body, Module, NameId, StmtId};
use ptx_isa::ScalarType;

/// Something that is declared.
#[derive(Copy, Clone)]
pub(crate) struct Declaration<'s> {
    pub(crate) name: &'s str,
    pub(crate) stmt: Option<StmtId>,
    /// The type of a register.
    pub(crate) ty: Option<ScalarType>,
    /// How many members a range has.
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

/// What a body declares: labels and ranges in the order of their names.
#[derive(Default)]
pub(crate) struct Declared<'s> {
    pub(crate) labels: Vec<Declaration<'s>>,
    /// Ranges of registers.
    pub(crate) ranges: Vec<Declaration<'s>>,
    /// Other registers, variables and parameters.
    pub(crate) plain: Vec<Declaration<'s>>,
}

impl<'s> Declared<'s> {
    /// Of the body.
    pub(crate) fn of(module: &'s Module, body: &Body) -> Self {
        let named = |name: NameId, stmt| Declaration::new(module.name(name), stmt);
        let labels = body.labels().values();
        let mut labels: Vec<_> = labels.map(|l| named(l.name, Some(l.stmt))).collect();
        let variables = body.vars().values().filter(|v| v.number.is_none());
        let mut plain: Vec<_> = variables.map(|v| named(v.name, v.stmt)).collect();
        let mut ranges = Vec::new();
        for register in body.reg_decls().values() {
            let list = match register.count {
                Some(_) => &mut ranges,
                None => &mut plain,
            };
            list.push(Declaration {
                ty: register.ty.known(),
                count: register.count.unwrap_or(0),
                ..named(register.name, register.stmt)
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

    /// Whether all registers have names that begin with `%`, as those of compilers do: other names are those of variables.
    pub(crate) fn registers_are_marked(&self) -> bool {
        let registers = self.ranges.iter().chain(&self.plain);
        let mut registers = registers.filter(|d| d.ty.is_some()).peekable();
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
    let at = sorted.partition_point(|d| d.name < name);
    sorted.get(at).filter(|d| d.name == name)
}
