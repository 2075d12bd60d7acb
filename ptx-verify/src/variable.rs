//! Declarations of variables: space, type, vector, dimensions, alignment, attributes, linkage. Manual 5.1 to 5.4, 11.6.

use ptx_ir::{Attribute, Declarator, Linkage, Operand, OperandPool, Span, VarDecl};
use ptx_isa::{Directive, PtxVersion, ScalarType, StateSpace, TypeKind};

use crate::alignment::power_of_two;
use crate::context::Context;
use crate::directive::available;
use crate::initializer;
use crate::location::{Location, Part};
use crate::problem::feature::Feature;
use crate::problem::variable::VariableProblem;
use crate::variable_tables::Tables;

/// The place of a declaration.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Module,
    Body,
}

/// One declaration statement with a known type.
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
    if scope == Scope::Body && is_plain(decl, ty) {
        let simple = |d: &Declarator| d.dims.is_empty() && d.init == Operand::Absent;
        if declarators.iter().all(simple) {
            return;
        }
    }
    let before = context.problems();
    let mut checker = Checker {
        context,
        tables,
        decl,
        ty,
        scope,
        span,
    };
    checker.declaration();
    if checker.context.problems() > before {
        return;
    }
    for declarator in declarators {
        let before = checker.context.problems();
        checker.declarator(declarator);
        if checker.context.problems() == before && declarator.init != Operand::Absent {
            initializer::check(checker.context, tables, decl, ty, declarator, span);
        }
    }
}

/// Whether it declares registers without anything special, as nearly all declarations do.
fn is_plain(decl: &VarDecl, ty: ScalarType) -> bool {
    decl.space == StateSpace::Reg
        && decl.vector == 1
        && decl.align == Operand::Absent
        && decl.linkage.is_none()
        && decl.attributes.len == 0
        && ty.is_register_type()
        && Feature::Variable(ty).is_everywhere()
}

impl Checker<'_, '_> {
    fn keyword(&self, text: &'static str) -> Location {
        Location::keyword(self.span, text)
    }

    fn at_space(&self) -> Location {
        self.keyword(self.decl.space.text())
    }

    fn at_type(&self) -> Location {
        self.keyword(self.ty.text())
    }

    /// Checks what all names of the declaration have in common.
    fn declaration(&mut self) {
        let problem = self.wrong_space().or_else(|| self.wrong_type());
        if let Some((location, problem)) = problem {
            self.context.report(location, problem);
            return;
        }
        if self.decl.space == StateSpace::Tex {
            return;
        }
        self.vector();
        let (space, ty) = (self.decl.space, self.ty);
        let opaque = ty.kind() == TypeKind::Opaque;
        if let Some(problem) = self.wrong_opaque().filter(|_| opaque) {
            self.context.report(self.at_type(), problem);
            return;
        }
        self.context.require(self.at_type(), Feature::Variable(ty));
        let directive = match self.decl.linkage {
            Some(Linkage::Weak) => Some(Directive::Weak),
            Some(Linkage::Common) => Some(Directive::Common),
            _ => None,
        };
        let attribute = (self.decl.attributes.len > 0).then_some(Directive::Attribute);
        for directive in [directive, attribute].into_iter().flatten() {
            available(self.context, directive, self.keyword(directive.text()));
        }
        let not_passed = self.decl.vector > 1 || !ty.is_parameter_type();
        if space == StateSpace::Param && !opaque && not_passed {
            let problem = match self.decl.vector {
                0 | 1 => VariableProblem::ParamType(ty),
                len => VariableProblem::ParamVector(len),
            };
            self.context.report(self.at_type(), problem);
        } else if self.scope == Scope::Module && self.is_for_bodies() {
            self.context
                .report(self.at_space(), VariableProblem::BodySpace(space));
        }
        alignment(self.context, self.tables.pool, self.decl, self.span);
        self.attributes();
        self.common();
    }

    fn wrong_space(&self) -> Option<(Location, VariableProblem)> {
        let version = self.context.version();
        if self.decl.bank != Operand::Absent && version >= PtxVersion::new(2, 2) {
            return Some((self.at_space(), VariableProblem::ConstBank));
        }
        if let Some(problem) = self.wrong_bank(version) {
            return Some((self.at_space(), problem));
        }
        if self.decl.space == StateSpace::Sreg {
            return Some((self.at_space(), VariableProblem::SpecialRegister));
        }
        if let Some(linkage) = self.decl.linkage.filter(|_| self.scope == Scope::Body) {
            let location = self.keyword(linkage.directive().text());
            return Some((location, VariableProblem::LocalLinkage(linkage)));
        }
        if self.decl.space != StateSpace::Tex {
            return None;
        }
        let removed = Directive::Tex.until().is_some_and(|until| until <= version);
        let problem = if !matches!(self.ty, ScalarType::U32 | ScalarType::U64) {
            VariableProblem::TexType(self.ty)
        } else if self
            .decl
            .declarators
            .of(&self.tables.declarations.declarators)
            .iter()
            .any(|d| !self.tables.pool.slice(d.dims).is_empty())
        {
            VariableProblem::TexArray
        } else if self.scope == Scope::Body {
            VariableProblem::TexInBody
        } else if removed {
            VariableProblem::TexRemoved
        } else {
            return None;
        };
        Some((self.at_space(), problem))
    }

