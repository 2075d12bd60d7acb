//! Tables of problems.

use alloc::string::{String, ToString as _};
use ptx_ir::{FunctionKind, Linkage, NameId};
use ptx_isa::{Directive, Modifier, PtxVersion, ScalarType, StateSpace, Target, TargetOption};

use super::Wording;
use super::feature::Pragma;
use super::interface::Owner;
use super::redeclaration::PrototypeDifference;

/// Defines an enum of problems, each with its severity, code, message and help, and the replacement of a part of the
/// statement that repairs it. The texts contain the fields in braces.
macro_rules! problems {
    ($area:ident { $(
        $(#[$about:meta])*
        $problem:ident $(($($field:ident: $ty:ty),*))?: $severity:ident $code:ident
        $message:literal $(, $help:literal $(, $part:expr => $replacement:literal)?)?;
    )* }) => {
        #[derive(Copy, Clone, Debug)]
        pub(crate) enum $area {
            $($(#[$about])* $problem $(($($ty),*))?),*
        }

        impl $area {
            pub(super) fn text(self, wording: super::Wording<'_>, _: &str) -> super::Text {
                #[allow(unused_imports)]
                use super::table::Field as _;
                match self {
                    $(Self::$problem $(($($field),*))? => {
                        $($(let part = $part;)?)?
                        $($(let $field = $field.shown(wording);)*)?
                        let message = format!($message);
                        super::Text::$severity(ptx_ir::Code::$code, message)
                            $(.help(format!($help))
                            $(.fix(part, super::Side::Whole, format!($replacement)))?)?
                    })*
                }
            }
        }
    };
}

pub(super) use problems;

/// The properties of a problem, as they are written in its message.
pub(super) trait Field {
    fn shown(self, wording: Wording<'_>) -> String;
}

macro_rules! displayed {
    ($($ty:ty),*) => {
        $(impl Field for $ty {
            fn shown(self, _: Wording<'_>) -> String {
                self.to_string()
            }
        })*
    };
}

displayed!(
    i64, u32, u8, &str, Directive, Modifier, PtxVersion, ScalarType, StateSpace, Target
);
displayed!(TargetOption, PrototypeDifference, Pragma);

impl Field for NameId {
    fn shown(self, wording: Wording<'_>) -> String {
        wording.module.name(self).into()
    }
}

/// The function of libdevice that a name means.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LibraryName(pub(crate) NameId);

impl Field for LibraryName {
    fn shown(self, wording: Wording<'_>) -> String {
        let name = wording.module.name(self.0);
        ptx_isa::internals::library_function(name).unwrap_or_default()
    }
}

/// A name with its number in a range.
impl Field for (NameId, Option<u32>) {
    fn shown(self, wording: Wording<'_>) -> String {
        let name = wording.module.name(self.0);
        self.1
            .map_or(name.into(), |number| format!("{name}{number}"))
    }
}

/// A mask.
impl Field for u64 {
    fn shown(self, _: Wording<'_>) -> String {
        format!("{self:#x}")
    }
}

impl Field for &[&str] {
    fn shown(self, _: Wording<'_>) -> String {
        self.join(", ")
    }
}

impl Field for Linkage {
    fn shown(self, _: Wording<'_>) -> String {
        self.directive().text().into()
    }
}

impl Field for Option<Linkage> {
    fn shown(self, _: Wording<'_>) -> String {
        self.map_or("no linkage directive".into(), |l| {
            format!("`{}`", l.directive())
        })
    }
}

impl Field for FunctionKind {
    fn shown(self, _: Wording<'_>) -> String {
        match self {
            Self::Entry => "a kernel".into(),
            Self::Func => "a function".into(),
        }
    }
}

impl Field for Owner {
    fn shown(self, _: Wording<'_>) -> String {
        match self {
            Self::Kernel => "kernel".into(),
            _ => "function".into(),
        }
    }
}
