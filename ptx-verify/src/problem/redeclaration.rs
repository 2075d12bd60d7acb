//! Problems of names that are declared more than once, and of aliases.

use core::fmt;

use ptx_ir::{FunctionKind, Linkage, NameId};

use super::{counted, problems};

/// The difference between two prototypes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum PrototypeDifference {
    /// The number of parameters or results in the later declaration, and in the first one.
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

impl fmt::Display for PrototypeDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self {
            Self::Count(List::Parameters, ..) | Self::Item(List::Parameters, ..) => "parameter",
            _ => "result",
        };
        match self {
            Self::Count(_, later, first) => {
                write!(f, "expected {}, found {later}", counted(*first, noun))
            }
            Self::Item(_, position, property) => {
                let property = match property {
                    Property::Type => "type",
                    Property::Space => "state space",
                    Property::Alignment => "alignment",
                };
                write!(f, "{noun} {position} has a different {property}")
            }
        }
    }
}

problems! { RedeclarationProblem {
    ExternDefinition(name: NameId): error Linkage
        "`{name}` is `.extern` and cannot have a body",
        "remove `.extern` or the body";
    DeclaredAfterDefinition(name: NameId): error Redeclaration
        "`{name}` is already defined and cannot be declared again",
        "remove this declaration, or move it before the definition";
    Kind(name: NameId, found: FunctionKind, expected: FunctionKind): error Redeclaration
        "expected `{name}` to be {expected}, found {found}",
        "rename one of the two";
    Linkage(name: NameId, found: Option<Linkage>, expected: Option<Linkage>): error Redeclaration
        "expected {expected} on `{name}`, found {found}",
        "use the same linkage on all declarations";
    Noreturn(name: NameId): error Redeclaration
        "the declarations of `{name}` differ in `.noreturn`",
        "add `.noreturn` to all declarations, or to none";
    Prototype(name: NameId, difference: PrototypeDifference): error Prototype
        "`{name}` differs from its first declaration: {difference}",
        "use the same parameters and results on all declarations";
    VariableType(name: NameId): error Redeclaration
        "`{name}` differs from its first declaration: it has a different type",
        "use the same type on all declarations";
    VariableLinkage(name: NameId): error Redeclaration
        "expected `.visible`, `.weak` or `.common` on the definition of the external variable `{name}`, \
         found no linkage directive",
        "add `.visible`";
    AliasOfVariable(name: NameId): error Alias
        "expected a function as the aliasee, found the variable `{name}`",
        "name a function that is defined in this module";
    AliasOfSpecial: error Alias
        "expected a function in `.alias`, found a special register",
        "declare and define functions for both names";
    AliasOfItself(name: NameId): error Alias
        "`{name}` cannot be an alias of itself",
        "name another function after the comma";
    AliasIsVariable(name: NameId): error Alias
        "expected a declared function as the alias, found the variable `{name}`",
        "declare a function for the alias";
    AliasOfKernel(name: NameId): error Alias
        "expected a function as the aliasee, found the kernel `{name}`",
        "name a function that is defined in this module";
    AliasOfLinkage(name: NameId, linkage: Linkage): error Alias
        "`{name}` is `{linkage}` and cannot have an alias",
        "name a function without that linkage";
    AliasIsDefined(name: NameId): error Alias
        "expected a declared function as the alias, but `{name}` is defined",
        "remove its body, or use another name";
    AliasTwice(name: NameId): error Alias
        "`{name}` is already an alias",
        "remove one of the `.alias` directives";
    AliasNoreturn(alias: NameId, aliasee: NameId): error Alias
        "the alias `{alias}` and `{aliasee}` differ in `.noreturn`",
        "add `.noreturn` to both, or to none";
    AliasPrototype(alias: NameId, aliasee: NameId, difference: PrototypeDifference): error Alias
        "the alias `{alias}` differs from `{aliasee}`: {difference}",
        "declare the alias with the same parameters and results";
}}
