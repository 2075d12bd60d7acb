//! Declarations of variables: space, type, vector, dimensions, alignment, attributes, linkage. Manual 5.1 to 5.4, 11.6.

use ptx_ir::{
    Attribute, Declarations, Declarator, Linkage, Operand, OperandPool, PrimaryMap, Span, Var,
    VarDecl, VarId,
};
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace, TypeKind};

use crate::context::Context;
use crate::directive::available;
use crate::initializer;
use crate::layout::check_alignment;
use crate::location::{Location, Part};
use crate::problem::feature::Feature;
use crate::problem::variable::VariableProblem;

/// The tables that contain a declaration: those of the module or of a body.
#[derive(Copy, Clone)]
pub(crate) struct Tables<'m> {
    pub(crate) declarations: &'m Declarations,
    pub(crate) pool: &'m OperandPool,
    /// The variables of the body that contains the declaration.
    pub(crate) vars: Option<&'m PrimaryMap<VarId, Var>>,
}

/// The place of a declaration.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Module,
    Body,
}

/// Checks a declaration statement with a known type.
struct Checker<'c, 'm> {
    context: &'c mut Context<'m>,
    tables: Tables<'c>,
    decl: &'c VarDecl,
    ty: ScalarType,
    scope: Scope,
    span: Span,
}

/// Checks one declaration statement.
pub(crate) fn check(
    context: &mut Context<'_>,
    tables: Tables<'_>,
    decl: &VarDecl,
    scope: Scope,
    span: Span,
) {
    let Some(ty) = decl.ty.known() else { return };
    let declarators = decl.declarators.of(&tables.declarations.declarators);
    if scope == Scope::Body
        && is_plain(decl, ty)
        && declarators
            .iter()
            .all(|declarator| declarator.dims.is_empty() && declarator.init == Operand::Absent)
    {
        return;
    }
    let problems_before = context.problems();
    let mut checker = Checker {
        context,
        tables,
        decl,
        ty,
        scope,
        span,
    };
    checker.check_declaration();
    if checker.context.problems() > problems_before {
        return;
    }
    for declarator in declarators {
        let problems_before = checker.context.problems();
        checker.check_declarator(declarator);
        if checker.context.problems() == problems_before && declarator.init != Operand::Absent {
            initializer::check(checker.context, tables, decl, ty, declarator, span);
        }
    }
}

/// Returns `true` if a declaration is one of legal registers without any properties, as nearly all declarations are.
fn is_plain(decl: &VarDecl, ty: ScalarType) -> bool {
    decl.space == StateSpace::Reg
        && decl.vector == 1
        && decl.align == Operand::Absent
        && decl.linkage.is_none()
        && decl.attributes.len == 0
        && ty.is_register_type()
        && Feature::Variable(ty).is_everywhere()
}