    /// Before PTX 2.2, banks 1 to 10 of constant memory held the external arrays without a size, and nothing else.
    fn wrong_bank(&self, version: PtxVersion) -> Option<VariableProblem> {
        if self.decl.space != StateSpace::Const || version >= PtxVersion::new(2, 2) {
            return None;
        }
        let bank = self.tables.pool.integer(self.decl.bank).unwrap_or(0);
        let external = self.decl.linkage == Some(Linkage::Extern);
        let mut names = (self
            .decl
            .declarators
            .of(&self.tables.declarations.declarators))
        .iter();
        let unsized_array =
            |d: &Declarator| self.tables.pool.slice(d.dims).first() == Some(&Operand::Absent);
        if bank != 0 && version < PtxVersion::new(1, 5) {
            Some(VariableProblem::EarlyBank)
        } else if !(0..=10).contains(&bank) {
            Some(VariableProblem::BankNumber(bank))
        } else if names.any(|d| (external && unsized_array(d)) != (bank != 0)) {
            Some(match bank {
                0 => VariableProblem::NoBank,
                _ => VariableProblem::BankContents(bank),
            })
        } else {
            None
        }
    }

    fn wrong_type(&self) -> Option<(Location, VariableProblem)> {
        let (space, ty) = (self.decl.space, self.ty);
        let problem = if ty.kind() != TypeKind::Opaque && !ty.is_register_type() {
            VariableProblem::InstructionType(ty)
        } else if ty == ScalarType::Pred && space != StateSpace::Reg {
            VariableProblem::PredicateSpace(space)
        } else {
            return None;
        };
        Some((self.at_type(), problem))
    }

    /// Why a texture, sampler or surface cannot be declared here.
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

    /// Whether variables of the space are declared in functions only. Before PTX 3.0, `.reg` and `.local` were allowed
    /// at module level.
    fn is_for_bodies(&self) -> bool {
        match self.decl.space {
            StateSpace::Param => true,
            StateSpace::Reg | StateSpace::Local => self.context.version() >= PtxVersion::new(3, 0),
            _ => false,
        }
    }

    fn vector(&mut self) {
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

    fn attributes(&mut self) {
        let attributes = self.decl.attributes;
        for attribute in attributes.of(&self.tables.declarations.attributes) {
            let name = match attribute {
                Attribute::Managed => ".managed",
                Attribute::Unified(..) => ".unified",
                _ => continue,
            };
            let location = self.keyword(name);
            if let Attribute::Unified(..) = attribute {
                self.context.require(location, Feature::Unified);
            }
            if self.decl.space != StateSpace::Global {
                let problem = VariableProblem::AttributeSpace(name, self.decl.space);
                self.context.report(location, problem);
            }
        }
    }

    fn common(&mut self) {
        if self.decl.linkage != Some(Linkage::Common) {
            return;
        }
        let location = self.keyword(Directive::Common.text());
        if self.decl.space != StateSpace::Global {
            let problem = VariableProblem::CommonSpace(self.decl.space);
            self.context.report(location, problem);
        } else if self.ty.kind() == TypeKind::Opaque {
            self.context
                .report(location, VariableProblem::CommonType(self.ty));
        }
    }

    /// Checks one name of the declaration.
    fn declarator(&mut self, declarator: &Declarator) {
        let (pool, name) = (self.tables.pool, declarator.name);
        let dims = pool.slice(declarator.dims);
        let empty = |d: &Operand| *d == Operand::Absent || pool.integer(*d) == Some(0);
        let initialized = declarator.init != Operand::Absent;
        let sized_by_value = initialized && dims.first().is_some_and(empty);
        let external = self.decl.linkage == Some(Linkage::Extern);
        let problem = if declarator.count != Operand::Absent && initialized {
            VariableProblem::RangeInitializer(name)
        } else if dims.iter().skip(1).any(empty) {
            VariableProblem::EmptyDimension(name)
        } else if self.decl.space == StateSpace::Reg && !dims.is_empty() {
            VariableProblem::RegisterArray(name)
        } else if dims.first().is_some_and(empty) && !external && !sized_by_value {
            VariableProblem::NoSize(name)
        } else {
            return;
        };
        self.context
            .report(Location::name(self.span, name), problem);
    }
}

fn alignment(context: &mut Context<'_>, pool: &OperandPool, decl: &VarDecl, span: Span) {
    let Some(align) = pool.integer(decl.align) else {
        return;
    };
    let location = Location::part(span, Part::After(Directive::Align.text()));
    power_of_two(context, align, location);
    if decl.space == StateSpace::Param && align > 128 && align.count_ones() == 1 {
        context.report(location, VariableProblem::ParameterAlignment(align));
    }
}
