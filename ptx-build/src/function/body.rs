//! The state of a function that is being built.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::raw::{RawBody, pop_statement, push_built_statement};
use ptx_ir::{
    Binding, Declarator, DirectiveId, DirectiveStmt, FuncId, FunctionKind, GuardSense, Label,
    LabelId, Module, NameId, Operand, RegDecl, RegDeclId, RegId, Register, ScopeId, Statement,
    StmtId, TableRange, TypeName, VarDecl,
};
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::copy::UNPLACED;
use crate::declared::{LabelInfo, Local, RegisterInfo, Registers, Stem};
use crate::error::{BuildError, BuildErrorKind};
use crate::handle::{CodeLabel, Dependency, Reg};
use crate::handle_owner::{Names, next_owner};
use crate::lexical::ends_with_digit;
use crate::mnemonic::Mnemonic;
use crate::module::tables::DeclState;
use crate::name_table::{Declared, Meaning, NameTable};
use crate::number::constant;
use crate::sequence::{Blocks, Mark, Sequence};

/// The handle of a parameter or result.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Parameter {
    Unnamed,
    Variable(u32),
    Register(u32),
}

/// Registers that were declared as a range, `%r<100>`, or by a plain name.
#[derive(Debug)]
pub(crate) struct RangeInfo {
    pub(super) name: String,
    pub(super) decl: RegDeclId,
    /// `None` for a plain name.
    pub(super) count: Option<u64>,
    pub(super) ty: ScalarType,
    pub(super) vector: u8,
    /// The number of scopes that were open at the declaration, the function itself included.
    pub(super) depth: usize,
    pub(super) is_open: bool,
    /// The register of a plain name.
    pub(super) plain: Option<u32>,
    /// The beginning of the names of members; `None` for a plain name.
    pub(super) stem: Option<Stem>,
}

/// The number of a member of a range with this name. A name that ends with a digit has no members: `x10` is member 10 of `x`.
fn number_after<'n>(range: &str, member: &'n str) -> Option<&'n str> {
    let number = member.strip_prefix(range)?;
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (digits && !ends_with_digit(range)).then_some(number)
}

impl RangeInfo {
    /// Whether a name is that of a member.
    pub(super) fn contains(&self, name: &str) -> bool {
        match (self.count, number_after(&self.name, name)) {
            (Some(count), Some(n)) => n.parse::<u64>().is_ok_and(|n| n < count),
            _ => false,
        }
    }
}

/// A scope that is open.
#[derive(Default, Debug)]
pub(crate) struct Scope {
    pub(super) id: u32,
    /// The names that it declares, each with the outer meaning that it hides.
    pub(super) names: Vec<(String, Option<Declared>)>,
    pub(super) ranges: Vec<u32>,
}

/// The fresh registers of one type.
#[derive(Debug)]
pub(super) struct FreshRegisters {
    pub(super) decl: RegDeclId,
    pub(super) ty: ScalarType,
    pub(super) prefix: String,
    pub(super) stem: Stem,
    pub(super) count: u32,
    /// The highest number that a statement mentions; 0 if none is mentioned.
    pub(super) highest_used: u32,
}

impl FreshRegisters {
    /// Whether a name is, or can become, that of such a register.
    pub(super) fn contains(&self, name: &str) -> bool {
        number_after(&self.prefix, name).is_some()
    }
}

/// The guard of a statement.
#[derive(Copy, Clone, Debug)]
pub(crate) struct PendingGuard {
    pub(super) predicate: Reg,
    pub(super) sense: GuardSense,
}

/// The statement that is being built.
#[derive(Default, Debug)]
pub(crate) struct PendingStatement {
    pub(crate) mnemonic: Mnemonic,
    /// Whether an instruction was begun.
    pub(super) is_open: bool,
    /// The guard of the next statement.
    pub(super) guard: Option<PendingGuard>,
    /// The sense of the guard of this statement, whose predicate is its first operand.
    pub(super) predicate: Option<GuardSense>,
    /// The operands; those of groups that are open come last.
    pub(crate) operands: Vec<Operand>,
    /// The number of groups of operands that are open.
    pub(crate) groups: u32,
    /// Whether the statement has a form that only the parser can check.
    pub(crate) is_irregular: bool,
    /// The names that the statement mentions.
    pub(crate) mentions: Vec<Dependency>,
    /// The registers among them that no statement before this one mentions.
    pub(crate) unused: Vec<u32>,
    pub(crate) error: Option<BuildError>,
    /// The error of a statement that was begun and not ended, which is reported when the function is finished.
    pub(super) unfinished: Option<BuildError>,
}

