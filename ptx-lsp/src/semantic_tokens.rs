//! Semantic tokens: the syntactic category of each word.

use lsp_types::{
    Position, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensLegend,
};
use ptx_edit::{Entity, NameRef, Names};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Module, Span, SymbolKind};
use ptx_isa::{Directive, Opcode, ScalarType, SpecialReg};

use crate::document::Document;
use crate::place;

/// The types of tokens. The number of a variant is the index of its type in [`TYPES`].
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

/// The bits of modifiers: bit `i` is the modifier `i` of the legend.
const DECLARATION: u32 = 1;
const GLOBAL: u32 = 2;
const READONLY: u32 = 4;

/// The type of a token with its modifiers.
#[derive(Copy, Clone)]
struct Classification {
    kind: Kind,
    modifiers: u32,
}

impl Classification {
    const fn new(kind: Kind, modifiers: u32) -> Self {
        Self { kind, modifiers }
    }
}

/// The names of types and modifiers, which the client gets at the beginning of a session.
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

/// The tokens in a range, or in the whole document.
pub(crate) fn tokens(document: &Document, range: Option<Span>) -> Vec<SemanticToken> {
    let module = document.module();
    let range = range.unwrap_or_else(|| Span::at(0, document.source().len()));
    let mut encoder = Encoder::new(document);
    // Lexing begins at the beginning of the statement that contains the start of the range. Comments and directives between items belong to no item, so
    // the whole range is lexed in one pass.
    let start = place::lexical_unit_at(module, range.start)
        .start
        .min(range.start);
    let names = names_in(module, range);
    let mut refs = names.iter().peekable();
    let text = Span::new(start, range.end).of(document.source());
    for mut token in Lexer::fragment(text) {
        token.span = token.span.shifted(start);
        while refs.next_if(|r| r.name.start < token.span.start).is_some() {}
        if token.span.end <= range.start {
            continue;
        }
        let name = refs.next_if(|r| r.name.start == token.span.start);
        let classification = match name {
            Some(name) => classify_name(module, name),
            None => classify_token(module, token),
        };
        if let Some(classification) = classification {
            encoder.push(token.span, classification);
        }
    }
    encoder.tokens
}

/// The names of the items that a range touches, in the order of the text.
fn names_in(module: &Module, range: Span) -> Vec<NameRef> {
    /// For more items, it is cheaper to collect the names of the whole module.
    const MAX_SEPARATE_ITEMS: usize = 8;
    let items: Vec<_> = module
        .items()
        .map(|(id, _)| id)
        .filter(|id| {
            let span = module.span(*id);
            span.start < range.end && range.start < span.end
        })
        .collect();
    if items.len() > MAX_SEPARATE_ITEMS {
        return Names::of(module).within(range).to_vec();
    }
    items
        .into_iter()
        .flat_map(|id| Names::of_item(module, id).refs().to_vec())
        .collect()
}

fn classify_name(module: &Module, name: &NameRef) -> Option<Classification> {
    let mut classification = match name.entity {
        Entity::Register(..) => Classification::new(Kind::Register, 0),
        Entity::Label(..) => Classification::new(Kind::Label, 0),
        Entity::Parameter(_) => Classification::new(Kind::Parameter, 0),
        Entity::Variable(function, variable) => {
            let variable = module.body(function).and_then(|b| b.vars().get(variable));
            // A variable without a statement is declared in the header of its function.
            match variable {
                Some(variable) if variable.stmt.is_none() => {
                    Classification::new(Kind::Parameter, 0)
                }
                _ => Classification::new(Kind::Variable, 0),
            }
        }
        Entity::Symbol(s) => match module.symbols().get(s)?.kind {
            SymbolKind::Function(_) => Classification::new(Kind::Function, 0),
            _ => Classification::new(Kind::Variable, GLOBAL),
        },
        _ => return None,
    };
    if name.declares {
        classification.modifiers |= DECLARATION;
    }
    Some(classification)
}

/// Classifies a token that is not a name.
fn classify_token(module: &Module, token: Token) -> Option<Classification> {
    let text = token.span.of(module.source());
    let kind = match token.kind {
        TokenKind::LineComment | TokenKind::BlockComment | TokenKind::LineMarker => Kind::Comment,
        TokenKind::String | TokenKind::BadString => Kind::String,
        TokenKind::Integer | TokenKind::Decimal | TokenKind::Single | TokenKind::Double => {
            Kind::Number
        }
        TokenKind::DotWord if ScalarType::from_text(text).is_some() => Kind::Type,
        TokenKind::DotWord if Directive::from_text(text).is_some() => Kind::Directive,
        TokenKind::DotWord => Kind::Modifier,
        TokenKind::Ident if SpecialReg::from_text(text).is_some() => {
            return Some(Classification::new(Kind::SpecialRegister, READONLY));
        }
        TokenKind::Ident if Opcode::from_text(text).is_some() => Kind::Instruction,
        _ => return None,
    };
    Some(Classification::new(kind, 0))
}

/// Encodes tokens by their distance from the previous one, as the protocol demands. A token of several lines becomes one token for each line.
struct Encoder<'d> {
    document: &'d Document,
    tokens: Vec<SemanticToken>,
    /// The beginning of the last token.
    position: Position,
}

impl<'d> Encoder<'d> {
    fn new(document: &'d Document) -> Self {
        Self {
            document,
            tokens: Vec::new(),
            position: Position::new(0, 0),
        }
    }

    fn push(&mut self, span: Span, classification: Classification) {
        let mut start = span.start;
        let text = span.of(self.document.source());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let length = line.trim_ascii_end().len() as u32;
            if length > 0 {
                self.push_line(Span::new(start, start + length), classification);
            }
            start += line.len() as u32;
        }
    }

    fn push_line(&mut self, span: Span, classification: Classification) {
        let position = self.document.position(span.start);
        let delta_line = position.line - self.position.line;
        let delta_start = match delta_line {
            0 => position.character - self.position.character,
            _ => position.character,
        };
        self.position = position;
        self.tokens.push(SemanticToken {
            delta_line,
            delta_start,
            length: self.document.lines().len(self.document.source(), span),
            token_type: classification.kind as u32,
            token_modifiers_bitset: classification.modifiers,
        });
    }
}
