//! Accepted instructions whose results are operands, too, against the same instructions with copies of these operands: no instruction may see its own
//! partial results.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fastrand::Rng;
use ptx_isa::{PtxVersion, ScalarType, Target};
use ptx_vm::{Launch, Machine, StopReason};
use rayon::prelude::*;

use super::super::case::Setting;
use super::super::operand::bare;
use super::super::preamble::Module;
use super::super::verdicts::{BASE, NEWER, Set};
use crate::sample::{sample, seed};

/// A register of a line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Register {
    name: String,
    bits: u16,
    /// Elements of a vector register, else 1.
    elements: u16,
}

impl Register {
    /// The register that a name denotes in the preamble.
    fn of(name: &str) -> Option<Self> {
        let (elements, type_name) = match name.get(..3) {
            Some("v2_") => (2, &name[3..]),
            Some("v4_") => (4, &name[3..]),
            _ => (1, name.rsplit_once('_')?.0),
        };
        let ty = ScalarType::ALL
            .iter()
            .find(|t| t.is_register_type() && bare(t.text()) == type_name)?;
        Some(Self {
            name: name.to_owned(),
            bits: ty.bits(),
            elements,
        })
    }

    /// The instructions that load the register from an address.
    pub(super) fn load(&self, address: &str) -> String {
        let (name, bits) = (&self.name, self.bits);
        match (self.elements, bits) {
            (_, 1) => {
                format!("ld.global.b32 init_r, [{address}]; setp.gt.s32 {name}, init_r, 0;\n")
            }
            (1, _) => format!("ld.global.b{bits} {name}, [{address}];\n"),
            (n, _) => format!("ld.global.v{n}.b{bits} {name}, [{address}];\n"),
        }
    }

    /// The instructions that store the register to an address.
    fn store(&self, address: &str) -> String {
        let (name, bits) = (&self.name, self.bits);
        match (self.elements, bits) {
            (_, 1) => {
                format!("selp.b32 init_r, 1, 0, {name}; st.global.b32 [{address}], init_r;\n")
            }
            (1, _) => format!("st.global.b{bits} [{address}], {name};\n"),
            (n, _) => format!("st.global.v{n}.b{bits} [{address}], {name};\n"),
        }
    }
}

/// The names and the other text of a line, in turn.
fn words(line: &str) -> Vec<(bool, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut remaining = line;
    while let Some(first) = remaining.chars().next() {
        let is_word = is_name(first);
        let end = remaining
            .find(|c| is_name(c) != is_word)
            .unwrap_or(remaining.len());
        words.push((is_word, &remaining[..end]));
        remaining = &remaining[end..];
    }
    words
}

/// A register in a line.
pub(super) struct Mention {
    pub(super) register: Register,
    in_first_operand: bool,
    in_brackets: bool,
}

impl Mention {
    pub(super) fn is_result(&self) -> bool {
        self.in_first_operand && !self.in_brackets
    }
}

/// The registers of a line, in the order of the text.
pub(super) fn registers(line: &str) -> Vec<Mention> {
    let (mut depth, mut brackets, mut first) = (0, 0, true);
    let mut registers = Vec::new();
    for (is_name, word) in words(line) {
        if is_name {
            registers.extend(Register::of(word).map(|register| Mention {
                register,
                in_first_operand: first,
                in_brackets: brackets > 0,
            }));
            continue;
        }
        for c in word.chars() {
            match c {
                '{' | '(' => depth += 1,
                '}' | ')' => depth -= 1,
                '[' => brackets += 1,
                ']' => brackets -= 1,
                ',' if depth == 0 && brackets == 0 => first = false,
                _ => {}
            }
        }
    }
    registers
}

/// The line with some names replaced.
fn replaced(line: &str, names: &BTreeMap<String, String>) -> String {
    words(line)
        .into_iter()
        .map(|(_, word)| names.get(word).map_or(word, String::as_str))
        .collect()
}