impl PendingGuard {
    /// The guard that holds where this one does not.
    pub(super) fn inverted(self) -> Self {
        let sense = match self.sense {
            GuardSense::Positive => GuardSense::Negated,
            GuardSense::Negated => GuardSense::Positive,
        };
        Self { sense, ..self }
    }
}

/// A function that is being built.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) owner: u32,
    pub(crate) function: u32,
    pub(crate) kind: FunctionKind,
    pub(crate) name: String,
    /// The function in the module.
    pub(crate) record: FuncId,
    /// The statements and what they mention, numbered as they are made.
    pub(crate) records: ptx_ir::Body,
    /// The statements and comments of the current block.
    pub(super) sequence: Sequence,
    /// Whether the records are numbered like those of a parsed function, and all of them are used.
    pub(crate) is_in_order: bool,
    pub(crate) registers: Registers,
    pub(crate) locals: Vec<Local>,
    pub(crate) labels: Vec<LabelInfo>,
    /// The meaning of each name in the scope that is open.
    pub(crate) names: NameTable,
    pub(super) scopes: Vec<Scope>,
    /// The parent of each scope, by the number of the scope; scope 0 is the function itself.
    pub(super) parent_scopes: Vec<u32>,
    /// The functions that are declared inside of it.
    pub(crate) declared: Vec<u32>,
    pub(super) ranges: Vec<RangeInfo>,
    pub(super) fresh: Vec<FreshRegisters>,
    /// The index of the fresh registers of each type in [`fresh`](Self::fresh).
    pub(super) fresh_index_of_type: [Option<u8>; ScalarType::COUNT],
    pub(crate) fresh_labels: u32,
    /// The places that `.loc` named in this function.
    pub(crate) places: BTreeSet<[u32; 3]>,
    pub(super) blocks: Blocks,
    pub(super) results: Vec<Parameter>,
    pub(super) params: Vec<Parameter>,
    /// The statement that is being built.
    pub(crate) pending: PendingStatement,
    /// Whether the records have registers that the checker does not know.
    pub(crate) has_new_registers: bool,
}

impl Body {
    /// Moves the names that the function declared out of it.
    pub(super) fn take_names(&mut self) -> Names {
        use core::mem::take;
        Names {
            function: self.name.clone(),
            registers: take(&mut self.registers),
            locals: take(&mut self.locals),
            labels: take(&mut self.labels),
        }
    }

    /// The label of a handle, if the handle is one of this function.
    pub(crate) fn label(&self, label: CodeLabel) -> Option<&LabelInfo> {
        let info = self.labels.get(label.index as usize)?;
        (label.owner == self.owner).then_some(info)
    }

    /// The register of a handle, if the handle is one of this function.
    #[inline]
    pub(crate) fn register(&self, register: Reg) -> Option<&RegisterInfo> {
        let info = self.registers.get(register.index)?;
        (register.owner == self.owner).then_some(info)
    }

    /// Whether a register is a parameter or result.
    pub(crate) fn is_parameter(&self, register: u32) -> bool {
        let mut parameters = self.params.iter().chain(&self.results);
        parameters.any(|p| matches!(p, Parameter::Register(index) if *index == register))
    }

    /// A function without statements.
    pub(super) fn new(function: u32, record: FuncId, kind: FunctionKind, name: &str) -> Self {
        Self {
            owner: next_owner(),
            record,
            records: ptx_ir::Body::default(),
            sequence: Sequence::default(),
            is_in_order: true,
            function,
            kind,
            name: String::from(name),
            registers: Registers::default(),
            locals: Vec::new(),
            labels: Vec::new(),
            names: NameTable::default(),
            scopes: vec![Scope::default()],
            parent_scopes: vec![0],
            declared: Vec::new(),
            ranges: Vec::new(),
            fresh: Vec::new(),
            fresh_index_of_type: [None; ScalarType::COUNT],
            fresh_labels: 0,
            places: BTreeSet::new(),
            blocks: Blocks::default(),
            results: Vec::new(),
            params: Vec::new(),
            pending: PendingStatement::default(),
            has_new_registers: false,
        }
    }

