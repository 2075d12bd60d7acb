//! Counts of results, by opcode and by section of the PTX ISA manual.

use std::collections::BTreeMap;
use std::fmt;

use super::template::Template;

/// The outcome of a case.
pub(super) enum Outcome {
    /// Both sides have the same bits.
    Same,
    Different(Difference),
    /// A known mistake of ptxas.
    Bug,
    /// ptxas does not compute the result, but leaves it to the GPU.
    NotFolded,
    /// The tables or the PTX ISA manual do not define the result.
    Undefined,
}

/// The greatest number of differences of a template that are printed.
const MAX_PRINTED: usize = 3;

/// Different bits.
pub(super) struct Difference {
    /// The instruction with the bits of its operands.
    pub(super) case: String,
    /// The bits that `ptx_semantics::fold` computes.
    pub(super) evaluated: u64,
    /// The bits in the machine code, or those that the virtual machine stores.
    pub(super) found: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            case,
            evaluated,
            found,
        } = self;
        write!(f, "{case}: evaluated {evaluated:#x}, found {found:#x}")
    }
}

#[derive(Default, Clone, Copy)]
struct Counts {
    equal: usize,
    different: usize,
    bugs: usize,
    not_folded: usize,
    undefined: usize,
}

/// All counts.
#[derive(Default)]
pub(super) struct Tally {
    opcodes: BTreeMap<&'static str, Counts>,
    sections: BTreeMap<String, Counts>,
    /// The cases compared of each template by its number.
    templates: BTreeMap<usize, usize>,
    /// The differences of each template that were printed.
    printed: BTreeMap<usize, usize>,
}

impl Tally {
    pub(super) fn add(&mut self, number: usize, template: &Template, outcome: Outcome) {
        let section: Vec<&str> = template.form.section().split('.').take(3).collect();
        let section_counts = self.sections.entry(section.join(".")).or_default();
        let opcode = template.case.opcode.text();
        let opcode_counts = self.opcodes.entry(opcode).or_default();
        for counts in [section_counts, opcode_counts] {
            match outcome {
                Outcome::Same => counts.equal += 1,
                Outcome::Different(_) => counts.different += 1,
                Outcome::Bug => counts.bugs += 1,
                Outcome::NotFolded => counts.not_folded += 1,
                Outcome::Undefined => counts.undefined += 1,
            }
        }
        if let Outcome::Different(difference) = &outcome {
            let printed = self.printed.entry(number).or_default();
            if *printed < MAX_PRINTED {
                *printed += 1;
                println!("DIFFERENT {difference}");
            }
        }
        let compared = self.templates.entry(number).or_default();
        *compared += usize::from(matches!(outcome, Outcome::Same | Outcome::Different(_)));
    }

    /// Whether ptxas computed a result of a template, or did not assemble it yet.
    pub(super) fn is_useful(&self, template: usize) -> bool {
        self.templates.get(&template) != Some(&0)
    }

    /// The cases that were compared.
    pub(super) fn compared(&self) -> usize {
        self.templates.values().sum()
    }

    /// The cases whose results differ.
    pub(super) fn different(&self) -> usize {
        self.opcodes.values().map(|c| c.different).sum()
    }

    pub(super) fn print(&self, opcodes: bool) {
        header("section");
        self.sections.iter().for_each(|(name, c)| line(name, *c));
        if opcodes {
            header("opcode");
            self.opcodes.iter().for_each(|(name, c)| line(name, *c));
        }
    }
}

fn header(first: &str) {
    println!(
        "{first:<12}{:>10}{:>11}{:>12}{:>12}{:>11}",
        "equal", "different", "known bugs", "not folded", "undefined"
    );
}

fn line(name: &str, counts: Counts) {
    let Counts {
        equal,
        different,
        bugs,
        not_folded,
        undefined,
    } = counts;
    println!("{name:<12}{equal:>10}{different:>11}{bugs:>12}{not_folded:>12}{undefined:>11}");
}
