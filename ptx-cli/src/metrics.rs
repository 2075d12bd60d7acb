//! Named numbers of a function, for limits and comparisons: the numbers of `ptxkit stats --json`, with dots between the
//! keys, such as `loop_depth`, `tensor_core.moves`, `memory.global.read.16`.

use std::collections::BTreeSet;
use std::fmt;

use ptx_analysis::pressure::CLASSES;
use ptx_isa::RegisterClass;

use crate::query::similar;
use ptx_report::clean;
use ptx_report::function_stats::MachineCode;
use ptx_report::function_stats::{Access, FAMILIES, FunctionStats};
use ptx_report::labels::{self, Label as _, Labeled};
use ptx_report::occupancy::KernelOccupancy;
use ptx_report::sass::SassStats;

/// A number about a function.
#[derive(Clone, Debug)]
pub(crate) enum Metric {
    Plain(&'static Plain),
    /// The instructions of a family.
    Family(&'static str),
    /// The largest number of live registers of a class.
    Class(Labeled<RegisterClass>),
    Memory(Accesses),
    /// The machine instructions whose opcodes match.
    Opcode(String),
}

/// A metric that has one name.
#[derive(Debug)]
pub(crate) struct Plain {
    name: &'static str,
    /// A shorter name.
    short: Option<&'static str>,
    unit: Unit,
    doc: &'static str,
    value: fn(&FunctionStats) -> Option<u64>,
}

/// A set of memory accesses. `None` means all spaces, kinds or sizes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Accesses {
    space: Option<&'static str>,
    access: Option<&'static str>,
    bytes: Option<u64>,
}

/// The unit of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Count,
    /// `K` and `M` are powers of 1024.
    Bytes,
}

const fn plain(
    name: &'static str,
    doc: &'static str,
    value: fn(&FunctionStats) -> Option<u64>,
) -> Plain {
    Plain {
        name,
        short: None,
        unit: Unit::Count,
        doc,
        value,
    }
}

impl Plain {
    const fn short(self, name: &'static str) -> Self {
        Self {
            short: Some(name),
            ..self
        }
    }

    const fn bytes(self) -> Self {
        Self {
            unit: Unit::Bytes,
            ..self
        }
    }
}

/// A number that ptxas reports; `None` without `--ptxas`.
fn ptxas(function: &FunctionStats, value: fn(&MachineCode) -> u64) -> Option<u64> {
    function.ptxas.as_ref().map(value)
}

/// The occupancy of a kernel; `None` if only a bound is known, since the launch determines the size of shared memory.
fn occupancy(function: &FunctionStats) -> Option<&KernelOccupancy> {
    let occupancy = function.occupancy.as_ref();
    occupancy.filter(|occupancy| !occupancy.dynamic_shared_unknown)
}