    /// Whether the function has nothing but parameters and results.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_statements()
            && !self.pending.is_open
            && self.labels.is_empty()
            && self.ranges.is_empty()
            && self.fresh.is_empty()
            && self.declared.is_empty()
            && self.scopes.len() == 1
            && self.blocks.is_empty()
    }

    /// Marks the registers that the statement which was just added mentions first: they have to be declared.
    #[inline]
    pub(crate) fn record_first_uses(&mut self) {
        if !self.pending.unused.is_empty() {
            self.record_each_first_use();
        }
    }

    fn record_each_first_use(&mut self) {
        for register in self.pending.unused.drain(..) {
            if let Some(info) = self.registers.get_mut(register) {
                info.is_used = true;
                if let Some(Some(index)) = self.fresh_index_of_type.get(info.ty.index())
                    && let Some(fresh) = self.fresh.get_mut(usize::from(*index))
                    && fresh.decl == info.decl
                {
                    fresh.highest_used = fresh.highest_used.max(info.number);
                }
            }
        }
    }

    /// Forgets the names that a refused statement mentions.
    pub(crate) fn forget_mentions(&mut self) {
        self.is_in_order = false;
        self.pending.unused.clear();
        for mention in self.pending.mentions.drain(..) {
            if let Dependency::Label(l) = mention
                && let Some(label) = self.labels.get_mut(l as usize)
                && label.place.is_none()
            {
                label.waiting.pop();
            }
        }
    }

    /// Whether a statement can mention a label here: it is to be placed, or its scope is open.
    pub(crate) fn reaches(&self, label: &LabelInfo) -> bool {
        label.visible
            && (label.place).is_none_or(|place| self.scopes.iter().any(|scope| scope.id == place))
    }

    /// Records that a statement mentions a label, which may have to be placed.
    pub(crate) fn wait(&mut self, label: u32) {
        let scope = self.scope();
        if let Some(label) = self.labels.get_mut(label as usize)
            && label.place.is_none()
        {
            label.waiting.push(scope);
        }
    }

    /// The number of the scope that is open.
    pub(crate) fn scope(&self) -> u32 {
        self.scopes.last().map_or(0, |s| s.id)
    }

    pub(super) fn push_scope(&mut self) {
        let (id, parent) = (self.parent_scopes.len() as u32, self.scope());
        self.parent_scopes.push(parent);
        self.scopes.push(Scope {
            id,
            ..Scope::default()
        });
    }

    /// Whether a scope is `outer` or inside of it.
    pub(super) fn is_inside(&self, mut scope: u32, outer: u32) -> bool {
        // Inner scopes have larger numbers.
        while scope > outer {
            scope = self.parent_scopes.get(scope as usize).copied().unwrap_or(0);
        }
        scope == outer
    }

    /// Whether a function of the module is declared before this place.
    pub(crate) fn is_declared_before(&self, function: u32, declaration_state: DeclState) -> bool {
        match declaration_state {
            DeclState::Declared => true,
            DeclState::Discarded => false,
            DeclState::Open => function == self.function,
            DeclState::Nested { owner, scope } => {
                let is_open = self.scopes.iter().any(|s| s.id == scope);
                function == self.function || (owner == self.owner && is_open)
            }
        }
    }

    /// Whether the name of a function of the module denotes another entity here.
    pub(crate) fn shadows(&self, name: &str, function: u32) -> bool {
        match self.names.get(name) {
            Some((_, Meaning::Function(f))) => f != function,
            _ => self.has_meaning(name),
        }
    }

    /// Whether there are registers in a range of this name.
    pub(super) fn has_range(&self, name: &str) -> bool {
        let mut ranges = self.ranges.iter().filter(|r| r.is_open);
        self.fresh.iter().any(|f| f.prefix == name) || ranges.any(|r| r.name == name)
    }

    /// Whether a name denotes an entity here that the function declared.
    pub(crate) fn has_meaning(&self, name: &str) -> bool {
        self.names.contains(name)
            || self.fresh.iter().any(|fresh| fresh.contains(name))
            || (self.ranges.iter()).any(|range| range.is_open && range.contains(name))
    }

    /// Whether it has statements or comments.
    pub(super) fn has_statements(&self) -> bool {
        !self.records.statement_table().is_empty() || self.sequence.mark() != Mark::default()
    }

    /// Whether an inner scope is open.
    pub(crate) fn is_in_scope(&self) -> bool {
        self.depth() > 1
    }

    /// The number of scopes that are open, the function itself included.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Adds a statement to the current block.
    #[inline]
    pub(super) fn push_statement(&mut self, statement: Statement) -> StmtId {
        let id = push_built_statement(&mut self.records, statement);
        self.sequence.push(id);
        id
    }

    /// Removes the last statement of the current block, which was just added.
    pub(super) fn pop_statement(&mut self) {
        pop_statement(&mut self.records);
        self.sequence.pop();
    }

    // --- records of names ---

    /// The record of a label.
    pub(crate) fn record_label(&mut self, label: u32) -> LabelId {
        let Some(info) = self.labels.get_mut(label as usize) else {
            return LabelId::new(u32::MAX);
        };
        let (name, labels) = (info.record, self.records.labels_mut());
        *info
            .id
            .get_or_insert_with(|| labels.push(Label::new(name, ScopeId::new(0), UNPLACED)))
    }

    /// The record of a register.
    #[inline(never)]
    pub(crate) fn record_register(&mut self, register: u32) -> RegId {
        let Some(info) = self.registers.get_mut(register) else {
            return RegId::new(u32::MAX);
        };
        let id = match info.id {
            Some(id) => id,
            None => (self.records.registers_mut()).push(Register::new(info.decl, info.number)),
        };
        info.id = Some(id);
        self.has_new_registers = true;
        id
    }

    /// The name of fresh registers or of a parameter.
    pub(super) fn add_register_name(
        &mut self,
        name: NameId,
        count: Option<u32>,
        ty: ScalarType,
        vector: u8,
    ) -> RegDeclId {
        let mut decl = RegDecl::new(name, TypeName::Known(ty), ScopeId::new(0));
        decl.count = count;
        decl.vector = vector;
        self.records.reg_decls_mut().push(decl)
    }

    /// Declares a range of fresh registers.
    pub(super) fn declare_fresh(
        &mut self,
        module: &mut Module,
        ty: ScalarType,
        decl: RegDeclId,
        count: u64,
    ) -> StmtId {
        let stmt = self.records.statement_table().next_id();
        let Some(record) = self.records.reg_decls_mut().get_mut(decl) else {
            return stmt;
        };
        (record.stmt, record.count) = (Some(stmt), u32::try_from(count).ok());
        let name = record.name;
        let count = match i32::try_from(count) {
            Ok(small @ 0..1_000_000_000) => Some(Operand::Small(small)),
            _ => constant(&count.to_string(), module, self.records.pool_mut()),
        };
        let declarations = self.records.declarations_mut();
        let mut declarator = Declarator::new(name, Binding::Register(decl));
        declarator.count = count.unwrap_or(Operand::Absent);
        let start = declarations.declarators.push(declarator);
        let mut decl = VarDecl::new(StateSpace::Reg, TypeName::Known(ty));
        decl.declarators = TableRange {
            start: start as u32,
            len: 1,
        };
        let id = declarations.decls.push(decl);
        push_built_statement(&mut self.records, Statement::Decl(id))
    }

    pub(super) fn add_directive(&mut self, directive: Directive, args: &[Operand]) -> DirectiveId {
        let args = self.records.pool_mut().extend(args);
        let stmt = DirectiveStmt::new(directive, args);
        self.records.directives_mut().push(stmt)
    }

    /// The register of a plain name.
    pub(super) fn plain_register(&self, decl: RegDeclId) -> Option<RegId> {
        self.records
            .registers()
            .iter()
            .rev()
            .find(|(_, register)| register.decl == decl)
            .map(|(id, _)| id)
    }

    /// Records a statement that was begun and not ended.
    pub(crate) fn abandon(&mut self) {
        if self.pending.is_open {
            let message = format!("`{}` was begun and not ended", self.pending.mnemonic.text());
            let help =
                "end it with its operands: the method of its type, or `emit(())` where it has none";
            self.pending.unfinished.get_or_insert(BuildError::new(
                BuildErrorKind::Unfinished,
                message,
                help,
            ));
            (self.pending.is_open, self.pending.guard) = (false, None);
        }
    }
}
