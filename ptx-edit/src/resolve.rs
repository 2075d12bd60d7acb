//! Finds the entity that a name denotes at a place of a function. A place is identified by its key, which is greater than the
//! key of every statement before it: see [`ptx_ir::raw::stmt_key`].

use ptx_ir::raw::name::{plain_wins, range_member};
use ptx_ir::raw::{RawBody, RawModule};
use ptx_ir::{
    DeclId, Declarations, LabelId, NameId, Operand, OperandPool, RegDeclId, ScopeId, Statement,
    StmtId, SymbolId, SymbolKind, Var, VarId,
};

use crate::Editor;
use crate::visibility::is_declared_before;

/// A declaration of a body.
#[derive(Copy, Clone)]
enum Local {
    Register(RegDeclId),
    /// A variable, or the first one of a range.
    Var(VarId),
    Label(LabelId),
}

impl Editor<'_> {
    /// The operand that a name denotes at a place; `None` if no visible entity has the name. Linear in the names of the
    /// function and of the module.
    pub(crate) fn resolve(&mut self, key: u64, name: &str) -> Option<Operand> {
        match self.local_named(key, name) {
            Some((local, number)) => self.local_operand(local, number),
            None => self.symbol_named(name).map(Operand::Symbol),
        }
    }

    /// The operand that a name denotes after a statement, or where the body begins.
    #[doc(hidden)]
    pub fn resolve_after(&mut self, predecessor: Option<StmtId>, name: &str) -> Option<Operand> {
        let key = self.key_after(predecessor);
        self.resolve(key, name)
    }

    /// The scope of the declaration in the function that a name denotes at a place.
    pub(crate) fn scope_of_name(&self, key: u64, name: &str) -> Option<ScopeId> {
        let body = self.body();
        match self.local_named(key, name)?.0 {
            Local::Register(id) => body.reg_decls().get(id).map(|d| d.scope),
            Local::Var(id) => body.vars().get(id).map(|v| v.scope),
            Local::Label(id) => body.labels().get(id).map(|l| l.scope),
        }
    }

    /// The declaration in the function that a name denotes at a place and, of a range, the number of the member.
    fn local_named(&self, key: u64, name: &str) -> Option<(Local, Option<u32>)> {
        let plain = self
            .module
            .find_name(name.as_bytes())
            .and_then(|name| self.innermost(key, name, None));
        let member = range_member(name).and_then(|(stem, number)| {
            let stem = self.module.find_name(stem.as_bytes())?;
            let (depth, local) = self.innermost(key, stem, Some(number))?;
            Some((depth, local, number))
        });
        match (plain, member) {
            (Some((depth, local)), Some((range, ..))) if plain_wins(depth, range) => {
                Some((local, None))
            }
            (_, Some((_, local, number))) => Some((local, Some(number))),
            (Some((_, local)), None) => Some((local, None)),
            (None, None) => None,
        }
    }

    /// The innermost visible declaration of a name and its depth: a plain declaration or, if there is a number, a range with
    /// this member.
    fn innermost(&self, key: u64, name: NameId, number: Option<u32>) -> Option<(u32, Local)> {
        let body = self.body();
        let use_scope = ptx_ir::raw::scope_of_key(body, key);
        let is_visible = |scope: ScopeId, stmt: Option<StmtId>| {
            body.is_in_scope(use_scope, scope) && is_declared_before(body, stmt, key)
        };
        let visible_registers = body.reg_decls().iter().filter(|(_, d)| {
            let matches_number =
                number.map_or(d.count.is_none(), |n| d.count.is_some_and(|c| n < c));
            d.name == name && matches_number && is_visible(d.scope, d.stmt)
        });
        let visible_vars = body.vars().iter().filter(|(_, v)| {
            let declaration = v.stmt.and_then(|s| body.statement(s));
            let count = match declaration {
                Some(Statement::Decl(id)) => {
                    range_count(body.declarations(), body.pool(), id, name)
                }
                _ => None,
            };
            let matches_number =
                number.map_or(v.number.is_none(), |n| count.is_some_and(|c| n < c));
            v.name == name && matches_number && is_visible(v.scope, v.stmt)
        });
        let visible_labels = body
            .labels()
            .iter()
            .filter(|(_, l)| l.name == name && number.is_none() && is_visible(l.scope, None));
        let registers = visible_registers.map(|(id, d)| (d.scope, Local::Register(id)));
        let vars = visible_vars.map(|(id, v)| (v.scope, Local::Var(id)));
        let labels = visible_labels.map(|(id, l)| (l.scope, Local::Label(id)));
        let mut innermost: Option<(ScopeId, Local)> = None;
        for (scope, local) in registers.chain(vars).chain(labels) {
            if innermost.is_none_or(|(outer, _)| outer != scope && body.is_in_scope(scope, outer)) {
                innermost = Some((scope, local));
            }
        }
        let (mut scope, local) = innermost?;
        let mut depth = 0;
        while let Some(s) = body.scope(scope) {
            (scope, depth) = (s.parent, depth + 1);
        }
        Some((depth, local))
    }

    /// The operand of a declaration or, of a range, of the member with this number.
    fn local_operand(&mut self, local: Local, number: Option<u32>) -> Option<Operand> {
        match local {
            Local::Register(decl) => {
                let id = self.register(decl, number.unwrap_or_default()).ok()?;
                Some(Operand::Reg(id))
            }
            Local::Var(first) => self.var_member(first, number).map(Operand::Var),
            Local::Label(id) => Some(Operand::Label(id)),
        }
    }

    /// A member of a range of variables, which is added if it has no record yet; without a number, the variable itself.
    pub(crate) fn var_member(&mut self, first: VarId, number: Option<u32>) -> Option<VarId> {
        let member = Var {
            number,
            ..*self.body().vars().get(first)?
        };
        let existing = self.body().vars().iter().find(|(_, v)| **v == member);
        match existing {
            Some((id, _)) => Some(id),
            None => Some(self.body_mut().vars_mut().push(member)),
        }
    }

    /// The symbol of the module that a name denotes.
    fn symbol_named(&mut self, name: &str) -> Option<SymbolId> {
        let module = &*self.module;
        let find = |name: &str, accepts_number: &dyn Fn(Option<u32>) -> bool| {
            let name = module.find_name(name.as_bytes())?;
            let mut symbols = module.symbols().iter();
            symbols.find(|(_, s)| s.name == name && accepts_number(s.number))
        };
        if let Some((id, _)) = find(name, &|number| number.is_none()) {
            return Some(id);
        }
        let (stem, number) = range_member(name)?;
        if let Some((id, _)) = find(stem, &|n| n == Some(number)) {
            return Some(id);
        }
        let first = *find(stem, &|number| number.is_some())?.1;
        let SymbolKind::Variable(_, decl) = first.kind else {
            return None;
        };
        let count = range_count(module.declarations(), module.pool(), decl, first.name)?;
        if number >= count {
            return None;
        }
        let number = Some(number);
        let mut symbol = first;
        symbol.number = number;
        Some(self.module.symbols_mut().push(symbol))
    }
}

/// The number of members of a range of variables.
fn range_count(
    tables: &Declarations,
    pool: &OperandPool,
    decl: DeclId,
    name: NameId,
) -> Option<u32> {
    let declarator = tables.declarators(decl).iter().find(|d| d.name == name)?;
    u32::try_from(pool.integer(declarator.count)?).ok()
}
