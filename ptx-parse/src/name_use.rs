//! The kind of declaration that an undeclared name lacks, judged by the instruction that uses it.

use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_isa::{Directive, Opcode, Role, ScalarType, TypeKind};

/// The number of bytes before a name in which the opcode of its statement is searched.
const LOOK_BACK: usize = 256;

/// The kind of declaration that an undeclared name lacks, judged by its use.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    Register,
    Function,
    Label,
    Variable,
    /// The use does not tell the kind.
    Name,
}

impl Expected {
    /// Whether the missing declaration is one of the module, which all functions share.
    pub(crate) const fn is_of_module(self) -> bool {
        matches!(self, Self::Function | Self::Variable)
    }

    /// The noun for messages.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Function => "function",
            Self::Label => "label",
            Self::Variable => "variable",
            Self::Name => "name",
        }
    }
}

/// The instruction before a name.
pub(crate) struct Context {
    pub(crate) expected: Expected,
    is_guard: bool,
    /// The types among its modifiers.
    types: Vec<ScalarType>,
}

impl Context {
    /// The context of `name`, which is at `offset` of the source.
    pub(crate) fn of_name(src: &[u8], offset: usize, name: &str) -> Self {
        let preceding = &src[offset.saturating_sub(LOOK_BACK)..offset];
        let start = preceding.iter().rposition(|b| b";{}:".contains(b));
        let statement = &preceding[start.map_or(0, |i| i + 1)..];
        let tokens: Vec<Token> = Lexer::fragment(statement)
            .filter(|t| !t.kind.is_trivia())
            .collect();
        let text = |t: &Token| t.span.of(statement);
        let opcode = tokens
            .iter()
            .filter(|t| t.kind == TokenKind::Ident)
            .find_map(|t| Opcode::from_text(text(t)));
        let roles: Vec<Role> = opcode
            .iter()
            .flat_map(|opcode| opcode.instructions())
            .flat_map(|instruction| instruction.forms())
            .flat_map(|form| form.operands())
            .map(|operand| operand.role())
            .collect();
        let takes_only_labels = !roles.is_empty() && roles.iter().all(|role| *role == Role::Label);
        let count = |mark: &[u8]| tokens.iter().filter(|t| text(t) == mark).count();
        let directive = tokens.first().map(text).and_then(Directive::from_text);
        let expected = match tokens.last().map(text) {
            _ if takes_only_labels => Expected::Label,
            _ if directive == Some(Directive::Branchtargets) => Expected::Label,
            _ if directive == Some(Directive::Calltargets) => Expected::Function,
            _ if name.starts_with('%') => Expected::Register,
            // The name is a guard.
            Some(b"@") => Expected::Register,
            Some(b"!") if tokens.len() == 2 => Expected::Register,
            Some(b"[") => Expected::Variable,
            _ if count(b"(") > count(b")") => Expected::Name,
            // Only calls have arguments.
            _ if roles.contains(&Role::Args) => Expected::Function,
            _ if roles.contains(&Role::Label) => Expected::Label,
            // The result is the first operand.
            _ if count(b",") == 0 && roles.contains(&Role::Def) => Expected::Register,
            _ => Expected::Name,
        };
        Self {
            expected,
            is_guard: tokens.first().map(text) == Some(b"@") && opcode.is_none(),
            types: tokens
                .iter()
                .filter_map(|t| ScalarType::from_text(text(t)))
                .collect(),
        }
    }

    /// The context of a name outside of instructions.
    pub(crate) const fn outside(expected: Expected) -> Self {
        Self {
            expected,
            is_guard: false,
            types: Vec::new(),
        }
    }

    /// Whether the width of a type is that of a type of the instruction.
    pub(crate) fn fits(&self, ty: Option<ScalarType>) -> bool {
        ty.is_some_and(|ty| self.types.iter().any(|t| t.bits() == ty.bits()))
    }

    /// The type of a register that the instruction takes.
    pub(crate) fn register_type(&self) -> ScalarType {
        if self.is_guard {
            return ScalarType::Pred;
        }
        let width = self.types.last().map_or(32, |t| t.bits());
        ScalarType::ALL
            .iter()
            .copied()
            .find(|t| t.kind() == TypeKind::Bits && t.bits() == width)
            .unwrap_or(ScalarType::B32)
    }
}
