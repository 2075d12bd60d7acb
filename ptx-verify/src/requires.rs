//! On which targets a module is legal, from which version on, and what asks for that.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ptx_ir::operand_shape::{BodyTypes, ShapeCache, ShapeKey, Shapes, SymbolTypes};
use ptx_ir::{Body, FuncId, InstId, Module, SigId, Span, Statement};
use ptx_isa::{Arch, InstQuery, Modifier, PtxVersion, Target, TargetSet};

use crate::context::{Context, Requirement};
use crate::instruction::Instructions;
use crate::{Environment, Options, body, incremental};

/// The targets on which something is there, for each version that is known in full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Availability {
    targets: Vec<TargetSet>,
}

impl Availability {
    /// There everywhere and always.
    fn everywhere() -> Self {
        Self::of(|_| TargetSet::ALL)
    }

    fn of(targets: impl Fn(PtxVersion) -> TargetSet) -> Self {
        Self {
            targets: versions().map(targets).collect(),
        }
    }

    fn restrict(&mut self, other: &Self) {
        for (own, other) in self.targets.iter_mut().zip(&other.targets) {
            *own = own.and(*other);
        }
    }

    /// The first version that has it on a target; `None` where none has.
    pub fn lowest(&self, target: Target) -> Option<PtxVersion> {
        let mut all = versions().zip(&self.targets);
        let known = |v: PtxVersion| {
            target.min_version() <= v && target.until().is_none_or(|until| v < until)
        };
        let first = all.find(|(v, targets)| known(*v) && targets.contains(target));
        first.map(|(v, _)| v)
    }

    /// Every target that has it, with the first version there.
    pub fn pairs(&self) -> impl Iterator<Item = (Target, PtxVersion)> + '_ {
        let targets = Target::ALL.iter().copied();
        targets.filter_map(|t| Some((t, self.lowest(t)?)))
    }

    /// The least of every line of descent: the first plain target, then the targets of families and of single chips
    /// that no other of these covers from the same version on.
    pub fn minimal(&self) -> Vec<(Target, PtxVersion)> {
        let mut found: Vec<(Target, PtxVersion)> = Vec::new();
        for arch in [Arch::Plain, Arch::Family, Arch::Exact] {
            let mut own: Vec<_> = self.pairs().filter(|(t, _)| t.arch() == arch).collect();
            own.sort_by_key(|(t, _)| t.number());
            for (target, version) in own {
                if !found
                    .iter()
                    .any(|(t, v)| target.implies(*t) && *v <= version)
                {
                    found.push((target, version));
                }
            }
        }
        found
    }
}

/// The versions whose instructions are known in full, upwards.
fn versions() -> impl Iterator<Item = PtxVersion> {
    let known = PtxVersion::KNOWN.iter().copied();
    known.filter(|v| *v <= PtxVersion::CURRENT)
}

/// Something in a module that not every version and target has.
#[derive(Clone, Debug)]
pub struct Reason {
    /// What it is: a mnemonic, or a word for it.
    pub what: String,
    /// Where it stands first, from the start of the source.
    pub span: Span,
    /// How often it stands in the module.
    pub count: usize,
    /// Where it is there.
    pub availability: Availability,
}

/// What a module needs.
#[derive(Clone, Debug)]
pub struct Requirements {
    /// Where the whole module is legal.
    pub module: Availability,
    /// Where each function that is defined here is.
    pub functions: Vec<(FuncId, Availability)>,
    /// What asks for something, in the order of the source.
    pub reasons: Vec<Reason>,
}

impl Requirements {
    /// What keeps the module from a target, or from an older version there than [`Availability::lowest`] says.
    pub fn forcing(&self, target: Target) -> impl Iterator<Item = &Reason> {
        let lowest = self.module.lowest(target);
        let floor = target.min_version();
        self.reasons.iter().filter(move |r| {
            let own = r.availability.lowest(target);
            own.is_none() || own == lowest && own > Some(floor)
        })
    }
}

