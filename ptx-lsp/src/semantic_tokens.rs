//! Semantic tokens: what each word is.

use lsp_types::{SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensLegend};
use ptx_edit::{Entity, NameRef, Names};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Module, Span, SymbolKind};
use ptx_isa::{Directive, Opcode, ScalarType, SpecialReg};

use crate::document::Document;
use crate::place;

/// The types, in the order of their numbers.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    Instruction,
    Modifier,
    Type,
    Directive,
    Register,
    SpecialRegister,
    Variable,
    Parameter,
    Function,
    Label,
    Number,
    String,
    Comment,
}

const TYPES: [SemanticTokenType; 13] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::MODIFIER,
    SemanticTokenType::TYPE,
    SemanticTokenType::MACRO,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::new("label"),
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::COMMENT,
];

const DECLARATION: u32 = 1;
const GLOBAL: u32 = 2;
const READONLY: u32 = 4;

/// The names of types and modifiers.
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::STATIC,
            SemanticTokenModifier::READONLY,
        ],
    }
}

/// The tokens of a part of a document: of the items that it touches, those in it.
pub(crate) fn tokens(document: &Document, range: Option<Span>) -> Vec<SemanticToken> {
    let module = document.module();
    let whole = Span::at(0, document.source().len());
    let wanted = range.unwrap_or(whole);
    let mut out = Out::new(document);
    // Comments and directives between items belong to none: the stretches between names are lexed in one pass.
    let start = line_start(module, wanted.start);
    let names = names_in(module, wanted);
    let mut refs = names.iter().peekable();
    let text = Span::new(start, wanted.end).of(document.source());
    let mut previous = None;
    for mut token in Lexer::fragment(text) {
        token.span = token.span.shifted(start);
        while refs.next_if(|r| r.name.start < token.span.start).is_some() {}
        if token.span.end <= wanted.start {
            continue;
        }
        let name = refs.next_if(|r| r.name.start == token.span.start);
        let kind = match name {
            Some(name) => of_name(module, name),
            None => of_token(module, token, previous),
        };
        if let Some((kind, modifiers)) = kind {
            out.push(token.span, kind, modifiers);
        }
        if !token.kind.is_trivia() {
            previous = Some(token.kind);
        }
    }
    out.tokens
}

/// Where reading can begin before an offset: at the beginning of its statement.
fn line_start(module: &Module, offset: u32) -> u32 {
    place::stretch_at(module, offset).start.min(offset)
}

/// The names of the items that a part of the text touches.
fn names_in(module: &Module, wanted: Span) -> Vec<NameRef> {
    let items = module.items().filter(|(id, _)| {
        let span = module.span(*id);
        span.start < wanted.end && wanted.start < span.end
    });
    let touched: Vec<_> = items.map(|(id, _)| id).collect();
    if touched.len() > 8 {
        return Names::of(module).within(wanted).to_vec();
    }
    let names = touched.into_iter().map(|id| Names::of_item(module, id));
    names.flat_map(|n| n.refs().to_vec()).collect()
}

fn of_name(module: &Module, name: &NameRef) -> Option<(Kind, u32)> {
    let declares = if name.declares { DECLARATION } else { 0 };
    let kind = match name.entity {
        Entity::Register(..) => (Kind::Register, 0),
        Entity::Label(..) => (Kind::Label, 0),
        Entity::Parameter(_) => (Kind::Parameter, 0),
        Entity::Variable(f, v) => {
            let var = module.body(f).and_then(|b| b.vars().get(v));
            match var.is_some_and(|v| v.stmt.is_none()) {
                true => (Kind::Parameter, 0),
                false => (Kind::Variable, 0),
            }
        }
        Entity::Symbol(s) => match module.symbols().get(s)?.kind {
            SymbolKind::Function(_) => (Kind::Function, 0),
            _ => (Kind::Variable, GLOBAL),
        },
        _ => return None,
    };
    Some((kind.0, kind.1 | declares))
}

fn of_token(module: &Module, token: Token, previous: Option<TokenKind>) -> Option<(Kind, u32)> {
    let text = token.span.of(module.source());
    let kind = match token.kind {
        TokenKind::LineComment | TokenKind::BlockComment | TokenKind::LineMarker => Kind::Comment,
        TokenKind::String | TokenKind::BadString => Kind::String,
        TokenKind::Integer | TokenKind::Decimal | TokenKind::Single | TokenKind::Double => {
            Kind::Number
        }
        TokenKind::DotWord if ScalarType::from_text(text).is_some() => Kind::Type,
        TokenKind::DotWord
            if previous != Some(TokenKind::Ident) && previous != Some(TokenKind::DotWord)
                || Directive::from_text(text).is_some() =>
        {
            match Directive::from_text(text) {
                Some(_) => Kind::Directive,
                None => Kind::Modifier,
            }
        }
        TokenKind::DotWord => Kind::Modifier,
        TokenKind::Ident if SpecialReg::from_text(text).is_some() => {
            return Some((Kind::SpecialRegister, READONLY));
        }
        TokenKind::Ident if Opcode::from_text(text).is_some() => Kind::Instruction,
        _ => return None,
    };
    Some((kind, 0))
}

/// Tokens with their distance to the one before. Those of several lines are divided.
struct Out<'d> {
    document: &'d Document,
    tokens: Vec<SemanticToken>,
    /// The line and the column of the last token, and where its line begins.
    line: u32,
    column: u32,
}

impl<'d> Out<'d> {
    fn new(document: &'d Document) -> Self {
        Self {
            document,
            tokens: Vec::new(),
            line: 0,
            column: 0,
        }
    }

    fn push(&mut self, span: Span, kind: Kind, modifiers: u32) {
        let mut start = span.start;
        for line in span
            .of(self.document.source())
            .split_inclusive(|b| *b == b'\n')
        {
            let end = start + line.len() as u32;
            let content = line.trim_ascii_end().len() as u32;
            if content > 0 {
                self.push_line(Span::new(start, start + content), kind, modifiers);
            }
            start = end;
        }
    }

    fn push_line(&mut self, span: Span, kind: Kind, modifiers: u32) {
        let at = self.document.position(span.start);
        let delta_line = at.line - self.line;
        let delta_start = match delta_line {
            0 => at.character - self.column,
            _ => at.character,
        };
        (self.line, self.column) = (at.line, at.character);
        self.tokens.push(SemanticToken {
            delta_line,
            delta_start,
            length: self.document.lines().len(self.document.source(), span),
            token_type: kind as u32,
            token_modifiers_bitset: modifiers,
        });
    }
}