/// The number of bytes for the value of a register.
pub(super) const PART: usize = 32;
/// The number of parts of a thread: the initial values of registers, their final values, and the final content of its memory.
const PARTS: usize = 64;
/// The end of a run that reached something that the machine does not support.
const UNSUPPORTED: &str = "unsupported";
/// The maximum number of registers of a line.
const MAX_REGISTERS: usize = 28;

/// A kernel that executes a line. `values` has the part with the initial value of each register, `results` the registers that are
/// stored in the end, with their parts.
fn kernel(
    place: (PtxVersion, Target),
    line: &str,
    values: &BTreeMap<Register, usize>,
    addresses: &BTreeSet<&Register>,
    results: &[(usize, Register)],
) -> String {
    let mut body = String::new();
    body += "mov.u32 init_r, %tid.x; mad.wide.u32 init_a, init_r, 2048, init_p;\n";
    for (register, part) in values {
        body += &register.load(&format!("init_a+{}", part * PART));
    }
    let space = if line.contains(".shared") {
        "shared"
    } else {
        "global"
    };
    for register in addresses {
        let name = &register.name;
        let bits = register.bits;
        let _ = writeln!(
            body,
            "mov.b64 init_d, v_{space}_b8; mad.wide.u32 init_d, init_r, 32, init_d;"
        );
        body += &match bits {
            64 => format!("mov.b64 {name}, init_d;\n"),
            _ => format!("cvt.u32.u64 init_s, init_d; mov.b32 {name}, init_s;\n"),
        };
    }
    let _ = writeln!(body, "{line}");
    for (part, register) in results {
        body += &register.store(&format!("init_a+{}", (32 + part) * PART));
    }
    let _ = writeln!(
        body,
        "mov.u32 init_r, %tid.x; mov.b64 init_d, v_{space}_b8; mad.wide.u32 init_d, init_r, 32, init_d;"
    );
    for word in 0..4 {
        let _ = writeln!(
            body,
            "ld.{space}.b64 init_l, [init_d+{}]; st.global.b64 [init_a+{}], init_l;",
            8 * word,
            60 * PART + 8 * word
        );
    }
    let (version, target) = place;
    let text = Module::new(version, target, Setting::Plain, std::iter::once(&*body)).text;
    let declared = ".reg .b32 init_r, init_s; .reg .b64 init_a, init_d, init_l, init_p; ld.param.u64 init_p, [DATA];\n";
    let entry = text.find(".entry main(").unwrap_or(0);
    let (head, kernel) = text.split_at(entry);
    let name = kernel.split(['[', ' ']).find(|w| w.starts_with("v_param"));
    let declared = declared.replace("DATA", name.unwrap_or("v_param_entry_b8"));
    let open = kernel.find("\n{").map_or(0, |end| end + 3);
    let (signature, body) = kernel.split_at(open);
    // Threads use 32 bytes of each variable.
    format!("{head}{signature}{declared}{body}")
}

/// Runs a module on 32 threads. Returns the final content of memory, or `None` if the module is not legal or the machine does not support the line.
fn run(text: &str, random: &[u8]) -> Option<Result<Vec<u8>, String>> {
    let parsed = ptx_parse::parse_str(text);
    let is_error = |d: &ptx_ir::Diagnostic| d.severity == ptx_ir::Severity::Error;
    let options = ptx_verify::Options::default();
    if parsed.diagnostics.iter().any(is_error)
        || ptx_verify::verify(&parsed.module, &options)
            .iter()
            .any(is_error)
    {
        return None;
    }
    let mut machine = Machine::new(&parsed.module);
    if machine.unsupported().next().is_some() {
        return None;
    }
    let data = machine.allocate(random.len() as u64).unwrap();
    machine.write(data, random).unwrap();
    let mut argument = vec![0; 1024];
    argument[..8].copy_from_slice(&data.to_le_bytes());
    let mut launch = Launch::new("main").shape(1, 32).argument(argument);
    launch.limits.steps = 10_000;
    Some(match machine.launch(&launch) {
        Ok(_) => Ok(machine.read(data, random.len()).unwrap()),
        Err(error) if matches!(error.reason, StopReason::Unsupported(_)) => Err(UNSUPPORTED.into()),
        Err(error) => Err(error.reason.to_string()),
    })
}

