//! Operands, constants, counts, dimensions and alignments.

use std::borrow::Cow;

use ptx_ir::ConstKind;
use ptx_ir::ConstValue;
use ptx_ir::facts::RegisterComponent;
use ptx_ir::{
    AddressForm, Body, EntityId as _, ImmId, Module, NameId, OperandParts, OperandPool, OperandRef,
    RegDecl, RegId, SymbolKind, TypeName,
};
use ptx_isa::{Selector, StateSpace};
use serde::{Serialize, Serializer};

use crate::instruction_facts::{FactNames, numbered_name};
use crate::labels::{Labeled, without_dot};

/// The parts of operands that are nested more deeply are omitted: serialization needs stack for each level, and so does reading the JSON.
/// The deepest operands of legal programs, initializers of arrays, have a level for each dimension.
pub const MAX_DEPTH: u8 = 48;

/// An operand.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Operand<'a> {
    /// A register.
    Register {
        /// The name. If several registers of a function have the same name, the second one is `name#2`, and so on.
        name: &'a str,
        /// The type of its declaration.
        #[serde(rename = "type")]
        ty: &'a str,
        /// The number of elements of its declaration.
        vector: u8,
    },
    /// A special register, such as `%tid`.
    SpecialRegister {
        /// The name.
        name: &'static str,
    },
    /// A constant.
    Immediate {
        /// The constant as written.
        text: Cow<'a, str>,
        /// The type; `null` for an invalid expression.
        #[serde(rename = "type")]
        ty: Option<ConstantType>,
        /// The value; `null` for infinity, NaN and invalid expressions.
        value: Option<Number>,
    },
    /// A variable or parameter.
    Variable {
        /// The name.
        name: Cow<'a, str>,
        /// The state space.
        space: Labeled<StateSpace>,
    },
    /// A function.
    Function {
        /// The name.
        name: Cow<'a, str>,
    },
    /// A label.
    Label {
        /// The name.
        name: Cow<'a, str>,
    },
    /// A keyword of a directive, or an undeclared name.
    Name {
        /// The name.
        name: Cow<'a, str>,
    },
    /// A debug section.
    Section {
        /// The name.
        name: Cow<'a, str>,
    },
    /// A string.
    String {
        /// The text between the quotes.
        text: Cow<'a, str>,
    },
    /// `_`
    Sink {},
    /// An address.
    Address {
        /// The notation.
        form: Form,
        /// The register, variable or constant that the address starts from.
        #[cfg_attr(feature = "schema", schemars(with = "Operand<'static>"))]
        base: View<'a>,
        /// The constant that is added.
        offset: View<'a>,
    },
    /// Some elements of an operand.
    Component {
        /// The elements, such as `x` or `b0`.
        #[serde(serialize_with = "as_text")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        selector: Selector,
        /// The operand.
        parts: Views<'a>,
    },
    /// Operands between brackets.
    Bracket {
        /// The operands.
        parts: Views<'a>,
    },
    /// Operands between braces.
    Vector {
        /// The operands.
        parts: Views<'a>,
    },
    /// Operands between parentheses.
    List {
        /// The operands.
        parts: Views<'a>,
    },
    /// `p|q`
    Pair {
        /// The operands.
        parts: Views<'a>,
    },
    /// An operand after `!`.
    Not {
        /// The operands.
        parts: Views<'a>,
    },
    /// An operand after `-`.
    Negative {
        /// The operands.
        parts: Views<'a>,
    },
    /// An operand in `generic( )`.
    Generic {
        /// The operands.
        parts: Views<'a>,
    },
    /// `0xFF(a)` in an initializer.
    Masked {
        /// The operands.
        parts: Views<'a>,
    },
    /// `a - b` in a section.
    Difference {
        /// The operands.
        parts: Views<'a>,
    },
    /// `name = value` in an initializer.
    Field {
        /// The operands.
        parts: Views<'a>,
    },
    /// `N<5>` in a table of labels.
    Range {
        /// The operands.
        parts: Views<'a>,
    },
    /// An operand that is nested too deeply.
    Omitted {},
}

/// The type of a constant.
#[derive(Copy, Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConstantType {
    /// A signed integer.
    S64,
    /// An unsigned integer.
    U64,
    /// A floating-point number of 64 bits.
    F64,
    /// A floating-point number of 32 bits, which is written as bits.
    F32,
}

/// The value of a constant.
#[derive(Copy, Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Number {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A finite floating-point number.
    Float(f64),
}

/// The notation of an address.
#[derive(Copy, Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// `[a+4]`
    Bracketed,
    /// `[a].unified`
    Unified,
    /// `a[4]`
    Indexed,
    /// `a+4`
    Bare,
}

