//! The words that outputs of several commands show for facts.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use ptx_analysis::cfg::EdgeKind;
use ptx_analysis::memory_access::Pattern;
use ptx_analysis::pressure::CLASSES;
use ptx_analysis::work::Class;
use ptx_ir::facts::{Flow, Space};
use ptx_ir::{Applicability, FunctionKind, Linkage, Severity};
use ptx_isa::{Access, Completion, RegisterClass, StateSpace, Target, Uniformity};
use ptx_lint::{Certainty, Lint};
use serde::{Serialize, Serializer};

/// A value that outputs show as a word.
pub trait Label: Copy {
    /// The name of the type in JSON schemas.
    const TYPE: &'static str;

    /// The word.
    fn label(self) -> &'static str;

    /// The words of all values, each once; empty for a set that new versions of PTX extend.
    fn labels() -> Vec<&'static str>;
}

/// A value that is serialized, compared and ordered as its label.
#[derive(Copy, Clone, Debug)]
pub struct Labeled<T>(pub T);

impl<T: Label> PartialEq for Labeled<T> {
    fn eq(&self, other: &Self) -> bool {
        self.label() == other.label()
    }
}

impl<T: Label> Eq for Labeled<T> {}

impl<T: Label> PartialOrd for Labeled<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Label> Ord for Labeled<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.label().cmp(other.label())
    }
}

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
        let labels = T::labels();
        if labels.is_empty() {
            return schemars::json_schema!({ "type": "string" });
        }
        schemars::json_schema!({ "type": "string", "enum": labels })
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
    Applicability, "Applicability", Self::name, Self::ALL.map(Self::name);
    Certainty, "Certainty", Self::name, [Self::Definite, Self::Possible].map(Self::name);
    Class, "Class", Self::name, Self::ALL.map(Self::name);
    Completion, "Completion", completion, COMPLETIONS.map(completion);
    EdgeKind, "EdgeKind", edge, [Self::Next, Self::Jump, Self::Table(0), Self::Unknown].map(edge);
    Flow, "Flow", flow, FLOWS;
    FunctionKind, "FunctionKind", kind, [Self::Entry, Self::Func].map(kind);
    Lint, "Lint", Self::name, Self::ALL.iter().map(|lint| lint.name()).collect::<Vec<_>>();
    Linkage, "Linkage", linkage, [Self::Extern, Self::Visible, Self::Weak, Self::Common].map(linkage);
    Pattern, "Pattern", Self::name, [Self::Uniform, Self::Consecutive, Self::Strided(0), Self::Scattered, Self::Rows, Self::Tile].map(Self::name);
    RegisterClass, "RegisterClass", class, CLASSES.map(class);
    Severity, "Severity", Self::name, [Self::Error, Self::Warning].map(Self::name);
    Space, "MemorySpace", space, memory_spaces();
    StateSpace, "StateSpace", space_text, Self::ALL.iter().map(|&space| space_text(space)).collect::<Vec<_>>();
    Target, "Target", Self::text, [""; 0];
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

/// The other name of a space: the space without a qualifier, or `shared::cta` for `shared`.
#[must_use]
pub fn other_space(memory: Space) -> &'static str {
    match memory {
        Space::State(StateSpace::Shared | StateSpace::SharedCta) => {
            space_text(StateSpace::SharedCta)
        }
        Space::State(qualified) => space_text(qualified.base()),
        unqualified => space(unqualified),
    }
}

fn space_text(space: StateSpace) -> &'static str {
    without_dot(space.text())
}

/// The names of all spaces, including `shared::cta`.
pub fn spaces() -> Vec<&'static str> {
    let mut names: Vec<&str> = StateSpace::ALL
        .iter()
        .filter(|space| space.is_addressable())
        .map(|&space| space_text(space))
        .collect();
    let without_state_space = [
        Space::Generic,
        Space::Tensor,
        Space::Texture,
        Space::Surface,
        Space::Any,
    ];
    names.extend(without_state_space.map(space));
    names
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

/// `next`, `jump`, `table`, `unknown`.
#[must_use]
pub fn edge(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Next => "next",
        EdgeKind::Jump => "jump",
        EdgeKind::Table(_) => "table",
        _ => "unknown",
    }
}

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
pub fn completion(completion: Completion) -> &'static str {
    match completion {
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const STUBS: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../bindings/python/python/ptxkit/_native.pyi"
    );
    const BEGIN: &str = "# The labels of ptx-report.\n";
    const END: &str = "# End of the labels.\n";

    /// The type of the values of a label in the Python stubs.
    fn alias<T: Label>() -> String {
        let mut text = format!("_{} = Literal[\n", T::TYPE);
        for label in T::labels() {
            let _ = writeln!(text, "    \"{label}\",");
        }
        text + "]\n"
    }

    #[test]
    fn python_stubs_have_the_labels() {
        let aliases = [
            alias::<Access>(),
            alias::<Applicability>(),
            alias::<EdgeKind>(),
            alias::<Flow>(),
            alias::<FunctionKind>(),
            alias::<Severity>(),
            alias::<Space>(),
            alias::<Uniformity>(),
        ];
        let aliases = aliases.concat();
        let stubs = std::fs::read_to_string(STUBS).unwrap();
        let (before, rest) = stubs.split_once(BEGIN).unwrap();
        let (written, after) = rest.split_once(END).unwrap();
        if std::env::var_os("PTXKIT_BLESS").is_some() {
            std::fs::write(STUBS, format!("{before}{BEGIN}{aliases}{END}{after}")).unwrap();
        } else {
            assert_eq!(written, aliases, "run with PTXKIT_BLESS=1");
        }
    }
}