/// The names of read registers, each with the name of a written register that replaces it.
fn aliases(mentions: &[Mention], rng: &mut Rng) -> BTreeMap<String, String> {
    let results: Vec<&Register> = mentions
        .iter()
        .filter(|mention| mention.is_result())
        .map(|mention| &mention.register)
        .collect();
    let mut names = BTreeMap::new();
    for mention in mentions.iter().filter(|mention| !mention.is_result()) {
        let source = &mention.register;
        let candidates: Vec<&&Register> = results
            .iter()
            .filter(|d| d.bits == source.bits && d.elements == source.elements)
            .collect();
        if candidates.is_empty() || results.contains(&source) || rng.u8(..5) == 0 {
            continue;
        }
        let replacement = &candidates[rng.usize(..candidates.len())].name;
        names.insert(source.name.clone(), replacement.clone());
    }
    names
}

/// Compares the effects of a line with results that are also sources with those of the line with copies of the sources. Returns `None` if they cannot be compared.
fn compared(place: (PtxVersion, Target), line: &str, rng: &mut Rng) -> Option<bool> {
    let mentions = registers(line);
    let names = aliases(&mentions, rng);
    if mentions.len() > MAX_REGISTERS {
        return None;
    }
    let class = |r: &Register| names.get(&r.name).unwrap_or(&r.name).clone();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for mention in &mentions {
        let next = numbers.len();
        numbers.entry(class(&mention.register)).or_insert(next);
    }
    let is_address = |r: &Register| {
        mentions
            .iter()
            .any(|mention| mention.in_brackets && class(&mention.register) == class(r))
    };
    let values: BTreeMap<Register, usize> = mentions
        .iter()
        .map(|mention| &mention.register)
        .map(|r| (r.clone(), numbers[&class(r)]))
        .collect();
    let addresses: BTreeSet<&Register> = mentions
        .iter()
        .map(|mention| &mention.register)
        .filter(|r| r.elements == 1 && matches!(r.bits, 32 | 64) && is_address(r))
        .collect();
    let results: Vec<(usize, Register)> = mentions
        .iter()
        .filter(|mention| mention.is_result())
        .map(|mention| mention.register.clone())
        .enumerate()
        .collect();
    let random: Vec<u8> = (0..32 * PARTS * PART).map(|_| rng.u8(..)).collect();
    let copied = run(&kernel(place, line, &values, &addresses, &results), &random)?;
    assert_ne!(
        copied.as_ref().err().map(|e| &**e),
        Some(UNSUPPORTED),
        "{line}"
    );
    if names.is_empty() {
        return None;
    }
    let line = replaced(line, &names);
    let aliased = run(
        &kernel(place, &line, &values, &addresses, &results),
        &random,
    )?;
    assert_eq!(aliased, copied, "{line}");
    Some(copied.is_ok())
}

/// Compares a sample of the accepted lines. Returns the number of compared lines, and of those whose runs ended without an error.
fn compare(set: &Set, quick: usize, ci: usize) -> (usize, usize) {
    let verdicts: Vec<_> = sample(quick, ci).of(set.read().unwrap()).collect();
    let accepted = verdicts.par_iter().enumerate().filter_map(|(n, verdict)| {
        let target = *verdict
            .targets
            .first()
            .filter(|_| verdict.setting == Setting::Plain)?;
        let mut rng = Rng::with_seed(seed().wrapping_add(n as u64 + 1));
        compared((set.newest(), target), &verdict.line, &mut rng)
    });
    accepted
        .map(|ended| (1, usize::from(ended)))
        .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}

#[test]
fn results_that_are_operands() {
    let (compared, ended) = compare(&BASE, 16, 4);
    assert!(ended > 200 && ended * 2 > compared, "{ended} of {compared}");
    let (compared, ended) = compare(&NEWER, 8, 2);
    assert!(ended > 10, "{ended} of {compared}");
}
