//! The search of a file for instructions.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ptx_ir::{Body, Module, SigId, Statement};
use wildmatch::WildMatch;

use super::hit::{JsonHit, Line};
use crate::functions::{Chosen, Functions};
use crate::query::{InFunction, Query, Site, visit};
use ptx_report::clean;

/// The instructions that are searched for, and the form of the output.
pub(super) struct Search<'a> {
    pub(super) pattern: &'a str,
    pub(super) query: Option<Query>,
    pub(super) not: bool,
    pub(super) functions: &'a Functions,
    pub(super) output: Output,
}

/// The output for each file.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Output {
    Lines,
    Json,
    Count,
    Files,
    Functions,
}

/// The matches in a file.
pub(super) struct FileMatches {
    pub(super) file: String,
    pub(super) chosen: Chosen,
    pub(super) matches: Matches,
}

pub(super) enum Matches {
    Lines(Vec<Line>),
    Json(Vec<JsonHit>),
    Count(u64),
    /// Whether the file is listed.
    File(bool),
    /// The names of the functions that are listed.
    Functions(Vec<String>),
}

impl FileMatches {
    /// Whether the output for the file is not empty.
    pub(super) fn has_matches(&self) -> bool {
        match &self.matches {
            Matches::Lines(hits) => !hits.is_empty(),
            Matches::Json(hits) => !hits.is_empty(),
            Matches::Count(count) => *count > 0,
            Matches::File(is_listed) => *is_listed,
            Matches::Functions(names) => !names.is_empty(),
        }
    }
}

impl Search<'_> {
    pub(super) fn file(&self, file: &str, module: &Module) -> FileMatches {
        let chosen = self.functions.choose(module);
        let mut matches = match self.output {
            Output::Lines => Matches::Lines(Vec::new()),
            Output::Json => Matches::Json(Vec::new()),
            Output::Count => Matches::Count(0),
            Output::Files => Matches::File(false),
            Output::Functions => Matches::Functions(Vec::new()),
        };
        let pattern = WildMatch::new(self.pattern);
        let mnemonics = MatchingMnemonics {
            signatures: module
                .signatures()
                .ids()
                .map(|id| pattern.matches(module.signature(id).text()))
                .collect(),
            pattern,
        };
        let is_candidate: Vec<bool> = module
            .functions()
            .ids()
            .map(|id| {
                let body = module.body(id).filter(|_| chosen.contains(id));
                body.is_some_and(|body| self.is_inverted() || mnemonics.may_match(body))
            })
            .collect();
        if is_candidate.contains(&true) {
            self.functions(file, module, &mnemonics, &is_candidate, &mut matches);
        }
        match &mut matches {
            Matches::File(is_listed) => *is_listed ^= self.not,
            Matches::Functions(names) if self.not => {
                let with_match: HashSet<String> = names.drain(..).collect();
                names.extend(
                    module
                        .definitions()
                        .filter(|(id, ..)| chosen.contains(*id))
                        .map(|(_, f, _)| clean(module.name(f.name)).into_owned())
                        .filter(|name| !with_match.contains(name)),
                );
            }
            _ => {}
        }
        FileMatches {
            file: file.to_owned(),
            chosen,
            matches,
        }
    }

    /// Whether instructions that do not match are searched for.
    fn is_inverted(&self) -> bool {
        self.not && !matches!(self.output, Output::Files | Output::Functions)
    }

    /// Searches the functions that are candidates.
    fn functions(
        &self,
        file: &str,
        module: &Module,
        mnemonics: &MatchingMnemonics,
        is_candidate: &[bool],
        matches: &mut Matches,
    ) {
        let is_candidate =
            |id: ptx_ir::FuncId| is_candidate.get(id.as_u32() as usize) == Some(&true);
        visit(file, module, is_candidate, |function| {
            if let Some(query) = &self.query {
                query.enter(function);
            }
            self.function(function, mnemonics, matches);
            match matches {
                Matches::File(true) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
    }

    fn function(
        &self,
        function: &InFunction<'_>,
        mnemonics: &MatchingMnemonics,
        matches: &mut Matches,
    ) {
        for (stmt, statement) in function.body.statements() {
            let site: Site<'_, '_> = match statement {
                Statement::Inst(inst) => function.site(stmt, inst),
                Statement::Opaque(opaque) => function.unrecognized(stmt, opaque),
                _ => continue,
            };
            let is_match = mnemonics.matches(&site)
                && self.query.as_ref().is_none_or(|query| query.holds(&site));
            if is_match == self.is_inverted() {
                continue;
            }
            match matches {
                Matches::Lines(hits) => hits.push(Line::new(&site)),
                Matches::Json(hits) => hits.push(JsonHit::new(&site)),
                Matches::Count(count) => *count += 1,
                Matches::File(is_listed) => {
                    *is_listed = true;
                    return;
                }
                Matches::Functions(names) => {
                    names.push(clean(function.name()).into_owned());
                    return;
                }
            }
        }
    }
}

/// The mnemonics that match the pattern. Each mnemonic of an instruction is compared with the pattern once, however often it occurs.
struct MatchingMnemonics {
    /// For each signature, whether it matches.
    signatures: Vec<bool>,
    pattern: WildMatch,
}

impl MatchingMnemonics {
    fn matches(&self, site: &Site<'_, '_>) -> bool {
        match site.function.body.inst(site.inst) {
            Some(inst) => self.has_signature(inst.sig),
            None => self.pattern.matches(site.mnemonic()),
        }
    }

    fn has_signature(&self, sig: SigId) -> bool {
        self.signatures.get(sig.as_u32() as usize) == Some(&true)
    }

    /// Whether a body may have a match.
    fn may_match(&self, body: &Body) -> bool {
        let mut insts = body.inst_table().values();
        !body.opaques().is_empty() || insts.any(|inst| self.has_signature(inst.sig))
    }
}
