//! On which targets a module is legal, from which version on, and what requires that.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use ptx_ir::query::Queries;
use ptx_ir::{Body, FuncId, InstId, Module, SigId, Span, Statement};
use ptx_isa::{InstQuery, PtxVersion, Target, TargetSet};

use crate::availability::Availability;
use crate::context::Context;
use crate::locate::Locator;
use crate::problem::feature::Feature;
use crate::{Options, body, module_rules};

/// Something in a module that not every version and target has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reason {
    what: String,
    span: Span,
    count: usize,
    availability: Availability,
}

impl Reason {
    /// A mnemonic, or a description of a declaration or directive.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    ptx_isa::getters! {
        const;
        /// The first occurrence, counted from the start of the source.
        span: Span = span;
        /// The number of occurrences in the module.
        count: usize = count;
        /// The versions and targets that have it.
        availability: &Availability = &availability;
    }
}

/// The requirements of a module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requirements {
    module: Availability,
    functions: Vec<(FuncId, Availability)>,
    reasons: Vec<Reason>,
    /// The uses in the order of the functions.
    uses: Vec<Use>,
}

/// The first use of an instruction in a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Use {
    function: FuncId,
    /// The index of the reason.
    reason: u32,
    span: Span,
}

impl Requirements {
    /// The versions and targets for which the whole module is legal.
    #[must_use]
    pub const fn module(&self) -> &Availability {
        &self.module
    }

    ptx_isa::getters! {
        /// The versions and targets for which each function that the module defines is legal, in the order of the source.
        functions: &[(FuncId, Availability)] = &functions;
        /// The features that not every version and target has, in the order of the source.
        reasons: &[Reason] = &reasons;
    }

    /// The requirements of a function, each with its first use in the function, in the order of the source.
    ///
    /// ```
    /// let text = b".version 8.7 .target sm_90 .entry a() { griddepcontrol.wait; ret; } .entry b() { griddepcontrol.wait; ret; }";
    /// let module = ptx_parse::parse(text).module;
    /// let needs = ptx_verify::requires(&module);
    /// let mut uses = needs.reasons_of(module.function("b").unwrap());
    /// let (reason, span) = uses.next().unwrap();
    /// assert_eq!((reason.what(), reason.count(), span.start), ("griddepcontrol.wait", 2, 81));
    /// assert!(uses.next().is_none());
    /// ```
    pub fn reasons_of(&self, function: FuncId) -> impl Iterator<Item = (&Reason, Span)> {
        let first = self.uses.partition_point(|u| u.function < function);
        self.uses
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |u| u.function == function)
            .filter_map(|u| Some((self.reasons.get(u.reason as usize)?, u.span)))
    }

    /// The requirements that rule out a target, or an older version there than [`Availability::lowest`] gives.
    pub fn forcing(&self, target: Target) -> impl Iterator<Item = &Reason> {
        let lowest = self.module.lowest(target);
        let first = target.min_version();
        self.reasons.iter().filter(move |r| {
            let required = r.availability.lowest(target);
            required.is_none() || required == lowest && required > Some(first)
        })
    }
}

/// Determines what a module requires. What is not legal anywhere requires nothing. Linear in the module.
///
/// ```
/// use ptx_isa::{PtxVersion, Target};
/// let parsed = ptx_parse::parse(b".version 8.7 .target sm_90 .address_size 64 .entry k() { griddepcontrol.wait; ret; }");
/// let needs = ptx_verify::requires(&parsed.module);
/// assert_eq!(needs.module().lowest(Target::Sm90), Some(PtxVersion::new(7, 8)));
/// assert_eq!(needs.module().lowest(Target::Sm80), None);
/// let forcing: Vec<&str> = needs.forcing(Target::Sm80).map(|r| r.what()).collect();
/// assert_eq!(forcing, ["griddepcontrol.wait"]);
/// ```
#[must_use]
pub fn requires(module: &Module) -> Requirements {
    let mut collector = Collector {
        module,
        queries: Queries::new(module),
        locator: Locator::new(module),
        reasons: IndexMap::default(),
        last_seen: Vec::new(),
        uses: Vec::new(),
    };
    let environment = Options::default().environment(module);
    let mut context = Context::new(module, environment);
    module_rules::check(&mut context);
    let mut functions = Vec::new();
    for (id, _, body) in module.definitions() {
        functions.push((id, collector.body(&mut context, id, body)));
    }
    collector.features(context);
    let (reasons, uses) = collector.finished();
    let mut availability = Availability::everywhere();
    for reason in &reasons {
        availability.restrict(&reason.availability);
    }
    Requirements {
        module: availability,
        functions,
        reasons,
        uses,
    }
}

