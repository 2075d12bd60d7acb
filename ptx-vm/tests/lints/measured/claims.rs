//! What lints say of the addresses of accesses.

use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, InstId, Span, Statement};
use ptx_isa::StateSpace;
use ptx_lint::{Certainty, Finding, Lint, LintOptions, lint};

use crate::executed::At;

/// The lints whose definite findings are facts about addresses.
pub(crate) const LINTS: [Lint; 5] = [
    Lint::Uncoalesced,
    Lint::BankConflict,
    Lint::MissedVector,
    Lint::GenericSpace,
    Lint::MisalignedVector,
];

/// What a finding states about the addresses of the lanes.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// A warp needs at least that many sectors.
    Sectors(u64),
    /// A warp accesses shared memory at least that often.
    Passes(u64),
    /// These instructions access that many adjacent bytes, from a multiple of it on.
    Adjacent(Vec<InstId>, u64),
    /// The address is in a state space.
    Space(StateSpace),
    /// The address is the first number more than a multiple of the second one.
    Residue(u64, u64),
    /// The address is of another kind than the access takes: no run is right.
    Wrong,
}

/// A definite finding.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) lint: Lint,
    pub(crate) at: At,
    pub(crate) fact: Fact,
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// The definite findings about a module.
pub(crate) fn claims(facts: &ModuleFacts<'_>) -> Vec<Claim> {
    let mut options = LintOptions::default();
    options.lints = LINTS.to_vec();
    options.certainty = Certainty::Definite;
    let all = lint(facts, &options);
    all.iter().flat_map(|finding| of(facts, finding)).collect()
}

/// What a finding says, of each place that it names.
fn of(facts: &ModuleFacts<'_>, finding: &Finding) -> Vec<Claim> {
    let about = &finding.diagnostic;
    let spans = std::iter::once(about.span).chain(about.repeats.iter().copied());
    let source = facts.module().source();
    spans
        .filter_map(|span| {
            let inst = instruction(facts, finding.function, span)?;
            let before = &source[..span.start as usize];
            Some(Claim {
                lint: finding.lint,
                at: (finding.function, inst),
                fact: fact(facts, finding, inst)?,
                line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
                message: about.message.clone(),
            })
        })
        .collect()
}

/// The instruction of a place.
fn instruction(facts: &ModuleFacts<'_>, function: FuncId, span: Span) -> Option<InstId> {
    let body = facts.module().body(function)?;
    let mut statements = body.statements();
    let found = statements.find(|(stmt, _)| body.source_span(*stmt).start == span.start);
    match found {
        Some((_, Statement::Inst(inst))) => Some(inst),
        _ => None,
    }
}

fn fact(facts: &ModuleFacts<'_>, finding: &Finding, inst: InstId) -> Option<Fact> {
    let message = &*finding.diagnostic.message;
    Some(match finding.lint {
        Lint::Uncoalesced => Fact::Sectors(number_before(message, " sectors")?),
        Lint::BankConflict => Fact::Passes(number_before(message, " passes instead of")?),
        Lint::MissedVector => {
            let labels = finding.diagnostic.labels.iter();
            let others = labels.map(|label| instruction(facts, finding.function, label.span));
            let parts: Option<Vec<InstId>> = std::iter::once(Some(inst)).chain(others).collect();
            Fact::Adjacent(parts?, number_before(message, " bytes: the address is")?)
        }
        Lint::GenericSpace => match message.split_once("that is always in `") {
            Some((_, rest)) => Fact::Space(space(rest.split('`').next()?)?),
            None => Fact::Wrong,
        },
        // A copy has two addresses: it fails because of one of them.
        Lint::MisalignedVector if source_of(facts, finding).starts_with(b"cp.") => Fact::Wrong,
        Lint::MisalignedVector => {
            let residue = number_before(message, " more than")?;
            let modulus = message.rsplit(' ').next()?.parse().ok()?;
            Fact::Residue(residue, modulus)
        }
        _ => return None,
    })
}

/// The text of the instruction.
fn source_of<'m>(facts: &ModuleFacts<'m>, finding: &Finding) -> &'m [u8] {
    finding.diagnostic.span.of(facts.module().source())
}

/// The number before a text.
fn number_before(message: &str, text: &str) -> Option<u64> {
    let (before, _) = message.split_once(text)?;
    before.rsplit(' ').next()?.parse().ok()
}

fn space(text: &str) -> Option<StateSpace> {
    use StateSpace::{Const, Global, Local, Param, Shared};
    let all = [Global, Shared, Local, Param, Const];
    all.into_iter().find(|space| space.text() == text)
}
