//! The requirements of a module: the targets on which it is legal, the first version for each, and the reasons.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use ptx_ir::raw::query::Queries;
use ptx_ir::{Body, FuncId, InstId, Module, Operand, SigId, Span, Statement};
use ptx_isa::internals::{InstQuery, TargetSet};
use ptx_isa::{PtxVersion, SpecialReg, Target};

use crate::Options;
use crate::availability::Availability;
use crate::context::Context;
use crate::locate::Locator;
use crate::problem::feature::Feature;
use crate::rules::{check_module, check_statement};

/// An instruction or feature in a module that not all versions and targets have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reason {
    what: String,
    /// The uses in the order of the source.
    spans: Vec<Span>,
    availability: Availability,
}

impl Reason {
    /// The mnemonic, with the special register that it reads if that has the requirement, or a description of the declaration or directive.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    ptx_isa::getters! {
        /// All occurrences in the order of the source, counted from its start.
        spans: &[Span] = &spans;
        /// The versions and targets that have the instruction or feature.
        availability: &Availability = &availability;
    }

    /// The first occurrence, counted from the start of the source.
    #[must_use]
    pub fn span(&self) -> Span {
        self.spans.first().copied().unwrap_or_default()
    }

    /// Whether this excludes a target, or versions of it before the lowest one where the rest is legal.
    fn forces(&self, target: Target, lowest: Option<PtxVersion>) -> bool {
        let required = self.availability.lowest(target);
        required.is_none() || required == lowest && required > Some(target.min_version())
    }

    /// The number of occurrences in the module.
    #[must_use]
    pub fn count(&self) -> usize {
        self.spans.len()
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
    illegal: Vec<Span>,
}

/// The first use of an instruction or feature in a function.
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
        /// The versions and targets for which the header and the body of each function that the module defines are legal, in the order of the source.
        /// What is outside of the function, such as the variables of the module that it names, is not counted.
        functions: &[(FuncId, Availability)] = &functions;
        /// The features that not all versions and targets have, in the order of the source.
        reasons: &[Reason] = &reasons;
        /// The instructions that are illegal for all versions and targets, in the order of the source. The requirements do not include them.
        illegal: &[Span] = &illegal;
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
        let first = self
            .uses
            .partition_point(|first_use| first_use.function < function);
        self.uses
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |first_use| first_use.function == function)
            .filter_map(|first_use| {
                Some((self.reasons.get(first_use.reason as usize)?, first_use.span))
            })
    }

    /// The requirements that exclude a target, or a version of it before [`Availability::lowest`].
    pub fn forcing(&self, target: Target) -> impl Iterator<Item = &Reason> {
        let lowest = self.module.lowest(target);
        self.reasons
            .iter()
            .filter(move |reason| reason.forces(target, lowest))
    }

    /// The requirements of a function like [`forcing`](Self::forcing), each with its first use in the function, in the order of the source.
    pub fn forcing_in(
        &self,
        function: FuncId,
        target: Target,
    ) -> impl Iterator<Item = (&Reason, Span)> {
        let availability = self.functions.iter().find(|(id, _)| *id == function);
        let lowest = availability.and_then(|(_, availability)| availability.lowest(target));
        self.reasons_of(function)
            .filter(move |(reason, _)| reason.forces(target, lowest))
    }
}

/// Returns the requirements of a module. Instructions that are illegal for all versions and targets are not included; [`Requirements::illegal`]
/// lists them. Linear in the module.
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
        illegal: Vec::new(),
    };
    let environment = Options::default().environment(module);
    let mut context = Context::new(module, environment);
    check_module(&mut context);
    for (id, _, body) in module.definitions() {
        context.enter_function(Some(id));
        collector.add_body(&mut context, id, body);
    }
    collector.add_features(context);
    let illegal = core::mem::take(&mut collector.illegal);
    let (reasons, uses) = collector.finish();
    let functions = module
        .definitions()
        .map(|(id, ..)| (id, availability_of(id, &reasons, &uses)))
        .collect();
    let mut availability = Availability::everywhere();
    for reason in &reasons {
        availability.restrict(&reason.availability);
    }
    Requirements {
        module: availability,
        functions,
        reasons,
        uses,
        illegal,
    }
}