/// The properties in which equal requirements agree.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Instruction(SigId, Availability),
    Feature(Feature),
}

struct Collector<'m> {
    module: &'m Module,
    /// The index of the requirement of each mnemonic and shape; `None` for what is not legal.
    queries: Queries<Option<u32>>,
    locator: Locator<'m>,
    reasons: IndexMap<Key, Reason, DefaultHashBuilder>,
    /// The function in which each instruction was last seen.
    last_seen: Vec<Option<FuncId>>,
    /// The requirements of instructions; the reasons are numbered as they were found.
    uses: Vec<Use>,
}

impl<'m> Collector<'m> {
    /// Adds what the instructions of a body require; the rules for its other statements add to the context.
    fn body(
        &mut self,
        context: &mut Context<'m>,
        function: FuncId,
        body: &'m Body,
    ) -> Availability {
        self.queries.enter(self.module, function, body);
        let mut availability = Availability::everywhere();
        for (stmt, statement) in body.statements() {
            let span = body.source_span(stmt);
            let Statement::Inst(id) = statement else {
                body::check(context, body, statement, span);
                continue;
            };
            let Some(index) = self.instruction(body, id) else {
                continue;
            };
            let Some((_, reason)) = self.reasons.get_index_mut(index as usize) else {
                continue;
            };
            if reason.count == 0 {
                reason.span = span;
            }
            reason.count += 1;
            if self.last_seen.len() <= index as usize {
                self.last_seen.resize(index as usize + 1, None);
            }
            if let Some(last) = self.last_seen.get_mut(index as usize)
                && last.replace(function) != Some(function)
            {
                availability.restrict(&reason.availability);
                self.uses.push(Use {
                    function,
                    reason: index,
                    span,
                });
            }
        }
        availability
    }

    fn instruction(&mut self, body: &Body, id: InstId) -> Option<u32> {
        let Self {
            module,
            queries,
            reasons,
            ..
        } = self;
        let sig = body.inst(id)?.sig;
        let operands = body.operands(id);
        queries.answer(module, body, sig, operands, |query| {
            let availability = availability(query)?;
            let key = Key::Instruction(sig, availability.clone());
            let entry = reasons.entry(key);
            let index = entry.index() as u32;
            entry.or_insert_with(|| Reason {
                what: module.signature(sig).text().to_string(),
                span: Span::default(),
                count: 0,
                availability,
            });
            Some(index)
        })?
    }

    /// Adds the features that the rules found.
    fn features(&mut self, context: Context<'_>) {
        for (feature, uses) in context.into_features() {
            let reason = Reason {
                what: feature.to_string(),
                span: self.locator.span(uses.first),
                count: uses.count,
                availability: Availability::of(|v| feature.targets(v)),
            };
            self.reasons.insert(Key::Feature(feature), reason);
        }
    }

    /// The features that not every version and target has, in the order of the source, and their uses.
    fn finished(self) -> (Vec<Reason>, Vec<Use>) {
        let everywhere = Availability::everywhere();
        let mut numbers = vec![None; self.reasons.len()];
        let mut reasons: Vec<_> = self
            .reasons
            .into_values()
            .enumerate()
            .filter(|(_, r)| r.availability != everywhere)
            .collect();
        reasons.sort_by_key(|(_, r)| r.span.start);
        for (new, (old, _)) in reasons.iter().enumerate() {
            if let Some(number) = numbers.get_mut(*old) {
                *number = Some(new as u32);
            }
        }
        let mut uses = self.uses;
        uses.retain_mut(|u| {
            let number = numbers.get(u.reason as usize).copied().flatten();
            u.reason = number.unwrap_or_default();
            number.is_some()
        });
        (
            reasons.into_iter().map(|(_, reason)| reason).collect(),
            uses,
        )
    }
}

/// The versions and targets for which an instruction is legal; `None` if it is legal for no version and target.
pub(crate) fn availability(query: &InstQuery<'_>) -> Option<Availability> {
    let candidates = query.candidates();
    let legal: Vec<_> = candidates.filter(|s| s.violations().is_empty()).collect();
    let targets = |v: PtxVersion| {
        let all = legal.iter().map(|s| s.targets(v));
        all.fold(TargetSet::NONE, TargetSet::or)
    };
    (!legal.is_empty()).then(|| Availability::of(targets))
}