const PLAIN: &[Plain] = &[
    plain("instructions", "instructions in the text", |f| {
        Some(f.mix.instructions)
    }),
    plain(
        "tensor_core.arithmetic",
        "tensor-core multiplications",
        |f| Some(f.mix.tensor_core.arithmetic),
    )
    .short("tensor"),
    plain(
        "tensor_core.moves",
        "loads, stores and copies of tensor-core fragments",
        |f| Some(f.mix.tensor_core.moves),
    ),
    plain(
        "barriers",
        "instructions that wait for other threads",
        |f| Some(f.mix.barriers),
    ),
    plain("calls", "calls", |f| Some(f.mix.calls)),
    plain("blocks", "basic blocks", |f| Some(f.blocks)),
    plain("loops", "loops", |f| Some(f.loops)),
    plain("loop_depth", "nesting depth of loops", |f| {
        Some(f.loop_depth.into())
    }),
    plain(
        "pressure.max_b32_units",
        "maximum number of live registers, in units of 32 bits",
        |f| Some(f.pressure.max_b32_units.into()),
    )
    .short("pressure"),
    plain(
        "shared_bytes",
        "static shared memory, including that of called functions",
        |f| f.shared_bytes,
    )
    .short("shared")
    .bytes(),
    plain("local_bytes", "variables in local memory", |f| {
        Some(f.local_bytes)
    })
    .short("local")
    .bytes(),
    plain(
        "occupancy.percent",
        "warps that a multiprocessor runs at the same time, in percent of those that it can run, rounded down",
        |f| Some(occupancy(f)?.percent as u64),
    )
    .short("occupancy"),
    plain(
        "occupancy.blocks",
        "CTAs that a multiprocessor runs at the same time",
        |f| Some(occupancy(f)?.occupancy.blocks.into()),
    ),
    plain(
        "occupancy.warps",
        "warps that a multiprocessor runs at the same time",
        |f| Some(occupancy(f)?.occupancy.warps.into()),
    ),
    plain(
        "ptxas.registers",
        "registers of the machine code, with --ptxas",
        |f| f.ptxas.as_ref()?.registers,
    )
    .short("registers"),
    plain("ptxas.stack_bytes", "stack frame, with --ptxas", |f| {
        ptxas(f, |code| code.stack_bytes)
    })
    .short("stack")
    .bytes(),
    plain(
        "ptxas.spill_bytes",
        "stores and loads of spilled registers, with --ptxas",
        |f| ptxas(f, |code| code.spill_store_bytes + code.spill_load_bytes),
    )
    .short("spills")
    .bytes(),
    plain(
        "ptxas.spill_store_bytes",
        "stores of spilled registers, with --ptxas",
        |f| ptxas(f, |code| code.spill_store_bytes),
    )
    .bytes(),
    plain(
        "ptxas.spill_load_bytes",
        "loads of spilled registers, with --ptxas",
        |f| ptxas(f, |code| code.spill_load_bytes),
    )
    .bytes(),
    plain(
        "ptxas.shared_bytes",
        "static shared memory, with --ptxas",
        |f| ptxas(f, |code| code.shared_bytes),
    )
    .bytes(),
    plain("ptxas.barriers", "named barriers, with --ptxas", |f| {
        ptxas(f, |code| code.barriers)
    }),
    plain(
        "ptxas.messages",
        "messages of ptxas about the function, such as C7510, with --ptxas",
        |f| ptxas(f, |code| code.messages.len() as u64),
    ),
    plain(
        "sass.instructions",
        "machine instructions, with --ptxas",
        |f| sass(f, |code| Some(code.instructions)),
    ),
    plain(
        "sass.spills",
        "machine instructions that spill registers, with --ptxas",
        |f| sass(f, |code| Some(code.spills())),
    ),
    plain(
        "sass.copies",
        "copies of the body of the loop that is unrolled most, an estimate, with --ptxas",
        |f| sass(f, SassStats::max_copies),
    ),
];

/// A fact about the machine code; `None` without it.
fn sass(function: &FunctionStats, value: fn(&SassStats) -> Option<u64>) -> Option<u64> {
    function.sass.as_ref().and_then(value)
}

const PTXAS_PREFIX: &str = "ptxas.";
const SASS_PREFIX: &str = "sass.";
const FAMILY_PREFIX: &str = "families.";
const CLASS_PREFIX: &str = "pressure.by_class.";
const MEMORY: &str = "memory";

/// The syntax of the metrics with more than one name, and their meaning.
const PATTERNS: [(&str, &str); 4] = [
    (
        "memory[.SPACE][.ACCESS][.BYTES]",
        "instructions that access memory, by state space, kind (read, write, atomic, update) and width",
    ),
    (
        "families.FAMILY",
        "instructions of a family, such as float or movement",
    ),
    (
        "pressure.by_class.CLASS",
        "maximum number of live registers of a class: pred, b16, b32, b64, b128",
    ),
    (
        "sass.OPCODE[.MODIFIER]...",
        "machine instructions by opcode, such as sass.LDG.128, sass.HMMA, sass.STL, with --ptxas",
    ),
];