/// Returns the versions and targets that have everything that a function uses. `uses` are in the order of the functions.
fn availability_of(function: FuncId, reasons: &[Reason], uses: &[Use]) -> Availability {
    let mut availability = Availability::everywhere();
    let first = uses.partition_point(|first_use| first_use.function < function);
    let uses = uses.iter().skip(first);
    for first_use in uses.take_while(|first_use| first_use.function == function) {
        if let Some(reason) = reasons.get(first_use.reason as usize) {
            availability.restrict(&reason.availability);
        }
    }
    availability
}

/// The identity of a requirement. Uses with equal keys are counted together.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Instruction(SigId, Option<SpecialReg>, Availability),
    Feature(Feature),
}

/// Collects the requirements of a module.
struct Collector<'m> {
    module: &'m Module,
    /// The index of the requirement of each mnemonic and shape; `None` for illegal ones.
    queries: Queries<Option<u32>>,
    locator: Locator<'m>,
    reasons: IndexMap<Key, Reason, DefaultHashBuilder>,
    /// The function in which each instruction was last seen.
    last_seen: Vec<Option<FuncId>>,
    /// The first uses of instructions in each function. Reasons are numbered by their index in `reasons`.
    uses: Vec<Use>,
    illegal: Vec<Span>,
}

impl<'m> Collector<'m> {
    /// Adds the requirements of the instructions of a body, and those of its other statements to the context.
    fn add_body(&mut self, context: &mut Context<'m>, function: FuncId, body: &'m Body) {
        self.queries.enter(self.module, function, body);
        for (stmt, statement) in body.statements() {
            let span = body.source_span(stmt);
            let Statement::Inst(id) = statement else {
                check_statement(context, body, statement, span);
                continue;
            };
            match self.requirement(body, id) {
                Some(index) => self.add_use(index, Some(function), span),
                None => self.illegal.push(span),
            }
        }
    }

    /// Adds a use of the requirement with an index.
    fn add_use(&mut self, index: u32, function: Option<FuncId>, span: Span) {
        if let Some((_, reason)) = self.reasons.get_index_mut(index as usize) {
            reason.spans.push(span);
        }
        let Some(function) = function else {
            return;
        };
        if self.last_seen.len() <= index as usize {
            self.last_seen.resize(index as usize + 1, None);
        }
        if let Some(last) = self.last_seen.get_mut(index as usize)
            && last.replace(function) != Some(function)
        {
            self.uses.push(Use {
                function,
                reason: index,
                span,
            });
        }
    }

    /// Returns the index of the requirement of an instruction.
    fn requirement(&mut self, body: &Body, id: InstId) -> Option<u32> {
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
            let register = special_register(body, operands);
            let key = Key::Instruction(sig, register, availability.clone());
            let entry = reasons.entry(key);
            let index = entry.index() as u32;
            let mnemonic = module.signature(sig).text();
            entry.or_insert_with(|| Reason {
                what: match register {
                    Some(register) => format!("{mnemonic} with {}", register.text()),
                    None => mnemonic.to_string(),
                },
                spans: Vec::new(),
                availability,
            });
            Some(index)
        })?
    }

    /// Adds the features that the rules required.
    fn add_features(&mut self, context: Context<'_>) {
        for (feature, uses) in context.into_features() {
            let entry = self.reasons.entry(Key::Feature(feature));
            let index = entry.index() as u32;
            entry.or_insert_with(|| Reason {
                what: feature.to_string(),
                spans: Vec::new(),
                availability: Availability::new(|v| feature.targets(v)),
            });
            for feature_use in uses.all() {
                let span = self.locator.span(feature_use.location);
                self.add_use(index, feature_use.function, span);
            }
        }
    }

    /// Returns the features that not all versions and targets have, in the order of the source, and their uses.
    fn finish(self) -> (Vec<Reason>, Vec<Use>) {
        let everywhere = Availability::everywhere();
        // By the old index.
        let mut new_indices = vec![None; self.reasons.len()];
        let mut reasons: Vec<_> = self
            .reasons
            .into_values()
            .enumerate()
            .filter(|(_, reason)| reason.availability != everywhere)
            .collect();
        for (_, reason) in &mut reasons {
            reason.spans.sort_by_key(|span| span.start);
        }
        reasons.sort_by_key(|(_, reason)| reason.span().start);
        for (new, (old, _)) in reasons.iter().enumerate() {
            if let Some(new_index) = new_indices.get_mut(*old) {
                *new_index = Some(new as u32);
            }
        }
        let mut uses = self.uses;
        uses.retain_mut(|first_use| {
            let index = new_indices
                .get(first_use.reason as usize)
                .copied()
                .flatten();
            first_use.reason = index.unwrap_or_default();
            index.is_some()
        });
        // The headers of all functions precede the bodies in `uses`, and features follow instructions. A feature of a header and a body occurs twice.
        uses.sort_by_key(|first_use| (first_use.function, first_use.span.start));
        let mut seen = vec![None; reasons.len()];
        uses.retain(|first_use| {
            seen.get_mut(first_use.reason as usize)
                .is_some_and(|last| last.replace(first_use.function) != Some(first_use.function))
        });
        (
            reasons.into_iter().map(|(_, reason)| reason).collect(),
            uses,
        )
    }
}