/// The tables that operands refer to: those of a function, or those of the module.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    module: &'a Module,
    pool: &'a OperandPool,
    body: Option<&'a Body>,
    /// The registers of the function as operands, by number: most operands are registers.
    registers: Vec<Operand<'a>>,
}

/// An operand in a table, serialized as an [`Operand`], or as null if it is absent.
#[derive(Copy, Clone, Debug)]
pub struct View<'a> {
    tables: &'a Tables<'a>,
    operand: ptx_ir::Operand,
    depth: u8,
}

/// Operands in a table.
#[derive(Copy, Clone, Debug)]
pub struct Views<'a> {
    tables: &'a Tables<'a>,
    operands: &'a [ptx_ir::Operand],
    depth: u8,
}

impl<'a> Tables<'a> {
    /// The operands outside of functions.
    pub(super) fn of_module(module: &'a Module) -> Self {
        Self {
            module,
            pool: module.pool(),
            body: None,
            registers: Vec::new(),
        }
    }

    /// The operands of a function, with the names of its registers.
    pub(super) fn of_function(
        module: &'a Module,
        body: &'a Body,
        names: &'a FactNames<'_>,
    ) -> Self {
        let registers = body.registers().iter().map(|(id, register)| {
            let declaration = body.reg_decls().get(register.decl);
            register_operand(module, names, id, declaration)
        });
        Self {
            module,
            pool: body.pool(),
            body: Some(body),
            registers: registers.collect(),
        }
    }

    pub(super) fn pool(&self) -> &'a OperandPool {
        self.pool
    }

    pub(super) fn view(&'a self, operand: ptx_ir::Operand) -> View<'a> {
        View {
            tables: self,
            operand,
            depth: 0,
        }
    }

    pub(super) fn views(&'a self, operands: &'a [ptx_ir::Operand]) -> Views<'a> {
        Views {
            tables: self,
            operands,
            depth: 0,
        }
    }

    fn name(&self, name: NameId) -> Cow<'a, str> {
        String::from_utf8_lossy(self.module.name_bytes(name))
    }

    fn immediate(&self, id: ImmId) -> Option<Operand<'a>> {
        let immediate = self.pool.immediate(id)?;
        let ty = match immediate.value.kind() {
            ConstKind::Signed => Some(ConstantType::S64),
            ConstKind::Unsigned => Some(ConstantType::U64),
            ConstKind::Double => Some(ConstantType::F64),
            ConstKind::Single => Some(ConstantType::F32),
            _ => None,
        };
        Some(Operand::Immediate {
            text: self.name(immediate.text),
            ty,
            value: number(immediate.value),
        })
    }

    /// An operand without parts.
    fn leaf(&self, operand: ptx_ir::Operand) -> Option<Operand<'a>> {
        use ptx_ir::Operand as Ir;
        Some(match operand {
            Ir::Small(value) => Operand::Immediate {
                text: Cow::Owned(value.to_string()),
                ty: Some(ConstantType::S64),
                value: Some(Number::Signed(value.into())),
            },
            Ir::Imm(id) => self.immediate(id)?,
            Ir::Special(register) => Operand::SpecialRegister {
                name: register.text(),
            },
            Ir::Symbol(id) => {
                let symbol = self.module.symbols().get(id)?;
                let name = numbered_name(self.module, symbol.name, symbol.number);
                match symbol.kind {
                    SymbolKind::Variable(space, _) => Operand::Variable {
                        name,
                        space: Labeled(space),
                    },
                    _ => Operand::Function { name },
                }
            }
            Ir::Var(id) => {
                let variable = self.body?.vars().get(id)?;
                Operand::Variable {
                    name: numbered_name(self.module, variable.name, variable.number),
                    space: Labeled(variable.space),
                }
            }
            Ir::Label(id) => {
                let label = self.body.and_then(|body| body.labels().get(id));
                Operand::Label {
                    name: label.map(|label| self.name(label.name)).unwrap_or_default(),
                }
            }
            Ir::Name(name) => Operand::Name {
                name: self.name(name),
            },
            Ir::Section(name) => Operand::Section {
                name: self.name(name),
            },
            Ir::Str(name) => Operand::String {
                text: without_quotes(self.name(name)),
            },
            Ir::Sink => Operand::Sink {},
            _ => return None,
        })
    }
}

/// A register; its name is without the element if it is a vector register.
fn register_operand<'a>(
    module: &'a Module,
    names: &'a FactNames<'_>,
    register: RegId,
    declaration: Option<&RegDecl>,
) -> Operand<'a> {
    let vector = declaration.map_or(1, |declaration| declaration.vector.max(1));
    let name = names.register(RegisterComponent::from(register));
    Operand::Register {
        name: if vector > 1 {
            name.trim_end_matches(".x")
        } else {
            name
        },
        ty: declaration.map_or("", |declaration| type_text(module, declaration.ty)),
        vector,
    }
}