impl Metric {
    /// The metric of this name. The error message suggests a similar name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let metric = PLAIN
            .iter()
            .find(|metric| metric.name == name || metric.short == Some(name));
        if let Some(metric) = metric {
            return Ok(Self::Plain(metric));
        }
        if let Some(word) = name.strip_prefix(FAMILY_PREFIX)
            && let Some(family) = families().find(|family| *family == word)
        {
            return Ok(Self::Family(family));
        }
        if let Some(word) = name.strip_prefix(CLASS_PREFIX)
            && let Some(class) = classes().find(|class| class.label() == word)
        {
            return Ok(Self::Class(class));
        }
        if let Some(opcode) = name.strip_prefix(SASS_PREFIX)
            && is_opcode(opcode)
        {
            return Ok(Self::Opcode(opcode.to_owned()));
        }
        match name.strip_prefix(MEMORY) {
            Some("") => Ok(Self::Memory(Accesses::default())),
            Some(accesses) if accesses.starts_with('.') => {
                Accesses::parse(&accesses[1..]).map(Self::Memory)
            }
            _ => Err(unknown(name)),
        }
    }

    /// Whether the value comes from ptxas, or from machine code.
    pub(crate) fn needs_ptxas(&self) -> bool {
        self.needs_sass() || self.has_prefix(PTXAS_PREFIX)
    }

    /// Whether the value comes from machine code, which only nvdisasm shows.
    pub(crate) fn needs_sass(&self) -> bool {
        self.has_prefix(SASS_PREFIX)
    }

    fn has_prefix(&self, prefix: &str) -> bool {
        match self {
            Self::Plain(metric) => metric.name.starts_with(prefix),
            Self::Opcode(_) => prefix == SASS_PREFIX,
            _ => false,
        }
    }

    pub(crate) fn unit(&self) -> Unit {
        match self {
            Self::Plain(metric) => metric.unit,
            _ => Unit::Count,
        }
    }

    /// All metrics that one of these functions has.
    pub(crate) fn of(functions: &[&FunctionStats]) -> Vec<Self> {
        let mut metrics: Vec<Self> = PLAIN.iter().map(Self::Plain).collect();
        let sass = functions.iter().filter_map(|f| f.sass.as_ref());
        let opcodes: BTreeSet<_> = sass.flat_map(|code| code.opcodes.keys()).collect();
        metrics.extend(opcodes.into_iter().cloned().map(Self::Opcode));
        metrics.extend(families().map(Self::Family));
        metrics.push(Self::Memory(Accesses::default()));
        let accesses: BTreeSet<_> = functions
            .iter()
            .flat_map(|function| function.mix.memory.keys())
            .map(|access| (access.space.label(), access.access.label(), access.bytes))
            .collect();
        metrics.extend(accesses.into_iter().map(|(space, access, bytes)| {
            Self::Memory(Accesses {
                space: Some(space),
                access: Some(access),
                bytes,
            })
        }));
        metrics.extend(classes().map(Self::Class));
        metrics
    }

    /// The value for a function; `None` if it is not known.
    pub(crate) fn value(&self, function: &FunctionStats) -> Option<u64> {
        match self {
            Self::Plain(metric) => (metric.value)(function),
            Self::Family(family) => Some(function.mix.families.get(family).copied().unwrap_or(0)),
            Self::Class(class) => {
                let live = function.pressure.by_class.get(class);
                Some(live.copied().unwrap_or(0).into())
            }
            Self::Opcode(pattern) => Some(function.sass.as_ref()?.count(pattern)),
            Self::Memory(accesses) => Some(
                function
                    .mix
                    .memory
                    .iter()
                    .filter(|(access, _)| accesses.contains(access))
                    .map(|(_, count)| count)
                    .sum(),
            ),
        }
    }

    /// Parses a value: digits, and `K` or `M` for thousands and millions. For bytes, these are powers of 1024.
    pub(crate) fn amount(&self, text: &str) -> Result<u64, String> {
        let kilo: u64 = match self.unit() {
            Unit::Count => 1000,
            Unit::Bytes => 1024,
        };
        let (digits, factor) = if let Some(digits) = text.strip_suffix(['k', 'K']) {
            (digits, kilo)
        } else if let Some(digits) = text.strip_suffix(['m', 'M']) {
            (digits, kilo * kilo)
        } else {
            (text, 1)
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        digits
            .parse()
            .ok()
            .filter(|_| is_number)
            .and_then(|n: u64| n.checked_mul(factor))
            .ok_or_else(|| {
                let text = clean(text);
                format!("expected a number such as 64 or 48K for `{self}`, found `{text}`")
            })
    }
}