/// Works out what a module needs; what is not legal anywhere asks for nothing.
///
/// ```
/// use ptx_isa::{PtxVersion, Target};
/// let parsed = ptx_parse::parse(b".version 8.7 .target sm_90 .address_size 64 .entry k() { griddepcontrol.wait; ret; }");
/// let needs = ptx_verify::requires(&parsed.module);
/// assert_eq!(needs.module.lowest(Target::Sm90), Some(PtxVersion::new(7, 8)));
/// assert_eq!(needs.module.lowest(Target::Sm80), None);
/// let forcing: Vec<&str> = needs.forcing(Target::Sm80).map(|r| r.what.as_str()).collect();
/// assert_eq!(forcing, ["griddepcontrol.wait"]);
/// ```
pub fn requires(module: &Module) -> Requirements {
    let mut collector = Collector {
        module,
        symbols: SymbolTypes::new(module),
        types: BodyTypes::new(),
        key: ShapeKey::new(),
        known: ShapeCache::new(),
        reasons: Vec::new(),
    };
    let mut whole = Availability::everywhere();
    let mut functions = Vec::new();
    for (id, _, body) in module.definitions() {
        let own = collector.body(id, body);
        whole.restrict(&own);
        functions.push((id, own));
    }
    let mut reasons = collector.reasons;
    for need in outside_of_instructions(module) {
        let reason = module_reason(need);
        whole.restrict(&reason.availability);
        match reasons.iter_mut().find(|r| r.what == reason.what) {
            Some(same) => same.count += 1,
            None => reasons.push(reason),
        }
    }
    let everywhere = Availability::everywhere();
    reasons.retain(|r| r.availability != everywhere);
    reasons.sort_by_key(|r| r.span.start);
    Requirements {
        module: whole,
        functions,
        reasons,
    }
}

/// What the rest of the module needs.
fn outside_of_instructions(module: &Module) -> Vec<Requirement> {
    let mut context = Context::new(module, Environment::new(module, &Options::default()));
    context.needs = Some(Vec::new());
    incremental::module_rules(&mut context);
    let mut instructions = Instructions::new(module);
    for (id, _, of_function) in module.definitions() {
        instructions.enter(module, id, of_function);
        body::check(&mut context, &mut instructions, of_function);
    }
    context.needs.unwrap_or_default()
}

fn module_reason(need: Requirement) -> Reason {
    let since = need.target.map_or(TargetSet::ALL, TargetSet::from);
    let until = need.until.map_or(TargetSet::NONE, TargetSet::from);
    let availability = Availability::of(|v| match v < need.version {
        true => TargetSet::NONE,
        false => since.and(until.not()),
    });
    Reason {
        what: need.what,
        span: need.span,
        count: 1,
        availability,
    }
}

struct Collector<'m> {
    module: &'m Module,
    symbols: SymbolTypes,
    types: BodyTypes,
    key: ShapeKey,
    /// The reason of each mnemonic and shape; `None` for what is not legal.
    known: ShapeCache<Option<u32>>,
    reasons: Vec<Reason>,
}

impl<'m> Collector<'m> {
    fn body(&mut self, function: FuncId, body: &'m Body) -> Availability {
        self.types.fill(self.module, function, body);
        let mut whole = Availability::everywhere();
        let mut seen = alloc::vec![false; self.reasons.len()];
        for (stmt, statement) in body.statements() {
            let Statement::Inst(id) = statement else {
                continue;
            };
            let Some(inst) = body.inst(id) else {
                continue;
            };
            let Some(index) = self.reason(body, id, inst.sig) else {
                continue;
            };
            let Some(reason) = self.reasons.get_mut(index as usize) else {
                continue;
            };
            if reason.count == 0 {
                reason.span = body.source_span(stmt);
            }
            reason.count += 1;
            seen.resize(seen.len().max(index as usize + 1), false);
            if let Some(seen) = seen.get_mut(index as usize)
                && !core::mem::replace(seen, true)
            {
                whole.restrict(&reason.availability);
            }
        }
        whole
    }

    fn reason(&mut self, body: &Body, id: InstId, sig: SigId) -> Option<u32> {
        let shapes = Shapes::new(body, &self.symbols, &self.types);
        if !shapes.write(id, true, &mut self.key) {
            return None;
        }
        if let Some(known) = self.known.get(sig, &self.key) {
            return known;
        }
        let found = self.ask(sig).map(|availability| {
            let what = self.module.signature(sig).text();
            let same = |r: &Reason| r.what == what && r.availability == availability;
            let place = self
                .reasons
                .iter()
                .position(same)
                .unwrap_or(self.reasons.len());
            if place == self.reasons.len() {
                self.reasons.push(Reason {
                    what: what.to_string(),
                    span: Span::default(),
                    count: 0,
                    availability,
                });
            }
            place as u32
        });
        self.known.insert(sig, &self.key, found);
        found
    }

    fn ask(&self, sig: SigId) -> Option<Availability> {
        let signature = self.module.signature(sig);
        let opcode = signature.opcode().filter(|_| signature.is_known())?;
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        self.key.read(|operands, in_entry| {
            let request = InstQuery {
                opcode,
                modifiers: &modifiers,
                operands,
                in_entry,
            };
            let legal: Vec<_> = request
                .candidates()
                .filter(|s| s.problems.is_empty())
                .collect();
            (!legal.is_empty()).then(|| {
                Availability::of(|v| {
                    let all = legal.iter().map(|s| s.targets(v));
                    all.fold(TargetSet::NONE, TargetSet::or)
                })
            })
        })
    }
}
