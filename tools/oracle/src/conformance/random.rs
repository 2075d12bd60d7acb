//! `cargo oracle random`: random modules built with `ptx-build` from the tables; ptxas has to accept them.
//!
//! Each module has variables of all spaces, functions and kernels with parameters, registers of all types, scopes, guards, branches, calls, and
//! instructions of any form; forms that were removed from PTX are in modules of old versions. ptxas only checks them: code generation may
//! refuse modules for reasons that no verifier can know, such as two accumulators in the same registers. A syntax error in its own expansion of an instruction does
//! not count either: ptxas 13.5 has one for `fabric.try_atom` with `.f16` and `.bf16`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use fastrand::Rng;
use ptx_build::{BuildError, FunctionBuilder, ModuleBuilder, OperandExpr as Out};
use ptx_ir::{FunctionKind, Statement};
use ptx_isa::{Form, Instruction, Marks, PtxVersion, ScalarType, Target, TargetOption};
use ptx_print::Style;
use rayon::prelude::*;

use super::builder_cases::{Names, inside, instruction, outside, register};
use super::case::{Case, Setting};
use super::coverage::cover;
use super::preamble::Module as Text;
use super::verdicts::targets;
use crate::assembler::{Assemblers, Job};
use crate::limit;
use crate::shared::Shared;

/// Arguments of `cargo oracle random`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of modules
    #[arg(long, default_value_t = 100)]
    pub(crate) count: u64,
    /// Print the texts that ptxas refuses
    #[arg(long)]
    pub(crate) show: bool,
}

/// The number of modules whose instructions come from one set of cases.
const MODULES_PER_POOL: u64 = 500;

/// The highest percentage of modules that ptxas may refuse.
const REFUSED: f64 = 0.5;

/// The cases of every form.
pub(crate) struct Pool {
    /// The names of the forms: the instruction and the number of the form.
    names: Vec<String>,
    forms: Vec<Vec<Case>>,
    /// Whether a form has textures, samplers or surfaces.
    opaque: Vec<bool>,
}

/// Whether a form has textures, samplers or surfaces.
fn is_opaque(form: &Form) -> bool {
    let handles = Marks::TEXTURE.union(Marks::SAMPLER).union(Marks::SURFACE);
    form.operands()
        .iter()
        .any(|o| o.marks().intersects(handles))
}

impl Pool {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut pool = Self {
            names: Vec::new(),
            forms: Vec::new(),
            opaque: Vec::new(),
        };
        for instruction in Instruction::ALL {
            let words: String = instruction
                .words()
                .iter()
                .map(ToString::to_string)
                .collect();
            for (number, &form) in instruction.forms().iter().enumerate() {
                let opcode = instruction.opcode();
                pool.names.push(format!("{opcode}{words} form {number}"));
                pool.forms.push(cover(instruction, form, &mut rng));
                pool.opaque.push(is_opaque(form));
            }
        }
        pool
    }

    pub(crate) fn forms(&self) -> usize {
        self.forms.len()
    }
}

/// The version, the target and the setting of a module.
#[derive(Copy, Clone)]
struct Environment {
    version: PtxVersion,
    target: Target,
    setting: Setting,
}

impl Environment {
    const fn new(version: PtxVersion, target: Target, setting: Setting) -> Self {
        Self {
            version,
            target,
            setting,
        }
    }

    const fn old(major: u8, minor: u8, target: Target) -> Self {
        Self {
            version: PtxVersion::new(major, minor),
            target,
            setting: Setting::Plain,
        }
    }

    /// Whether neither 64-bit addresses nor functions with parameters exist yet.
    fn is_early(self) -> bool {
        self.version < PtxVersion::new(2, 3)
    }
}

/// Environments for forms that newer versions removed.
const OLD: [Environment; 3] = [
    Environment::old(1, 3, Target::Sm13),
    Environment::old(6, 3, Target::Sm60),
    Environment::old(9, 2, Target::Sm100a),
];

/// A module and its forms.
pub(crate) struct RandomModule {
    pub(crate) module: ptx_ir::Module,
    pub(crate) forms: Vec<usize>,
}

