//! Searches a file.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ptx_ir::{Body, Module, SigId, Statement};
use wildmatch::WildMatch;

use super::hit::{JsonHit, Line};
use crate::functions::{Chosen, Functions};
use crate::query::{InFunction, Query, Site, visit};
use ptx_report::clean;

/// What is searched for.
pub(super) struct Search<'a> {
    pub(super) pattern: &'a str,
    pub(super) query: Option<Query>,
    pub(super) not: bool,
    pub(super) functions: &'a Functions,
    pub(super) output: Output,
}

/// What is written of each file.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Output {
    Lines,
    Json,
    Count,
    Files,
    Functions,
}

/// What was found in a file.
pub(super) struct Found {
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

impl Found {
    /// Whether anything was found.
    pub(super) fn any(&self) -> bool {
        match &self.matches {
            Matches::Lines(hits) => !hits.is_empty(),
            Matches::Json(hits) => !hits.is_empty(),
            Matches::Count(count) => *count > 0,
            Matches::File(listed) => *listed,
            Matches::Functions(names) => !names.is_empty(),
        }
    }
}

impl Search<'_> {
    pub(super) fn file(&self, file: &str, module: &Module) -> Found {
        let chosen = self.functions.choose(module);
        let mut matches = match self.output {
            Output::Lines => Matches::Lines(Vec::new()),
            Output::Json => Matches::Json(Vec::new()),
            Output::Count => Matches::Count(0),
            Output::Files => Matches::File(false),
            Output::Functions => Matches::Functions(Vec::new()),
        };
        let pattern = WildMatch::new(self.pattern);
        let ids = module.signatures().ids();
        let matching = ids.map(|id| pattern.matches(module.signature(id).text()));
        let matching = Matching {
            signatures: matching.collect(),
            pattern,
        };
        let wanted: Vec<bool> = module
            .functions()
            .ids()
            .map(|id| {
                let body = module.body(id).filter(|_| chosen.contains(id));
                body.is_some_and(|b| self.inverts() || matching.any(b))
            })
            .collect();
        if wanted.contains(&true) {
            self.functions(file, module, &matching, &wanted, &mut matches);
        }
        match &mut matches {
            Matches::File(listed) => *listed ^= self.not,
            Matches::Functions(names) if self.not => {
                let with: HashSet<String> = names.drain(..).collect();
                let all = module.definitions().filter(|(id, ..)| chosen.contains(*id));
                let all = all.map(|(_, f, _)| clean(module.name(f.name)).into_owned());
                names.extend(all.filter(|name| !with.contains(name)));
            }
            _ => {}
        }
        Found {
            file: file.to_owned(),
            chosen,
            matches,
        }
    }

    /// Whether instructions that do not match are searched for.
    fn inverts(&self) -> bool {
        self.not && !matches!(self.output, Output::Files | Output::Functions)
    }

    /// Searches the functions that are `wanted`.
    fn functions(
        &self,
        file: &str,
        module: &Module,
        matching: &Matching,
        wanted: &[bool],
        matches: &mut Matches,
    ) {
        let is_wanted = |id: ptx_ir::FuncId| wanted.get(id.as_u32() as usize) == Some(&true);
        visit(file, module, is_wanted, |function| {
            if let Some(query) = &self.query {
                query.enter(function);
            }
            self.function(function, matching, matches);
            match matches {
                Matches::File(true) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
    }

    fn function(&self, function: &InFunction<'_>, matching: &Matching, matches: &mut Matches) {
        for (stmt, statement) in function.body.statements() {
            let site: Site<'_, '_> = match statement {
                Statement::Inst(inst) => function.site(stmt, inst),
                Statement::Opaque(opaque) => function.unrecognized(stmt, opaque),
                _ => continue,
            };
            let holds = || self.query.as_ref().is_none_or(|q| q.holds(&site));
            if (matching.has(&site) && holds()) == self.inverts() {
                continue;
            }
            match matches {
                Matches::Lines(hits) => hits.push(Line::new(&site)),
                Matches::Json(hits) => hits.push(JsonHit::new(&site)),
                Matches::Count(count) => *count += 1,
                Matches::File(found) => {
                    *found = true;
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

/// Which mnemonics match the pattern. Each of an instruction is compared with it once, however often it occurs.
struct Matching {
    signatures: Vec<bool>,
    pattern: WildMatch,
}

impl Matching {
    fn has(&self, site: &Site<'_, '_>) -> bool {
        match site.function.body.inst(site.inst) {
            Some(inst) => self.has_signature(inst.sig),
            None => self.pattern.matches(site.mnemonic()),
        }
    }

    fn has_signature(&self, sig: SigId) -> bool {
        self.signatures.get(sig.as_u32() as usize) == Some(&true)
    }

    /// Whether a body may have a match.
    fn any(&self, body: &Body) -> bool {
        let mut insts = body.inst_table().values();
        !body.opaques().is_empty() || insts.any(|inst| self.has_signature(inst.sig))
    }
}
