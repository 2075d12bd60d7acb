//! The module around the cases: registers of all types, variables of all spaces, functions, labels.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use ptx_isa::{PtxVersion, ScalarType, StateSpace, Target, TypeKind};

use test_support::corpus;

use super::case::Setting;
use super::operand::{REGISTERS, bare, variable};

/// The instruction after every case, so that a case without an end does not affect the next one.
pub(crate) const PADDING: &str = "mov.b32 b32_0, b32_1;";
/// The size in bytes of each variable.
const BYTES: u16 = 1024;

/// The state spaces of the variables outside and inside of the kernel.
pub(crate) const OUTSIDE: [StateSpace; 3] =
    [StateSpace::Global, StateSpace::Const, StateSpace::Shared];
pub(crate) const INSIDE: [StateSpace; 2] = [StateSpace::Local, StateSpace::ParamFunc];

/// A module with some cases.
pub(crate) struct Module {
    pub(crate) text: String,
    /// The line of the first case, from one.
    first: usize,
}

impl Module {
    pub(crate) fn new<'a>(
        version: PtxVersion,
        target: Target,
        setting: Setting,
        lines: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut text = match setting {
            Setting::Shared => shared_head(version, target),
            Setting::Plain | Setting::Independent => head(version, target, setting),
        };
        let first = text.lines().count() + 1;
        let padding = match setting {
            Setting::Shared => "mov.b32 r0, r1;",
            Setting::Plain | Setting::Independent => PADDING,
        };
        for line in lines {
            let _ = writeln!(text, "{line}\n{padding}");
        }
        text.push_str("ret;\n}\n");
        Self { text, first }
    }

    /// The index of the case on a line or before the padding on a line.
    pub(crate) fn case_on(&self, line: usize) -> Option<usize> {
        Some(line.checked_sub(self.first)? / 2)
    }
}

/// The text around the shared cases.
pub(crate) fn shared_preamble() -> PathBuf {
    corpus::beside("conformance/preamble.ptx")
}

/// The lines of `../shared/conformance/preamble.ptx` before the cases: `//@min V [SM]` restricts a line to versions and targets,
/// `//@ctx` to another kind of module.
fn shared_head(version: PtxVersion, target: Target) -> String {
    // `Set::read` fails if it is missing.
    let text = fs::read_to_string(shared_preamble()).unwrap_or_default();
    let applies = |condition: &str| {
        let mut words = condition.split_whitespace();
        let since = words.next().and_then(|v| v.parse().ok());
        let lowest = words.next().and_then(|t| Target::from_text(t.as_bytes()));
        since.is_none_or(|v| version >= v) && lowest.is_none_or(|t| target.number() >= t.number())
    };
    let mut head = String::new();
    for line in text.lines().take_while(|l| !l.contains("@LINES@")) {
        let (text, is_included) = match line.split_once("//@") {
            Some((text, condition)) => (text, condition.strip_prefix("min").is_some_and(applies)),
            None => (line, true),
        };
        if is_included {
            head += text;
            head.push('\n');
        }
    }
    head.replace("@VERSION@", &version.to_string())
        .replace("@TARGET@", target.text())
}

fn head(version: PtxVersion, target: Target, setting: Setting) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!(".version {version}"));
    line(format!(".target {target}{}", setting.option()));
    line(".address_size 64".into());
    for space in OUTSIDE {
        line(array(space.text(), space));
    }
    for &ty in ScalarType::ALL
        .iter()
        .filter(|t| t.kind() == TypeKind::Opaque)
    {
        if ty != ScalarType::Samplerref || setting == Setting::Independent {
            let name = variable(StateSpace::Global, ty);
            line(format!(".global {ty} {name};"));
        }
    }
    let shapes = [(0, 0), (0, 1), (1, 0), (1, 1)];
    for (results, parameters) in shapes {
        let (result, parameter) = signature(results, parameters, "a");
        line(format!(
            ".func {result}fn_{results}{parameters}({parameter}) {{ ret; }}"
        ));
    }
    let entry = variable(StateSpace::ParamEntry, ScalarType::B8);
    line(format!(
        ".entry main(.param .align 64 .b8 {entry}[{BYTES}])\n{{"
    ));
    let registers = ScalarType::ALL.iter().filter(|t| t.is_register_type());
    for ty in registers.filter(|t| t.since() <= version) {
        let name = bare(ty.text());
        line(format!(".reg {ty} {name}_<{REGISTERS}>;"));
        for n in [2, 4] {
            if ty.bits() * n <= 128 && ty.bits() >= 8 && ty.element().is_none() {
                line(format!(".reg .v{n} {ty} v{n}_{name};"));
            }
        }
    }
    for space in INSIDE {
        line(array(space.base().text(), space));
    }
    for (results, parameters) in shapes {
        let (result, parameter) = signature(results, parameters, "_");
        line(format!(
            "calls_{results}{parameters}: .calltargets fn_{results}{parameters};"
        ));
        line(format!(
            "proto_{results}{parameters}: .callprototype {}_ ({parameter});",
            if results == 0 { "" } else { &result }
        ));
    }
    line(format!(
        ".param .b32 {};",
        variable(StateSpace::ParamFunc, ScalarType::B32)
    ));
    line("L0:\nL1:\nbranches: .branchtargets L0, L1;".into());
    out
}

fn array(space: &str, variable_of: StateSpace) -> String {
    let name = variable(variable_of, ScalarType::B8);
    format!("{space} .align 128 .b8 {name}[{BYTES}];")
}

/// The results and the parameters of a function.
fn signature(results: u8, parameters: u8, name: &str) -> (String, String) {
    let list = |count: u8, prefix: &str| {
        (0..count)
            .map(|_| format!(".param .b32 {prefix}{name}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let prefix = if name == "_" { "" } else { "r" };
    let result = match results {
        0 => String::new(),
        n => format!("({}) ", list(n, prefix)),
    };
    (result, list(parameters, ""))
}