/// The module of a seed, of a version or an older one. It contains the form with that number, modulo the number of forms, if some target accepts it.
pub(crate) fn make(
    pool: &Pool,
    version: PtxVersion,
    seed: u64,
) -> Result<RandomModule, BuildError> {
    let mut rng = Rng::with_seed(seed);
    let first = usize::try_from(seed).unwrap_or(0) % pool.forms.len();
    let mut targets: Vec<Target> = targets(version).collect();
    rng.shuffle(&mut targets);
    let settings = if rng.u8(..4) == 0 {
        [Setting::Independent, Setting::Plain]
    } else {
        [Setting::Plain, Setting::Independent]
    };
    let mut environments: Vec<Environment> = targets
        .into_iter()
        .flat_map(|target| settings.map(|setting| Environment::new(version, target, setting)))
        .collect();
    environments.extend(OLD);
    let mut first_attempt = None;
    for environment in environments {
        let attempt = attempt(pool, first, environment, &mut rng)?;
        if attempt.forms.contains(&first) {
            return Ok(attempt);
        }
        first_attempt.get_or_insert(attempt);
    }
    match first_attempt {
        Some(module) => Ok(module),
        None => attempt(pool, first, OLD[0], &mut rng),
    }
}

fn attempt(
    pool: &Pool,
    first: usize,
    environment: Environment,
    rng: &mut Rng,
) -> Result<RandomModule, BuildError> {
    let mut m = ModuleBuilder::new(environment.version, environment.target);
    if environment.setting == Setting::Independent {
        m.target_option(TargetOption::TexmodeIndependent);
    }
    let mut names = Names::new();
    if environment.is_early() {
        m.without_address_size();
    } else {
        outside(&mut m, environment.setting, &mut names)?;
    }
    let mut forms = Vec::new();
    let mut required = Some(first);
    for n in 0..rng.usize(1..4) {
        let (kind, mut k) = if rng.bool() || n == 0 {
            (FunctionKind::Entry, m.kernel(&format!("kernel{n}"))?)
        } else {
            (FunctionKind::Func, m.func(&format!("function{n}"))?)
        };
        let mut scopes = vec![names.clone()];
        if !environment.is_early() {
            inside(&mut k, kind, &mut scopes[0])?;
        }
        let mut body = Body {
            pool,
            environment,
            k,
            scopes,
            forms: &mut forms,
        };
        body.statements(required.take(), rng)?;
        body.k.finish()?;
    }
    m.comment("the end");
    Ok(RandomModule {
        module: m.finish()?,
        forms,
    })
}

struct Body<'b, 'm> {
    pool: &'b Pool,
    environment: Environment,
    k: FunctionBuilder<'m>,
    /// The visible names of each open scope.
    scopes: Vec<Names>,
    forms: &'b mut Vec<usize>,
}

impl Body<'_, '_> {
    fn statements(&mut self, first: Option<usize>, rng: &mut Rng) -> Result<(), BuildError> {
        let end = self.k.label();
        let predicate = self.k.reg(ScalarType::Pred);
        let word = self.k.reg(ScalarType::B32);
        if let Some(form) = first {
            self.instruction(form, None, rng);
        }
        for _ in 0..rng.usize(5..30) {
            match rng.u8(..16) {
                0 if self.scopes.len() < 6 => {
                    self.k.open();
                    self.scopes.push(Names::new());
                }
                1 if self.scopes.len() > 1 => {
                    self.k.close()?;
                    self.scopes.pop();
                }
                2 => {
                    let skip = self.k.label();
                    self.k.guard_not(predicate).bra().emit(skip)?;
                    self.instruction(rng.usize(..self.pool.forms.len()), None, rng);
                    self.k.place(skip)?;
                }
                3 => self.k.guard(predicate).bra().emit(end)?,
                4 => {
                    if let Some(&Out::Func(f)) = self.scopes[0].get("fn_11") {
                        self.k.call_function(f, &[word.into()], &[word.into()])?;
                    }
                }
                5 => self.k.trailing_comment("a trailing comment"),
                6 => {
                    self.k.block()?;
                }
                _ => {
                    let guard = (rng.u8(..4) == 0).then_some(predicate);
                    self.instruction(rng.usize(..self.pool.forms.len()), guard, rng);
                }
            }
        }
        while self.scopes.len() > 1 {
            self.k.close()?;
            self.scopes.pop();
        }
        self.k.place(end)?;
        self.k.ret().emit(())
    }