/// Returns the first special register among operands.
fn special_register(body: &Body, operands: &[Operand]) -> Option<SpecialReg> {
    operands.iter().find_map(|operand| {
        let operand = match operand {
            Operand::Component(_, register) => body.pool().get(*register),
            operand => *operand,
        };
        match operand {
            Operand::Special(register) => Some(register),
            _ => None,
        }
    })
}

/// Returns the versions and targets for which an instruction is legal; `None` if it is legal for no version and target.
pub(crate) fn availability(query: &InstQuery<'_>) -> Option<Availability> {
    let legal_forms: Vec<_> = query
        .candidates()
        .filter(|form| form.violations().is_empty())
        .collect();
    if legal_forms.is_empty() {
        return None;
    }
    Some(Availability::new(|version| {
        legal_forms
            .iter()
            .map(|form| form.targets(version))
            .fold(TargetSet::NONE, TargetSet::or)
    }))
}

/// The targets and versions that single instructions require. The answer for a mnemonic with operands of the same kinds and types
/// is computed once.
///
/// ```
/// use ptx_isa::{PtxVersion, Target};
/// let text = b".version 8.7 .target sm_90 .address_size 64 .entry k() { griddepcontrol.wait; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let (function, _, body) = module.definitions().next().expect("a kernel");
/// let (wait, _) = body.insts().next().expect("an instruction");
/// let mut requirements = ptx_verify::InstRequirements::new(&module);
/// requirements.enter(&module, function, body);
/// let minimal = requirements.minimal(&module, body, wait);
/// assert_eq!(minimal, [(Target::Sm90, PtxVersion::new(7, 8))]);
/// ```
pub struct InstRequirements {
    /// Indices into `minimal`; `None` for instructions that are illegal for all versions and targets.
    queries: Queries<Option<u32>>,
    minimal: Vec<Vec<(Target, PtxVersion)>>,
}

impl InstRequirements {
    /// Creates the requirements of the instructions of a module. Linear in its declarations.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        Self {
            queries: Queries::new(module),
            minimal: Vec::new(),
        }
    }

    /// Enters a function of the module: the next instructions are those of its body. Linear in its declarations.
    pub fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.queries.enter(module, function, body);
    }

    /// Returns the lowest target of each architecture family on which an instruction of the entered body is legal, with the first version
    /// there, as [`Availability::minimal`](crate::Availability::minimal) does. The result is empty if the instruction is illegal for all versions and
    /// targets.
    pub fn minimal(
        &mut self,
        module: &Module,
        body: &Body,
        inst: InstId,
    ) -> &[(Target, PtxVersion)] {
        let Some(sig) = body.inst(inst).map(|i| i.sig) else {
            return &[];
        };
        let (queries, minimal) = (&mut self.queries, &mut self.minimal);
        let index = queries.answer(module, body, sig, body.operands(inst), |query| {
            minimal.push(availability(query)?.minimal());
            Some(minimal.len() as u32 - 1)
        });
        index
            .flatten()
            .and_then(|index| minimal.get(index as usize))
            .map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for InstRequirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstRequirements").finish_non_exhaustive()
    }
}
