//! The words for facts in the output of several commands.

use std::fmt;
use std::ops::Deref;

use ptx_analysis::memory_access::Pattern;
use ptx_analysis::pressure::CLASSES;
use ptx_ir::facts::{Facts, Flow, Space};
use ptx_ir::{FunctionKind, Linkage};
use ptx_isa::{Access, Completion, RegisterClass, StateSpace, Uniformity};
use serde::{Serialize, Serializer};

/// A value that outputs show as a word.
pub trait Label: Copy {
    /// The name of the type in JSON schemas.
    const TYPE: &'static str;

    /// The word.
    fn label(self) -> &'static str;

    /// The words of all values, each once.
    fn labels() -> Vec<&'static str>;
}

/// A value that is serialized as its label.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Labeled<T>(pub T);

impl<T> From<T> for Labeled<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for Labeled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Label> fmt::Display for Labeled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.label())
    }
}

impl<T: Label> Serialize for Labeled<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.label())
    }
}

#[cfg(feature = "schema")]
impl<T: Label> schemars::JsonSchema for Labeled<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::TYPE.into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": T::labels() })
    }
}

macro_rules! impl_label {
    ($($type:ty, $name:literal, $label:expr, $labels:expr;)*) => {$(
        impl Label for $type {
            const TYPE: &'static str = $name;

            fn label(self) -> &'static str {
                $label(self)
            }

            fn labels() -> Vec<&'static str> {
                $labels.into()
            }
        }
    )*};
}

impl_label! {
    Access, "AccessKind", access, ACCESSES;
    Completion, "Completion", completion, COMPLETIONS.map(completion);
    FunctionKind, "FunctionKind", kind, [Self::Entry, Self::Func].map(kind);
    Linkage, "Linkage", linkage, [Self::Extern, Self::Visible, Self::Weak, Self::Common].map(linkage);
    Pattern, "Pattern", Self::name, [Self::Uniform, Self::Consecutive, Self::Strided(0), Self::Scattered].map(Self::name);
    RegisterClass, "RegisterClass", class, CLASSES.map(class);
    Space, "MemorySpace", space, memory_spaces();
    StateSpace, "StateSpace", space_text, Self::ALL.iter().map(|&space| space_text(space)).collect::<Vec<_>>();
    Uniformity, "Uniformity", Self::name, Self::ALL.map(Self::name);
}

/// A word of PTX without its dot.
#[must_use]
pub fn without_dot(text: &str) -> &str {
    text.trim_start_matches('.')
}

/// `global`, `shared`, `generic`, …; `.shared::cta` is `.shared`, which means the same.
#[must_use]
pub fn space(space: Space) -> &'static str {
    match space {
        Space::State(StateSpace::SharedCta) => space_text(StateSpace::Shared),
        Space::State(space) => space_text(space),
        Space::Generic => "generic",
        Space::Tensor => "tensor",
        Space::Texture => "texture",
        Space::Surface => "surface",
        _ => "any",
    }
}

/// Another name: that of the space without a qualifier, or `shared::cta` for `shared`.
#[must_use]
pub fn other_space(of: Space) -> &'static str {
    match of {
        Space::State(StateSpace::Shared | StateSpace::SharedCta) => {
            space_text(StateSpace::SharedCta)
        }
        Space::State(part) => space_text(part.base()),
        other => space(other),
    }
}

fn space_text(space: StateSpace) -> &'static str {
    without_dot(space.text())
}

/// The names of all spaces, `shared::cta` too.
pub fn spaces() -> Vec<&'static str> {
    let states = StateSpace::ALL.iter().filter(|s| s.is_addressable());
    let others = [
        Space::Generic,
        Space::Tensor,
        Space::Texture,
        Space::Surface,
        Space::Any,
    ];
    let states = states.map(|&s| space_text(s));
    states.chain(others.map(space)).collect()
}

/// The words that [`space`] returns.
fn memory_spaces() -> Vec<&'static str> {
    let shared_cta = space_text(StateSpace::SharedCta);
    let mut names = spaces();
    names.retain(|name| *name != shared_cta);
    names
}

/// `extern`, `visible`, `weak`, `common`.
#[must_use]
pub fn linkage(linkage: Linkage) -> &'static str {
    without_dot(linkage.directive().text())
}

/// `read`, `write`, `atomic`, `update`.
#[must_use]
pub fn access(access: Access) -> &'static str {
    ACCESSES[match access {
        Access::Read => 0,
        Access::Write => 1,
        Access::ReadModifyWrite => 2,
        _ => 3,
    }]
}

/// All kinds of accesses.
pub const ACCESSES: [&str; 4] = ["read", "write", "atomic", "update"];

/// `next`, `jump`, …
#[must_use]
pub fn flow(flow: Flow) -> &'static str {
    FLOWS[match flow {
        Flow::Next => 0,
        Flow::Jump => 1,
        Flow::Table => 2,
        Flow::Call => 3,
        Flow::Return => 4,
        Flow::Exit => 5,
        Flow::Trap => 6,
        _ => 7,
    }]
}

/// The control flow after an instruction.
pub const FLOWS: [&str; 8] = [
    "next", "jump", "table", "call", "return", "exit", "trap", "unknown",
];

/// `barrier` or `fence`, for an instruction that is one of both.
#[must_use]
pub fn waiting(of: &Facts<'_>) -> Option<&'static str> {
    match (of.is_barrier(), of.is_fence()) {
        (true, _) => Some("barrier"),
        (false, true) => Some("fence"),
        (false, false) => None,
    }
}

/// All completion mechanisms.
const COMPLETIONS: [Completion; 5] = [
    Completion::CpAsync,
    Completion::Bulk,
    Completion::Mbarrier,
    Completion::Wgmma,
    Completion::Tcgen05,
];

/// The completion mechanism of an asynchronous operation: `cp_async`, `bulk`, …
#[must_use]
pub fn completion(of: Completion) -> &'static str {
    match of {
        Completion::CpAsync => "cp_async",
        Completion::Bulk => "bulk",
        Completion::Mbarrier => "mbarrier",
        Completion::Wgmma => "wgmma",
        Completion::Tcgen05 => "tcgen05",
        _ => "other",
    }
}

/// `entry`, `func`
#[must_use]
pub fn kind(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Entry => "entry",
        FunctionKind::Func => "func",
    }
}

/// `pred`, `b32`, …
#[must_use]
pub fn class(class: RegisterClass) -> &'static str {
    match class {
        RegisterClass::Predicate => "pred",
        RegisterClass::Bits8 => "b8",
        RegisterClass::Bits16 => "b16",
        RegisterClass::Bits32 => "b32",
        RegisterClass::Bits64 => "b64",
        RegisterClass::Bits128 => "b128",
        _ => "other",
    }
}