    /// Adds an instruction of a form if one of its cases is legal here.
    fn instruction(&mut self, form: usize, guard: Option<ptx_build::Reg>, rng: &mut Rng) {
        let Some(cases) = self.pool.forms.get(form) else {
            return;
        };
        let start = rng.usize(..cases.len().max(1));
        // With independent samplers other operands are legal; only the verdicts of that setting describe them.
        let strict = self.environment.setting == Setting::Independent
            && self.pool.opaque.get(form) == Some(&true);
        for case in cases.iter().cycle().skip(start).take(cases.len().min(24)) {
            if strict && case.setting() != self.environment.setting {
                continue;
            }
            if self.case(case, guard).is_some() {
                self.forms.push(form);
                return;
            }
        }
    }

    fn case(&mut self, case: &Case, guard: Option<ptx_build::Reg>) -> Option<()> {
        let line = case.to_string();
        let text = Text::new(
            self.environment.version,
            self.environment.target,
            self.environment.setting,
            [&*line].into_iter(),
        )
        .text;
        let parsed = ptx_parse::parse(text.as_bytes()).module;
        let body = parsed.body(parsed.function("main")?)?;
        let inst = body.statements().find_map(|(_, s)| match s {
            Statement::Inst(id) => Some(id),
            _ => None,
        })?;
        // The conversion of names needs mutable access, because it declares registers at their first use.
        let this = RefCell::new(&mut *self);
        let (mnemonic, operands) =
            instruction(&parsed, body, inst, &|name| this.borrow_mut().resolve(name))?;
        if let Some(predicate) = guard
            && self
                .k
                .guard(predicate)
                .inst(&mnemonic, &operands[..])
                .is_ok()
        {
            return Some(());
        }
        self.k.inst(&mnemonic, &operands[..]).ok()
    }

    /// The operand that a name denotes. Declares a register in the innermost scope if the name is new.
    fn resolve(&mut self, name: &str) -> Option<Out> {
        if let Some(operand) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return Some(operand.clone());
        }
        let register = register(&mut self.k, name)?;
        let scope = self.scopes.last_mut()?;
        scope.insert(name.to_owned(), register.clone());
        Some(register)
    }
}

/// An error of ptxas.
struct PtxasError {
    message: String,
    /// The line of the text that it is about; empty if it is about none.
    line: String,
}

/// The errors in the output of ptxas about a text.
fn ptxas_errors(output: &str, text: &[u8]) -> Vec<PtxasError> {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut errors = Vec::new();
    for output_line in output.lines() {
        if let Some((location, message)) = output_line.split_once("; ")
            && let Some((severity, message)) = message.split_once(':')
            && matches!(severity.trim(), "error" | "fatal")
        {
            let number: Option<usize> = location.rsplit(' ').next().and_then(|n| n.parse().ok());
            let line = number.and_then(|n| lines.get(n.checked_sub(1)?));
            errors.push(PtxasError {
                message: message.trim().to_owned(),
                line: line.map_or("", |line| line.trim()).to_owned(),
            });
        }
    }
    if errors.is_empty() {
        errors.push(PtxasError {
            message: output.lines().next().unwrap_or("no output").to_owned(),
            line: String::new(),
        });
    }
    errors
}

/// Whether ptxas could not parse its own expansion of an instruction: a syntax error near a word that the text does not contain.
fn is_error_in_expansion(message: &str, text: &[u8]) -> bool {
    message
        .strip_prefix("Parsing error near '")
        .and_then(|tail| tail.split_once('\''))
        .is_some_and(|(word, _)| !String::from_utf8_lossy(text).contains(word))
}

/// The result for one module.
struct Outcome {
    forms: Vec<usize>,
    statements: usize,
    /// The errors of ptxas and the text.
    refused: Option<(Vec<PtxasError>, Vec<u8>)>,
}

fn check(pools: &BTreeMap<u64, LazyPool>, assemblers: &Assemblers, seed: u64) -> Result<Outcome> {
    let random = make(
        &pools[&(seed / MODULES_PER_POOL)],
        assemblers.newest(),
        seed,
    )
    .map_err(|e| anyhow::anyhow!("seed {seed}: {e}"))?;
    let text = ptx_print::canonical(&random.module, &Style::default());
    let verdict = assemblers.run(&text, Job::Check)?;
    let mut refused = None;
    if !verdict.accepted {
        let errors = ptxas_errors(&verdict.output, &text);
        let is_tolerated = errors
            .first()
            .is_some_and(|error| is_error_in_expansion(&error.message, &text));
        if !is_tolerated {
            refused = Some((errors, text));
        }
    }
    let bodies = random.module.bodies();
    Ok(Outcome {
        forms: random.forms,
        statements: bodies.values().map(|b| b.inst_table().len()).sum(),
        refused,
    })
}