/// The full name.
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(metric) => f.write_str(metric.name),
            Self::Family(family) => write!(f, "{FAMILY_PREFIX}{family}"),
            Self::Class(class) => write!(f, "{CLASS_PREFIX}{class}"),
            Self::Opcode(pattern) => write!(f, "{SASS_PREFIX}{pattern}"),
            Self::Memory(accesses) => {
                f.write_str(MEMORY)?;
                for word in [accesses.space, accesses.access].into_iter().flatten() {
                    write!(f, ".{word}")?;
                }
                accesses.bytes.map_or(Ok(()), |bytes| write!(f, ".{bytes}"))
            }
        }
    }
}

impl Accesses {
    /// Parses `SPACE.ACCESS.BYTES`, each at most once and in any order.
    fn parse(text: &str) -> Result<Self, String> {
        let mut accesses = Self::default();
        for word in text.split('.') {
            let space = spaces().find(|space| *space == word);
            let access = labels::ACCESSES.iter().find(|access| **access == word);
            let bytes = word.parse().ok();
            let is_new = match (space, access, bytes) {
                (Some(space), ..) => accesses.space.replace(space).is_none(),
                (_, Some(access), _) => accesses.access.replace(access).is_none(),
                (_, _, Some(bytes)) => accesses.bytes.replace(bytes).is_none(),
                _ => return Err(unknown(&format!("{MEMORY}.{text}"))),
            };
            if !is_new {
                return Err(format!("unexpected `{word}` in `{MEMORY}.{text}`"));
            }
        }
        Ok(accesses)
    }

    fn contains(&self, access: &Access) -> bool {
        self.space.is_none_or(|space| space == access.space.label())
            && self.access.is_none_or(|kind| kind == access.access.label())
            && self.bytes.is_none_or(|bytes| access.bytes == Some(bytes))
    }
}

fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.into_iter().chain(["unknown"])
}

fn classes() -> impl Iterator<Item = Labeled<RegisterClass>> {
    CLASSES.into_iter().map(Labeled)
}

/// Whether a text is an opcode of machine code in capital letters, with modifiers: `HGMMA.64x128x16.F32`.
fn is_opcode(text: &str) -> bool {
    let (base, modifiers) = text.split_once('.').unwrap_or((text, "X"));
    let is_capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    let is_word_byte = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut modifiers = modifiers.split('.');
    base.starts_with(|first: char| first.is_ascii_uppercase())
        && base.bytes().all(is_capital)
        && modifiers.all(|word| !word.is_empty() && word.bytes().all(is_word_byte))
}

/// The state spaces; `shared::cta` is `shared`.
fn spaces() -> impl Iterator<Item = &'static str> {
    labels::spaces()
        .into_iter()
        .filter(|space| *space != "shared::cta")
}