/// The spelling of a type without its dot.
pub(super) fn type_text(module: &Module, ty: TypeName) -> &str {
    without_dot(match ty {
        TypeName::Known(ty) => ty.text(),
        TypeName::Unknown(name) => module.name(name),
    })
}

fn number(value: ConstValue) -> Option<Number> {
    match (value.kind(), value.as_int(), value.as_float()) {
        (ConstKind::Unsigned, ..) => Some(Number::Unsigned(value.bits())),
        (_, Some(integer), _) => Some(Number::Signed(integer)),
        (_, _, Some(float)) if float.is_finite() => Some(Number::Float(float)),
        _ => None,
    }
}

/// The text between the quotes of a string.
fn without_quotes(text: Cow<'_, str>) -> Cow<'_, str> {
    fn unquoted(text: &str) -> &str {
        let quoted = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        quoted.unwrap_or(text)
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(unquoted(text)),
        Cow::Owned(text) => Cow::Owned(unquoted(&text).to_owned()),
    }
}

fn as_text<S: Serializer>(selector: &Selector, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(selector)
}

impl<'a> View<'a> {
    /// The operand; `None` if it is absent.
    #[must_use]
    pub fn operand(self) -> Option<Operand<'a>> {
        use ptx_ir::Operand as Ir;
        let parts = self.operand.parts();
        if parts == OperandParts::Leaf {
            return self.tables.leaf(self.operand);
        }
        if self.depth == MAX_DEPTH {
            return Some(Operand::Omitted {});
        }
        if let OperandParts::Address(id) = parts {
            let address = self.tables.pool.address(id)?;
            return Some(Operand::Address {
                form: match address.form {
                    AddressForm::Bracketed => Form::Bracketed,
                    AddressForm::Unified => Form::Unified,
                    AddressForm::Indexed => Form::Indexed,
                    _ => Form::Bare,
                },
                base: self.part(address.base),
                offset: self.part(address.offset),
            });
        }
        let parts = self.parts(parts);
        Some(match self.operand {
            Ir::Bracket(_) => Operand::Bracket { parts },
            Ir::Vector(_) => Operand::Vector { parts },
            Ir::List(_) => Operand::List { parts },
            Ir::Pair(_) => Operand::Pair { parts },
            Ir::Not(_) => Operand::Not { parts },
            Ir::Neg(_) => Operand::Negative { parts },
            Ir::Component(selector, _) => Operand::Component { selector, parts },
            Ir::Generic(_) => Operand::Generic { parts },
            Ir::Masked(_) => Operand::Masked { parts },
            Ir::Difference(_) => Operand::Difference { parts },
            Ir::Field(_) => Operand::Field { parts },
            Ir::Range(_) => Operand::Range { parts },
            _ => return None,
        })
    }

    fn part(self, operand: ptx_ir::Operand) -> Self {
        Self {
            tables: self.tables,
            operand,
            depth: self.depth + 1,
        }
    }

    fn parts(self, parts: OperandParts) -> Views<'a> {
        let pool = self.tables.pool;
        let slice = |first: OperandRef, len: usize| {
            let start = first.as_u32() as usize;
            pool.operands().get(start..start + len).unwrap_or_default()
        };
        Views {
            tables: self.tables,
            operands: match parts {
                OperandParts::List(id) => pool.list(id),
                OperandParts::One(first) => slice(first, 1),
                OperandParts::Two(first) => slice(first, 2),
                _ => &[],
            },
            depth: self.depth + 1,
        }
    }
}

impl<'a> Views<'a> {
    fn iter(self) -> impl Iterator<Item = View<'a>> {
        self.operands.iter().map(move |&operand| View {
            tables: self.tables,
            operand,
            depth: self.depth,
        })
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ptx_ir::Operand::Reg(register) = self.operand else {
            return self.operand().serialize(serializer);
        };
        self.tables
            .registers
            .get(register.index())
            .serialize(serializer)
    }
}

impl Serialize for Views<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use super::{Operand, View, Views};

    macro_rules! same_schema {
        ($($view:ty = $type:ty;)*) => {$(
            impl JsonSchema for $view {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    <$type>::schema_name()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    <$type>::json_schema(generator)
                }
            }
        )*};
    }

    same_schema! {
        View<'_> = Option<Operand<'static>>;
        Views<'_> = Vec<Operand<'static>>;
    }
}
