//! The context of all rules: the module, the version and target for which it is checked, and the findings.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::OnceCell;

use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use ptx_ir::ConstKind;
use ptx_ir::raw::query::Environment;
use ptx_ir::{Body, Diagnostic, FuncId, Module, Operand, OperandPool, StmtId};
use ptx_isa::{PtxVersion, TargetOption};
use smallvec::SmallVec;

use crate::finding::Finding;
use crate::location::Location;
use crate::problem::Problem;
use crate::problem::feature::Feature;
use crate::render::Renderer;

/// A module that is checked.
pub(crate) struct Context<'m> {
    pub(crate) module: &'m Module,
    pub(crate) environment: Environment,
    /// Computed on first use: linear in the items of the module.
    independent_textures: OnceCell<bool>,
    findings: Vec<Finding>,
    /// The text of the current statement if an edit changed or inserted it.
    edited_text: Option<Rc<[u8]>>,
    features: IndexMap<Feature, FeatureUses, DefaultHashBuilder>,
    /// The function whose header or body is checked.
    function: Option<FuncId>,
}

/// The uses of a feature that not all versions and targets have.
#[derive(Default)]
pub(crate) struct FeatureUses(Vec<FeatureUse>);

impl FeatureUses {
    /// The uses in the order in which they were found.
    pub(crate) fn all(&self) -> &[FeatureUse] {
        &self.0
    }
}

/// A use of a feature, and the function that contains it.
pub(crate) struct FeatureUse {
    pub(crate) location: Location,
    pub(crate) function: Option<FuncId>,
}

impl<'m> Context<'m> {
    pub(crate) fn new(module: &'m Module, environment: Environment) -> Self {
        Self {
            module,
            environment,
            independent_textures: OnceCell::new(),
            findings: Vec::new(),
            edited_text: None,
            features: IndexMap::default(),
            function: None,
        }
    }

    pub(crate) fn version(&self) -> PtxVersion {
        self.environment.version()
    }

    /// Returns `true` if `.target` has `texmode_independent`.
    pub(crate) fn independent_textures(&self) -> bool {
        *self.independent_textures.get_or_init(|| {
            self.module
                .has_target_option(TargetOption::TexmodeIndependent)
        })
    }

    /// Begins to check the header or the body of a function, or, with `None`, what is outside of functions.
    pub(crate) fn enter_function(&mut self, function: Option<FuncId>) {
        self.function = function;
    }

    /// Begins to check a statement. Only an edited statement is printed.
    pub(crate) fn enter_statement(&mut self, body: &Body, stmt: StmtId) {
        let is_edited = body
            .edits()
            .is_some_and(|edits| !edits.was_read(stmt) || edits.change(stmt).is_some());
        self.edited_text =
            is_edited.then(|| Rc::from(&*ptx_print::verbatim_statement(self.module, body, stmt)));
    }

    pub(crate) fn findings_mut(&mut self) -> &mut Vec<Finding> {
        &mut self.findings
    }

    /// The number of problems so far.
    pub(crate) fn problems(&self) -> usize {
        self.findings.len()
    }

    /// Adds a problem.
    pub(crate) fn report(
        &mut self,
        location: Location,
        problem: impl Into<Problem>,
    ) -> &mut Finding {
        self.findings.push(Finding {
            problem: problem.into(),
            location,
            labels: SmallVec::new(),
            repeats: Vec::new(),
            repair: None,
            edited_text: self.edited_text.clone(),
        });
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Records that the module uses a feature, and reports it if it is not available.
    pub(crate) fn require(&mut self, location: Location, feature: Feature) {
        if feature.is_everywhere() {
            return;
        }
        let function = self.function;
        let uses = self.features.entry(feature).or_default();
        uses.0.push(FeatureUse { location, function });
        if !feature.is_in(self.environment) {
            self.report(location, feature);
        }
    }

    /// Renders the findings.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        Renderer::new(self.module, self.environment).diagnostics(&self.findings)
    }

    /// Returns the used features that not all versions and targets have, in the order of their first use.
    pub(crate) fn into_features(self) -> impl Iterator<Item = (Feature, FeatureUses)> {
        self.features.into_iter()
    }
}

/// Returns the kind of a constant operand.
pub(crate) fn constant_kind(pool: &OperandPool, operand: Operand) -> Option<ConstKind> {
    match operand {
        Operand::Small(_) => Some(ConstKind::Signed),
        Operand::Imm(id) => Some(pool.immediate(id)?.value.kind()),
        _ => None,
    }
}