/// The error message for an unknown name, with a hint.
fn unknown(name: &str) -> String {
    let mut names: Vec<String> = PLAIN
        .iter()
        .flat_map(|metric| [Some(metric.name), metric.short])
        .flatten()
        .map(str::to_owned)
        .collect();
    names.extend(families().map(|family| format!("{FAMILY_PREFIX}{family}")));
    names.extend(classes().map(|class| format!("{CLASS_PREFIX}{class}")));
    for space in spaces() {
        names.push(format!("{MEMORY}.{space}"));
        names.extend(labels::ACCESSES.map(|access| format!("{MEMORY}.{space}.{access}")));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = similar(name, &names).unwrap_or("--help lists all metrics".into());
    format!("unknown metric `{}`; {hint}", clean(name))
}

/// A list of all metrics for the help of commands, with a line for each.
pub(crate) fn help() -> String {
    let plain = PLAIN.iter().map(|metric| {
        let name = match metric.short {
            Some(short) => format!("{short}, {}", metric.name),
            None => metric.name.to_owned(),
        };
        let unit = match metric.unit {
            Unit::Count => "",
            Unit::Bytes => "bytes: ",
        };
        (name, format!("{unit}{}", metric.doc))
    });
    let patterns = PATTERNS.map(|(name, doc)| (name.to_owned(), doc.to_owned()));
    let lines: String = plain
        .chain(patterns)
        .map(|(name, doc)| format!("  {name:34} {doc}\n"))
        .collect();
    format!("Metrics:\n{lines}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use ptx_report::function_stats;

    fn value(name: &str) -> u64 {
        let module = ptx_parse::parse(
            b".version 8.0\n.target sm_80\n.entry k(.param .u64 p) .reqntid 96 { .reg .b64 a; .reg .b32 b<4>;
            .shared .align 4 .b8 s[48];
            ld.param.u64 a, [p]; ld.global.v4.b32 {b0, b1, b2, b3}, [a]; ld.global.b32 b0, [a];
            l: st.global.b32 [a], b1; bar.sync 0; bra l; }",
        )
        .module;
        let functions = function_stats::collect(&module, |_| true);
        Metric::parse(name).unwrap().value(&functions[0]).unwrap()
    }

    #[test]
    fn values_of_a_kernel() {
        for (name, expected) in [
            ("instructions", 6),
            ("loops", 1),
            ("barriers", 1),
            ("shared", 48),
            ("shared_bytes", 48),
            ("pressure", 6),
            ("pressure.by_class.b64", 1),
            ("memory", 4),
            ("memory.global", 3),
            ("memory.write", 1),
            ("memory.global.read", 2),
            ("memory.global.16", 1),
            ("memory.global.read.4", 1),
            ("families.movement", 4),
            ("families.float", 0),
            ("occupancy", 98),
            ("occupancy.blocks", 21),
            ("occupancy.warps", 63),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
    }

    #[test]
    fn unknown_names() {
        for (name, expected) in [
            (
                "presure",
                "unknown metric `presure`; did you mean `pressure`?",
            ),
            (
                "memory.globl",
                "unknown metric `memory.globl`; did you mean `memory.global`?",
            ),
            (
                "families.flaot",
                "unknown metric `families.flaot`; did you mean `families.float`?",
            ),
            (
                "memory.global.shared",
                "unexpected `shared` in `memory.global.shared`",
            ),
            (
                "memoryglobal",
                "unknown metric `memoryglobal`; did you mean `memory.global`?",
            ),
            ("", "unknown metric ``; --help lists all metrics"),
        ] {
            assert_eq!(Metric::parse(name).unwrap_err(), expected);
        }
        for name in PLAIN.iter().flat_map(|m| [Some(m.name), m.short]).flatten() {
            Metric::parse(name).unwrap();
        }
        assert_eq!(
            Metric::parse("memory.16.read.global").unwrap().to_string(),
            "memory.global.read.16"
        );
    }

    #[test]
    fn amounts() {
        let (shared, instructions) = (
            Metric::parse("shared").unwrap(),
            Metric::parse("instructions").unwrap(),
        );
        assert_eq!(shared.amount("48K"), Ok(48 << 10));
        assert_eq!(shared.amount("1M"), Ok(1 << 20));
        assert_eq!(instructions.amount("2k"), Ok(2000));
        assert_eq!(instructions.amount("0"), Ok(0));
        for wrong in [
            "",
            "K",
            "-1",
            "+1",
            "1.5",
            "99999999999999999999",
            "99999999999999999M",
        ] {
            assert!(shared.amount(wrong).is_err(), "{wrong}");
        }
    }
}
