//! Random straight-line programs: instructions of templates, whose sources are inputs of the thread or earlier results.

use fastrand::Rng;
use ptx_isa::ScalarType;

use crate::case::Case;
use crate::operand::{Kind, Operand};
use crate::template::{Register, Template};
use crate::values::value;

/// A program. Each instruction has its own registers for results, so that the values of all of them can be compared.
#[derive(Clone)]
pub(crate) struct Program<'t> {
    pub(crate) inputs: Vec<Register>,
    pub(crate) steps: Vec<Step<'t>>,
}

/// An instruction of a program.
#[derive(Clone)]
pub(crate) struct Step<'t> {
    pub(crate) template: &'t Template,
    pub(crate) line: String,
    pub(crate) sources: Vec<Source>,
    pub(crate) results: Vec<Register>,
    /// The carry flag that it reads.
    pub(crate) carry: Option<bool>,
}

/// What a source of an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Input(usize),
    /// A result of a step.
    Result(usize, usize),
}

impl Step<'_> {
    /// Whether its results may differ from those of other devices.
    pub(crate) fn is_approximate(&self) -> bool {
        let computation = self.template.form.computation();
        computation.is_none_or(|c| c.is_approximate())
    }
}

impl<'t> Program<'t> {
    /// A program of instructions of some templates, in their order.
    pub(crate) fn random(templates: &[&'t Template], rng: &mut Rng) -> Self {
        let mut program = Self {
            inputs: Vec::new(),
            steps: Vec::new(),
        };
        for template in templates {
            program.add(template, rng);
        }
        program
    }

    fn add(&mut self, template: &'t Template, rng: &mut Rng) {
        let mut case = template.vary(rng);
        let number = self.steps.len();
        let mut renamed: Vec<(String, Operand)> = Vec::new();
        let mut sources = Vec::new();
        for register in &template.sources {
            let source = self.source(register, rng);
            renamed.push((register.name.clone(), self.operand(register, source)));
            sources.push(source);
        }
        let mut results = Vec::new();
        for (at, register) in template.results.iter().enumerate() {
            let operand = Operand::register(register.declared, result_number(number, at));
            results.push(Register {
                name: operand.to_string(),
                ..register.clone()
            });
            renamed.push((register.name.clone(), operand));
        }
        rename(&mut case, &renamed);
        self.steps.push(Step {
            template,
            line: case.to_string(),
            sources,
            results,
            carry: template.reads_carry.then(|| rng.bool()),
        });
    }

    /// An earlier result of the same type that is not an approximation, or a new input.
    fn source(&mut self, register: &Register, rng: &mut Rng) -> Source {
        let exact = self.steps.iter().enumerate();
        let exact = exact.filter(|(_, step)| !step.is_approximate());
        let earlier = exact.flat_map(|(s, step)| {
            let results = step.results.iter().enumerate();
            let same = results.filter(|(_, r)| r.declared == register.declared);
            same.map(move |(r, _)| Source::Result(s, r))
        });
        let earlier: Vec<Source> = earlier.collect();
        match rng.choice(&earlier) {
            Some(&source) if rng.bool() => source,
            _ => {
                let number = INPUTS + self.inputs.len() as u16;
                self.inputs.push(Register {
                    name: Operand::register(register.declared, number).to_string(),
                    ..register.clone()
                });
                Source::Input(self.inputs.len() - 1)
            }
        }
    }

    fn operand(&self, register: &Register, source: Source) -> Operand {
        let number = match source {
            Source::Input(number) => INPUTS + number as u16,
            Source::Result(step, at) => result_number(step, at),
        };
        Operand::register(register.declared, number)
    }

    /// The register that a source is.
    pub(crate) fn register(&self, source: Source) -> &Register {
        match source {
            Source::Input(number) => &self.inputs[number],
            Source::Result(step, at) => &self.steps[step].results[at],
        }
    }

    /// The values of the inputs of a thread.
    pub(crate) fn values(&self, rng: &mut Rng) -> Vec<u128> {
        let edges_only = rng.bool();
        let inputs = self.inputs.iter();
        inputs.map(|r| value(r, edges_only, rng)).collect()
    }

    /// The program that has only one of the steps, whose sources are inputs.
    pub(crate) fn alone(&self, step: usize) -> Self {
        let step = &self.steps[step];
        let mut inputs: Vec<Register> = Vec::new();
        let mut sources = Vec::new();
        for source in &step.sources {
            let register = self.register(*source);
            let known = inputs.iter().position(|r| r.name == register.name);
            sources.push(Source::Input(known.unwrap_or(inputs.len())));
            if known.is_none() {
                inputs.push(register.clone());
            }
        }
        let step = Step {
            sources,
            ..step.clone()
        };
        Self {
            inputs,
            steps: vec![step],
        }
    }
}

/// The number of the first register of inputs; results have lower ones.
const INPUTS: u16 = 1 << 14;
/// The most results of an instruction.
const RESULTS: u16 = 16;

fn result_number(step: usize, at: usize) -> u16 {
    step as u16 * RESULTS + at as u16
}

/// Replaces registers.
fn rename(case: &mut Case, by: &[(String, Operand)]) {
    case.operands.iter_mut().for_each(|o| rename_operand(o, by));
}

fn rename_operand(operand: &mut Operand, by: &[(String, Operand)]) {
    if let Kind::Register(ty, number) = operand.kind {
        let name = Operand::register(ty, number).to_string();
        if let Some((_, new)) = by.iter().find(|(old, _)| *old == name) {
            operand.kind = new.kind.clone();
        }
    }
    for part in operand.parts_mut().into_iter().flatten() {
        rename_operand(part, by);
    }
}

/// The bytes that the value of a register has in memory.
pub(crate) fn bytes(declared: ScalarType) -> usize {
    match declared {
        ScalarType::Pred => 4,
        ty => usize::from(ty.bits() / 8),
    }
}