type LazyPool = LazyLock<Pool, Box<dyn FnOnce() -> Pool + Send>>;

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("RANDOM MODULES")? else {
        return Ok(());
    };
    let first = shared.seed();
    let seeds: Vec<u64> = (first..first + args.count).collect();
    let mut pools: BTreeMap<u64, LazyPool> = BTreeMap::new();
    for number in seeds.iter().map(|seed| seed / MODULES_PER_POOL) {
        pools
            .entry(number)
            .or_insert_with(|| LazyLock::new(Box::new(move || Pool::new(number))));
    }
    let pool = LazyLock::force(&pools[&(first / MODULES_PER_POOL)]);
    println!(
        "{}: {} modules, {} forms",
        assemblers.describe(),
        args.count,
        pool.forms()
    );
    let outcomes: Vec<Result<Outcome>> = seeds
        .par_iter()
        .map(|&seed| check(&pools, assemblers, seed))
        .collect();
    let mut counts = vec![0usize; pool.forms()];
    let (mut accepted, mut statements) = (0, 0);
    let mut families: BTreeMap<String, usize> = BTreeMap::new();
    for (seed, outcome) in seeds.iter().zip(outcomes) {
        let outcome = outcome?;
        statements += outcome.statements;
        outcome.forms.iter().for_each(|&form| counts[form] += 1);
        let Some((errors, text)) = outcome.refused else {
            accepted += 1;
            continue;
        };
        for PtxasError { message, line } in &errors {
            println!("REFUSED seed {seed}: {line}  // {message}");
        }
        if args.show {
            println!("{}", String::from_utf8_lossy(&text));
        }
        if let Some(error) = errors.into_iter().next() {
            *families.entry(error.message).or_default() += 1;
        }
    }
    println!(
        "{accepted} of {} modules are accepted, {statements} instructions",
        seeds.len()
    );
    report_families(families);
    let uncovered = uncovered(pool, &counts);
    println!(
        "{} of {} forms",
        pool.forms() - uncovered.len(),
        pool.forms()
    );
    if limit::exceeds(seeds.len() - accepted, seeds.len(), REFUSED) {
        bail!("more than {REFUSED} % are refused");
    }
    if seeds.len() >= pool.forms() && !uncovered.is_empty() {
        bail!("no module has {}", uncovered.join(", "));
    }
    Ok(())
}

/// The forms that no module has.
fn uncovered<'p>(pool: &'p Pool, counts: &[usize]) -> Vec<&'p str> {
    (pool.names.iter().zip(counts))
        .filter(|(_, count)| **count == 0)
        .map(|(name, _)| &**name)
        .collect()
}

fn report_families(families: BTreeMap<String, usize>) {
    let mut families: Vec<_> = families.into_iter().collect();
    families.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    for (reason, n) in families {
        println!("{n:6} {reason}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    use super::{LazyLock, Pool, PtxVersion, make};
    use crate::sample::sample;

    proptest! {
        #![proptest_config(Config { cases: 24 / sample(12, 3).parts as u32, rng_seed: RngSeed::Fixed(6), failure_persistence: None, ..Config::default() })]

        /// Every random module is legal, and its text reads back as the same module.
        #[test]
        fn random_modules_are_legal(seed in any::<u64>()) {
            static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new(3));
            let random = make(&POOL, PtxVersion::CURRENT, seed).unwrap();
            prop_assert!(!random.forms.is_empty());
            let text = ptx_print::canonical(&random.module, &ptx_print::Style::default());
            let again = ptx_parse::parse(&text);
            prop_assert!(again.diagnostics.is_empty());
            prop_assert!(ptx_ir::compare::compare(&random.module, &again.module).is_ok());
            let rebuilt = crate::rebuild::rebuild(&random.module).unwrap();
            prop_assert!(ptx_ir::compare::compare(&random.module, &rebuilt).is_ok());
        }
    }
}