impl<'c> Checker<'c, '_> {
    fn keyword_location(&self, text: &'static str) -> Location {
        Location::keyword(self.span, text)
    }

    fn space_location(&self) -> Location {
        self.keyword_location(self.decl.space.text())
    }

    fn type_location(&self) -> Location {
        self.keyword_location(self.ty.text())
    }

    fn declarators(&self) -> &'c [Declarator] {
        self.decl
            .declarators
            .of(&self.tables.declarations.declarators)
    }

    /// Checks the properties that all names of the declaration share.
    fn check_declaration(&mut self) {
        let problem = self.wrong_space().or_else(|| self.wrong_type());
        if let Some((location, problem)) = problem {
            self.context.report(location, problem);
            return;
        }
        if self.decl.space == StateSpace::Tex {
            return;
        }
        self.check_vector();
        let (space, ty) = (self.decl.space, self.ty);
        let is_opaque = ty.kind() == TypeKind::Opaque;
        if is_opaque && let Some(problem) = self.wrong_opaque() {
            self.context.report(self.type_location(), problem);
            return;
        }
        self.context
            .require(self.type_location(), Feature::Variable(ty));
        let linkage = match self.decl.linkage {
            Some(Linkage::Weak) => Some(Directive::Weak),
            Some(Linkage::Common) => Some(Directive::Common),
            _ => None,
        };
        let attribute = (self.decl.attributes.len > 0).then_some(Directive::Attribute);
        for directive in [linkage, attribute].into_iter().flatten() {
            available(
                self.context,
                directive,
                self.keyword_location(directive.text()),
            );
        }
        let is_parameter_type = self.decl.vector <= 1 && ty.is_parameter_type();
        if space == StateSpace::Param && !is_opaque && !is_parameter_type {
            let problem = match self.decl.vector {
                0 | 1 => VariableProblem::ParamType(ty),
                len => VariableProblem::ParamVector(len),
            };
            self.context.report(self.type_location(), problem);
        } else if self.scope == Scope::Module && self.is_for_bodies() {
            self.context
                .report(self.space_location(), VariableProblem::BodySpace(space));
        }
        self.check_alignment();
        self.check_attributes();
        self.check_common();
    }

    /// Returns the problem of the space, the bank or the linkage, if there is one.
    fn wrong_space(&self) -> Option<(Location, VariableProblem)> {
        let version = self.context.version();
        if self.decl.bank != Operand::Absent && version >= PtxVersion::new(2, 2) {
            return Some((self.space_location(), VariableProblem::ConstBank));
        }
        if let Some(problem) = self.wrong_bank(version) {
            return Some((self.space_location(), problem));
        }
        if self.decl.space == StateSpace::Sreg {
            return Some((self.space_location(), VariableProblem::SpecialRegister));
        }
        if let Some(linkage) = self.decl.linkage.filter(|_| self.scope == Scope::Body) {
            let location = self.keyword_location(linkage.directive().text());
            return Some((location, VariableProblem::LocalLinkage(linkage)));
        }
        if self.decl.space != StateSpace::Tex {
            return None;
        }
        let is_removed = Directive::Tex.until().is_some_and(|until| until <= version);
        let problem = if !matches!(self.ty, ScalarType::U32 | ScalarType::U64) {
            VariableProblem::TexType(self.ty)
        } else if self
            .declarators()
            .iter()
            .any(|declarator| !self.tables.pool.slice(declarator.dims).is_empty())
        {
            VariableProblem::TexArray
        } else if self.scope == Scope::Body {
            VariableProblem::TexInBody
        } else if is_removed {
            VariableProblem::TexRemoved
        } else {
            return None;
        };
        Some((self.space_location(), problem))
    }

    /// Returns the problem of a bank of constant memory. Before PTX 2.2, banks 1 to 10 contained the external arrays without a size, and nothing else.
    fn wrong_bank(&self, version: PtxVersion) -> Option<VariableProblem> {
        if self.decl.space != StateSpace::Const || version >= PtxVersion::new(2, 2) {
            return None;
        }
        let bank = self.tables.pool.integer(self.decl.bank).unwrap_or(0);
        let is_extern = self.decl.linkage == Some(Linkage::Extern);
        let has_wrong_contents = self.declarators().iter().any(|declarator| {
            let first_dimension = self.tables.pool.slice(declarator.dims).first();
            let is_unsized = first_dimension == Some(&Operand::Absent);
            (is_extern && is_unsized) != (bank != 0)
        });
        if bank != 0 && version < PtxVersion::new(1, 5) {
            Some(VariableProblem::EarlyBank)
        } else if !(0..=10).contains(&bank) {
            Some(VariableProblem::BankNumber(bank))
        } else if has_wrong_contents {
            Some(match bank {
                0 => VariableProblem::NoBank,
                _ => VariableProblem::BankContents(bank),
            })
        } else {
            None
        }
    }

    /// Returns the problem of the type, if there is one.
    fn wrong_type(&self) -> Option<(Location, VariableProblem)> {
        let (space, ty) = (self.decl.space, self.ty);
        let problem = if ty.kind() != TypeKind::Opaque && !ty.is_register_type() {
            VariableProblem::InstructionType(ty)
        } else if ty == ScalarType::Pred && space != StateSpace::Reg {
            VariableProblem::PredicateSpace(space)
        } else {
            return None;
        };
        Some((self.type_location(), problem))
    }

    /// Returns the problem of a texture, sampler or surface, if there is one.
    fn wrong_opaque(&self) -> Option<VariableProblem> {
        let (space, ty) = (self.decl.space, self.ty);
        if self.scope == Scope::Body {
            Some(VariableProblem::OpaqueInBody(ty))
        } else if space != StateSpace::Global {
            Some(VariableProblem::OpaqueSpace(ty, space))
        } else if ty == ScalarType::Samplerref && !self.context.independent_textures() {
            Some(VariableProblem::UnifiedSampler)
        } else {
            None
        }
    }

    /// Returns `true` if variables of the space are declared in functions only. Before PTX 3.0, `.reg` and `.local` were allowed
    /// at module level.
    fn is_for_bodies(&self) -> bool {
        match self.decl.space {
            StateSpace::Param => true,
            StateSpace::Reg | StateSpace::Local => self.context.version() >= PtxVersion::new(3, 0),
            _ => false,
        }
    }

    fn check_vector(&mut self) {
        let (ty, len) = (self.ty, self.decl.vector);
        if len < 2 {
            return;
        }
        let bits = u32::from(len) * u32::from(ty.bits());
        let problem = if ty.kind() == TypeKind::Opaque || ty == ScalarType::Pred {
            VariableProblem::VectorType(ty)
        } else if !matches!(len, 2 | 4) {
            VariableProblem::VectorLength(len)
        } else if bits > 128 {
            VariableProblem::VectorBits(len, ty, bits)
        } else {
            return;
        };
        let location = Location::part(self.span, Part::DotWord(".v"));
        self.context.report(location, problem);
    }

    fn check_attributes(&mut self) {
        let attributes = self.decl.attributes;
        for attribute in attributes.of(&self.tables.declarations.attributes) {
            let name = match attribute {
                Attribute::Managed => ".managed",
                Attribute::Unified(..) => ".unified",
                _ => continue,
            };
            let location = self.keyword_location(name);
            if let Attribute::Unified(..) = attribute {
                self.context.require(location, Feature::Unified);
            }
            if self.decl.space != StateSpace::Global {
                let problem = VariableProblem::AttributeSpace(name, self.decl.space);
                self.context.report(location, problem);
            }
        }
    }

    fn check_common(&mut self) {
        if self.decl.linkage != Some(Linkage::Common) {
            return;
        }
        let location = self.keyword_location(Directive::Common.text());
        if self.decl.space != StateSpace::Global {
            let problem = VariableProblem::CommonSpace(self.decl.space);
            self.context.report(location, problem);
        } else if self.ty.kind() == TypeKind::Opaque {
            self.context
                .report(location, VariableProblem::CommonType(self.ty));
        }
    }

    /// Checks one name of the declaration.
    fn check_declarator(&mut self, declarator: &Declarator) {
        let (pool, name) = (self.tables.pool, declarator.name);
        let dims = pool.slice(declarator.dims);
        let has_no_size = |dim: &Operand| *dim == Operand::Absent || pool.integer(*dim) == Some(0);
        let is_unsized = dims.first().is_some_and(has_no_size);
        let is_initialized = declarator.init != Operand::Absent;
        let is_extern = self.decl.linkage == Some(Linkage::Extern);
        let problem = if declarator.count != Operand::Absent && is_initialized {
            VariableProblem::RangeInitializer(name)
        } else if dims.iter().skip(1).any(has_no_size) {
            VariableProblem::EmptyDimension(name)
        } else if self.decl.space == StateSpace::Reg && !dims.is_empty() {
            VariableProblem::RegisterArray(name)
        } else if is_unsized && !is_extern && !is_initialized {
            VariableProblem::NoSize(name)
        } else {
            return;
        };
        self.context
            .report(Location::name(self.span, name), problem);
    }

    fn check_alignment(&mut self) {
        let Some(align) = self.tables.pool.integer(self.decl.align) else {
            return;
        };
        let location = Location::part(self.span, Part::After(Directive::Align.text()));
        check_alignment(self.context, align, location);
        if self.decl.space == StateSpace::Param && align > 128 && align.count_ones() == 1 {
            self.context
                .report(location, VariableProblem::ParameterAlignment(align));
        }
    }
}
