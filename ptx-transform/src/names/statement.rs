//! The names of one statement: what it mentions is known, where it stands is found among its words.

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Binding, Body, Declarator, FuncId, LabelId, Module, NameId, Operand, Span, SymbolId,
    TableRange, VarId,
};

use super::tables::Ranges;
use super::{Entity, Name, parameters};

/// Which words are none of the names.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Skip {
    Nothing,
    /// The first word that is no guard.
    Opcode,
    /// Those outside parentheses.
    Outside,
    /// Those inside.
    Inside,
    /// All but the one behind `function_name`.
    Keywords,
}

/// A name that a statement may have.
struct Word {
    name: NameId,
    number: Option<u32>,
    entity: Entity,
    declares: bool,
}

/// The names that a statement has.
pub(super) struct Words<'m> {
    module: &'m Module,
    symbols: &'m Ranges<SymbolId>,
    all: Vec<Word>,
}

type Owner<'a> = Option<(FuncId, &'a Body, &'a Ranges<VarId>)>;

impl<'m> Words<'m> {
    pub(super) fn new(module: &'m Module, symbols: &'m Ranges<SymbolId>) -> Self {
        Self {
            module,
            symbols,
            all: Vec::new(),
        }
    }

    fn add(&mut self, name: NameId, number: Option<u32>, entity: Entity, declares: bool) {
        self.all.push(Word {
            name,
            number,
            entity,
            declares,
        });
    }

    pub(super) fn mention(&mut self, owner: Owner<'_>, operand: Operand) {
        match (operand, owner) {
            (Operand::Symbol(id), _) => self.symbol(id, false),
            (Operand::Name(name), _) => self.add(name, None, Entity::Unknown(name), false),
            (Operand::Reg(id), Some((function, body, _))) => {
                if let Some(register) = body.registers.get(id)
                    && let Some(decl) = body.reg_decls.get(register.decl)
                {
                    let entity = Entity::Register(function, register.decl);
                    let number = decl.count.map(|_| register.number);
                    self.add(decl.name, number, entity, false);
                }
            }
            (Operand::Var(id), Some(owner)) => self.variable(owner, id, false),
            (Operand::Label(id), Some((function, body, _))) => {
                self.label(function, body, id, false);
            }
            _ => {}
        }
    }

    pub(super) fn symbol(&mut self, id: SymbolId, declares: bool) {
        if let Some(symbol) = self.module.symbols.get(id) {
            let entity = Entity::Symbol(self.symbols.first(id));
            let number = symbol.number.filter(|_| !declares);
            self.add(symbol.name, number, entity, declares);
        }
    }

    fn variable(
        &mut self,
        (function, body, vars): (FuncId, &Body, &Ranges<VarId>),
        id: VarId,
        declares: bool,
    ) {
        if let Some(var) = body.vars.get(id) {
            let entity = Entity::Variable(function, vars.first(id));
            let number = var.number.filter(|_| !declares);
            self.add(var.name, number, entity, declares);
        }
    }

    pub(super) fn label(&mut self, function: FuncId, body: &Body, id: LabelId, declares: bool) {
        if let Some(label) = body.labels.get(id) {
            self.add(label.name, None, Entity::Label(function, id), declares);
        }
    }

    fn binding(&mut self, owner: Owner<'_>, name: NameId, binding: Binding) -> bool {
        match (binding, owner) {
            (Binding::Register(decl), Some((function, ..))) => {
                self.add(name, None, Entity::Register(function, decl), true);
            }
            (Binding::Var(id), Some(owner)) => self.variable(owner, id, true),
            (Binding::Symbol(id), _) => self.symbol(id, true),
            _ => return false,
        }
        true
    }

    pub(super) fn declaration(&mut self, owner: Owner<'_>, declarators: &[Declarator]) {
        for d in declarators {
            self.binding(owner, d.name, d.binding);
        }
    }

    pub(super) fn parameters(&mut self, owner: Owner<'_>, range: TableRange) {
        for (index, param) in parameters(self.module, range) {
            let Some(name) = param.name else { continue };
            if !self.binding(owner, name, param.binding) {
                self.add(name, None, Entity::Parameter(index), true);
            }
        }
    }

    /// Finds them in a statement.
    pub(super) fn find(mut self, span: Span, skip: Skip, found: &mut Vec<Name>) {
        if self.all.is_empty() {
            return;
        }
        let text = span.of(self.module.source());
        let (mut depth, mut guard, mut opcode, mut named) = (0usize, false, false, false);
        let mut tokens = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .peekable();
        while let Some(token) = tokens.next() {
            let word = token.span.of(text);
            if token.kind != TokenKind::Ident {
                match word {
                    b"(" => depth += 1,
                    b")" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                guard = matches!(word, b"@" | b"!");
                continue;
            }
            let of_guard = core::mem::take(&mut guard);
            let behind_keyword = core::mem::replace(&mut named, word == b"function_name");
            let skipped = match skip {
                // `generic(x)` is an operator in an initialiser, whatever has that name.
                Skip::Nothing => tokens
                    .peek()
                    .is_some_and(|t| word == b"generic" && t.span.of(text) == b"("),
                Skip::Opcode => !of_guard && !core::mem::replace(&mut opcode, true),
                Skip::Outside => depth == 0,
                Skip::Inside => depth > 0,
                Skip::Keywords => !behind_keyword,
            };
            if skipped {
                continue;
            }
            if let Some(i) = self.all.iter().position(|w| self.is(w, word)) {
                let w = &mut self.all[i];
                found.push(Name {
                    span: token.span.shifted(span.start),
                    entity: w.entity,
                    number: w.number,
                    declares: w.declares,
                });
                // What is declared is used from then on: `.global .u64 p = p`.
                w.declares = false;
            }
        }
    }

    fn is(&self, word: &Word, text: &[u8]) -> bool {
        let name = self.module.name_bytes(word.name);
        let Some(number) = word.number else {
            return text == name;
        };
        let Some(rest) = text.strip_prefix(name) else {
            return false;
        };
        // As the assembler reads it: leading zeros mean nothing.
        let wraps = |n: u32, b: &u8| n.wrapping_mul(10).wrapping_add(u32::from(b - b'0'));
        !rest.is_empty()
            && rest.iter().all(u8::is_ascii_digit)
            && rest.iter().fold(0, wraps) == number
    }
}
