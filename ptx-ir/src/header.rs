//! The header of a module: version, target, address size. Manual 11.1.

use ptx_isa::{Directive, PtxVersion, Target, TargetOption};

use crate::lex::{Lexer, TokenKind};
use crate::{DirectiveStmt, Item, ItemId, Module, Operand, Span};

/// The values of the header of a module.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub struct Header {
    /// `.version`
    pub version: Option<PtxVersion>,
    /// The last `sm_…` or `compute_…` name of `.target` that is known. A `.target` may be repeated right after the first.
    pub target: Option<Target>,
    /// `.address_size`: 32 or 64; `None` where it is missing, which means 32.
    pub address_size: Option<u8>,
}

impl Module {
    /// Whether an item is a directive that modules begin with: `.version`, `.target` or `.address_size`.
    #[doc(hidden)]
    #[must_use]
    pub fn is_header(&self, item: Item) -> bool {
        matches!(
            self.directive(item),
            Some(Directive::Version | Directive::Target | Directive::AddressSize)
        )
    }

    /// The directive that determines a value of the header, and the span of the value in the [source](Module::source): of the number
    /// of `.version` and `.address_size`, of the name of the last architecture of `.target`. There is no span if an edit added the
    /// directive.
    ///
    /// ```
    /// use ptx_isa::Directive;
    /// let module = ptx_parse::parse(b".version 8.0\n.target sm_80, sm_90, debug").module;
    /// let (_, span) = module.header_value(Directive::Target).expect("there is a target");
    /// assert_eq!(span.expect("it was parsed").of(module.source()), b"sm_90");
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn header_value(&self, directive: Directive) -> Option<(ItemId, Option<Span>)> {
        let is_wanted = |item: Item| self.directive(item) == Some(directive);
        let mut items = self
            .items()
            .skip_while(|(_, item)| !is_wanted(*item))
            .take_while(|(_, item)| is_wanted(*item));
        let (id, _) = match directive {
            Directive::Target => items.filter(|(_, item)| self.names_target(*item)).last(),
            _ => items.next(),
        }?;
        let span = self.span(id);
        let text = span.of(self.source());
        let value = Lexer::fragment(text)
            .filter(|token| match token.kind {
                TokenKind::Decimal | TokenKind::Integer => directive != Directive::Target,
                TokenKind::Ident => Target::from_text(token.span.of(text)).is_some(),
                _ => false,
            })
            .last();
        Some((id, value.map(|token| token.span.shifted(span.start))))
    }

    /// Whether `.target` has an option. Linear in the number of directives.
    ///
    /// ```
    /// use ptx_isa::TargetOption;
    /// let module = ptx_parse::parse(b".version 8.0\n.target sm_90\n.target texmode_independent").module;
    /// assert!(module.has_target_option(TargetOption::TexmodeIndependent));
    /// assert!(!module.has_target_option(TargetOption::Debug));
    /// ```
    #[must_use]
    pub fn has_target_option(&self, option: TargetOption) -> bool {
        self.directives()
            .values()
            .flat_map(|directive| self.target_words(directive))
            .any(|word| TargetOption::from_text(word) == Some(option))
    }

    fn names_target(&self, item: Item) -> bool {
        let Item::Directive(id) = item else {
            return false;
        };
        self.directives().get(id).is_some_and(|directive| {
            self.target_words(directive)
                .any(|word| Target::from_text(word).is_some())
        })
    }

    /// The targets and options of a directive, if it is a `.target`.
    fn target_words(&self, stmt: &DirectiveStmt) -> impl Iterator<Item = &[u8]> {
        let args = match stmt.directive {
            Directive::Target => self.pool().slice(stmt.args),
            _ => &[],
        };
        args.iter().filter_map(|arg| match arg {
            Operand::Name(name) => Some(self.name_bytes(*name)),
            _ => None,
        })
    }
}
