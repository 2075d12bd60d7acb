//! Problems of names that are declared more than once, and of aliases.

use alloc::format;
use alloc::string::String;
use ptx_ir::{Code, FunctionKind, Linkage, NameId};

use super::{Text, Wording, counted};

/// How two prototypes differ.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum PrototypeDifference {
    /// The number of parameters or results: here, and in the first declaration.
    Count(List, u32, u32),
    /// A parameter or result, counted from 1.
    Item(List, u32, Property),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum List {
    Parameters,
    Results,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Property {
    Type,
    Space,
    Alignment,
}

impl PrototypeDifference {
    fn describe(self) -> String {
        match self {
            Self::Count(list, here, first) => {
                let what = match list {
                    List::Parameters => "parameter",
                    List::Results => "result",
                };
                format!("expected {}, found {here}", counted(first, what))
            }
            Self::Item(list, nth, property) => {
                let what = match list {
                    List::Parameters => "parameter",
                    List::Results => "result",
                };
                let property = match property {
                    Property::Type => "type",
                    Property::Space => "state space",
                    Property::Alignment => "alignment",
                };
                format!("{what} {nth} has a different {property}")
            }
        }
    }
}

#[derive(Copy, Clone, Debug)]
pub(crate) enum RedeclarationProblem {
    ExternDefinition(NameId),
    DeclaredAfterDefinition(NameId),
    /// Found, expected.
    Kind(NameId, FunctionKind, FunctionKind),
    Linkage(NameId, Option<Linkage>, Option<Linkage>),
    Noreturn(NameId),
    Prototype(NameId, PrototypeDifference),
    VariableType(NameId),
    /// An external variable whose definition has no linkage.
    VariableLinkage(NameId),
    AliasOfVariable(NameId),
    /// A special register as an alias or as its aliasee.
    AliasOfSpecial,
    AliasOfItself(NameId),
    AliasIsVariable(NameId),
    AliasOfKernel(NameId),
    AliasOfLinkage(NameId, Linkage),
    AliasIsDefined(NameId),
    AliasTwice(NameId),
    AliasNoreturn(NameId, NameId),
    AliasPrototype(NameId, NameId, PrototypeDifference),
}

fn kind(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Entry => "a kernel",
        FunctionKind::Func => "a function",
    }
}

fn linkage(linkage: Option<Linkage>) -> String {
    linkage.map_or("no linkage directive".into(), |l| {
        format!("`{}`", l.directive().text())
    })
}

impl RedeclarationProblem {
    pub(super) fn text(self, wording: Wording<'_>) -> Text {
        let name = |id| wording.module.name(id);
        let error = |message| Text::error(Code::Redeclaration, message);
        match self {
            Self::ExternDefinition(id) => Text::error(
                Code::Linkage,
                format!("`{}` is `.extern` and cannot have a body", name(id)),
            )
            .help("remove `.extern` or the body"),
            Self::DeclaredAfterDefinition(id) => error(format!(
                "`{}` is already defined and cannot be declared again",
                name(id)
            ))
            .help("remove this declaration, or move it before the definition"),
            Self::Kind(id, found, expected) => error(format!(
                "expected `{}` to be {}, found {}",
                name(id),
                kind(expected),
                kind(found)
            ))
            .help("rename one of the two"),
            Self::Linkage(id, found, expected) => error(format!(
                "expected {} on `{}`, found {}",
                linkage(expected),
                name(id),
                linkage(found)
            ))
            .help("use the same linkage on all declarations"),
            Self::Noreturn(id) => error(format!(
                "the declarations of `{}` differ in `.noreturn`",
                name(id)
            ))
            .help("add `.noreturn` to all declarations, or to none"),
            Self::Prototype(id, difference) => Text::error(
                Code::Prototype,
                format!(
                    "`{}` differs from its first declaration: {}",
                    name(id),
                    difference.describe()
                ),
            )
            .help("use the same parameters and results on all declarations"),
            Self::VariableType(id) => error(format!(
                "`{}` differs from its first declaration: it has a different type",
                name(id)
            ))
            .help("use the same type on all declarations"),
            Self::VariableLinkage(id) => error(format!(
                "expected `.visible`, `.weak` or `.common` on the definition of the external variable `{}`, found no linkage directive",
                name(id)
            ))
            .help("add `.visible`"),
            _ => self.alias(wording),
        }
    }

    fn alias(self, wording: Wording<'_>) -> Text {
        let name = |id| wording.module.name(id);
        let error = |message| Text::error(Code::Alias, message);
        match self {
            Self::AliasOfVariable(id) => error(format!(
                "expected a function as the aliasee, found the variable `{}`",
                name(id)
            ))
            .help("name a function that is defined in this module"),
            Self::AliasOfSpecial => {
                error("expected a function in `.alias`, found a special register".into())
                    .help("declare and define functions for both names")
            }
            Self::AliasOfItself(id) => {
                error(format!("`{}` cannot be an alias of itself", name(id)))
                    .help("name another function after the comma")
            }
            Self::AliasIsVariable(id) => error(format!(
                "expected a declared function as the alias, found the variable `{}`",
                name(id)
            ))
            .help("declare a function for the alias"),
            Self::AliasOfKernel(id) => error(format!(
                "expected a function as the aliasee, found the kernel `{}`",
                name(id)
            ))
            .help("name a function that is defined in this module"),
            Self::AliasOfLinkage(id, linkage) => error(format!(
                "`{}` is `{}` and cannot have an alias",
                name(id),
                linkage.directive().text()
            ))
            .help("name a function without that linkage"),
            Self::AliasIsDefined(id) => error(format!(
                "expected a declared function as the alias, but `{}` is defined",
                name(id)
            ))
            .help("remove its body, or use another name"),
            Self::AliasTwice(id) => error(format!("`{}` is already an alias", name(id)))
                .help("remove one of the `.alias` directives"),
            Self::AliasNoreturn(alias, aliasee) => error(format!(
                "the alias `{}` and `{}` differ in `.noreturn`",
                name(alias),
                name(aliasee)
            ))
            .help("add `.noreturn` to both, or to none"),
            Self::AliasPrototype(alias, aliasee, difference) => error(format!(
                "the alias `{}` differs from `{}`: {}",
                name(alias),
                name(aliasee),
                difference.describe()
            ))
            .help("declare the alias with the same parameters and results"),
            _ => error("invalid alias".into()),
        }
    }
}
