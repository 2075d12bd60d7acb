//! What a name without a declaration should be, judged by the instruction that uses it.

use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_isa::{Directive, Opcode, Role, ScalarType, TypeKind};

/// How far before a name the opcode of its statement is looked for.
const LOOK_BACK: usize = 256;

/// What an undeclared name should be, judged by its use.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    Register,
    Function,
    Label,
    Variable,
    Name,
}

impl Expected {
    /// Whether one declaration at module level is missing, in all functions.
    pub(crate) const fn is_of_module(self) -> bool {
        matches!(self, Self::Function | Self::Variable)
    }

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
    /// Whether the name is a guard.
    guards: bool,
    /// The types among its modifiers.
    types: Vec<ScalarType>,
}

impl Context {
    /// Of the name at `at`.
    pub(crate) fn at(src: &[u8], at: usize, name: &str) -> Self {
        let before = &src[at.saturating_sub(LOOK_BACK)..at];
        let start = before.iter().rposition(|b| b";{}:".contains(b));
        let statement = &before[start.map_or(0, |i| i + 1)..];
        let tokens = Lexer::fragment(statement).filter(|t| !t.kind.is_trivia());
        let tokens: Vec<Token> = tokens.collect();
        let text = |t: &Token| t.span.of(statement);
        let mut words = tokens.iter().filter(|t| t.kind == TokenKind::Ident);
        let opcode = words.find_map(|t| Opcode::from_text(text(t)));
        let takes = |role| {
            let forms = opcode.iter().flat_map(|o| o.instructions());
            let mut operands = forms.flat_map(|i| i.forms()).flat_map(|f| f.operands());
            operands.any(|o| o.role() == role)
        };
        let takes_only_labels = takes(Role::Label) && {
            let forms = opcode.iter().flat_map(|o| o.instructions());
            let mut operands = forms.flat_map(|i| i.forms()).flat_map(|f| f.operands());
            operands.all(|o| o.role() == Role::Label)
        };
        let count = |mark: &[u8]| tokens.iter().filter(|t| text(t) == mark).count();
        let list = tokens.first().map(text).and_then(Directive::from_text);
        let expected = match tokens.last().map(text) {
            _ if takes_only_labels => Expected::Label,
            _ if list == Some(Directive::Branchtargets) => Expected::Label,
            _ if list == Some(Directive::Calltargets) => Expected::Function,
            _ if name.starts_with('%') => Expected::Register,
            // A guard.
            Some(b"@") => Expected::Register,
            Some(b"!") if tokens.len() == 2 => Expected::Register,
            Some(b"[") => Expected::Variable,
            _ if count(b"(") > count(b")") => Expected::Name,
            // Only calls have arguments.
            _ if takes(Role::Args) => Expected::Function,
            _ if takes(Role::Label) => Expected::Label,
            // The result comes first.
            _ if count(b",") == 0 && takes(Role::Def) => Expected::Register,
            _ => Expected::Name,
        };
        Self {
            expected,
            guards: tokens.first().map(text) == Some(b"@") && opcode.is_none(),
            types: tokens
                .iter()
                .filter_map(|t| ScalarType::from_text(text(t)))
                .collect(),
        }
    }

    /// Of a name outside of instructions.
    pub(crate) const fn outside(expected: Expected) -> Self {
        Self {
            expected,
            guards: false,
            types: Vec::new(),
        }
    }

    /// Whether a register of a type can be an operand.
    pub(crate) fn fits(&self, ty: Option<ScalarType>) -> bool {
        ty.is_some_and(|ty| self.types.iter().any(|t| t.bits() == ty.bits()))
    }

    /// A type for a register.
    pub(crate) fn class(&self) -> ScalarType {
        if self.guards {
            return ScalarType::Pred;
        }
        let width = self.types.last().map_or(32, |t| t.bits());
        let mut types = ScalarType::ALL.iter().copied();
        let class = types.find(|t| t.kind() == TypeKind::Bits && t.bits() == width);
        class.unwrap_or(ScalarType::B32)
    }
}
