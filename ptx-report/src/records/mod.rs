//! The records of a module: everything in it except comments. `ptxkit dump` writes them; `ptx-cli/JSON.md` describes the fields.
//!
//! Records borrow from the module, and most of their lists are made while they are serialized, so that a module of any size needs
//! little memory.

mod analysis;
mod operand;
#[cfg(test)]
mod tests;
mod visit;

use std::borrow::Cow;

use ptx_ir::{FunctionKind, Linkage};
use ptx_isa::{ScalarType, StateSpace};
use serde::{Serialize, Serializer};

use crate::instruction_facts::InstructionFacts;
use crate::labels::{Labeled, without_dot};
use crate::source_frames::StatementSource;
use crate::source_span::JsonSpan;
pub use analysis::{
    Block, Blocks, FunctionResults, InstructionResults, PeakPressure, RegisterForm,
    RegisterPointer, RegisterUniformity,
};
pub use operand::{ConstantType, Form, MAX_DEPTH, Number, Operand, View, Views};
pub use visit::ModuleRecords;

/// A record. In the output with one object per file, the record of the file contains the others.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Record<'a> {
    /// The file.
    File(File<'a>),
    /// A function or its declaration.
    Function(Function<'a>),
    /// A declaration of variables or registers.
    Declaration(Declaration<'a>),
    /// A directive that is an item of the module or a statement.
    Directive(DirectiveRecord<'a>),
    /// A debug section.
    Section(Section<'a>),
    /// An instruction.
    Instruction(Instruction<'a>),
    /// Text that is not a known statement.
    Unrecognized(Unrecognized<'a>),
    /// A label.
    Label(Label<'a>),
    /// A `.callprototype`; its name is the label before it.
    Prototype(Prototype<'a>),
    /// The opening brace of an inner scope.
    Open(Brace),
    /// The closing brace of an inner scope.
    Close(Brace),
}

impl Record<'_> {
    /// The fields that all records except files have.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        Some(match self {
            Self::File(_) => return None,
            Self::Function(function) => &function.head,
            Self::Declaration(declaration) => &declaration.head,
            Self::Directive(directive) => &directive.head,
            Self::Section(section) => &section.head,
            Self::Instruction(instruction) => &instruction.head,
            Self::Unrecognized(unrecognized) => &unrecognized.head,
            Self::Label(label) => &label.head,
            Self::Prototype(prototype) => &prototype.head,
            Self::Open(brace) | Self::Close(brace) => &brace.head,
        })
    }
}

/// The file.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct File<'a> {
    /// [`SCHEMA`](crate::SCHEMA).
    pub schema: u32,
    /// The file, as the caller named it.
    pub file: &'a str,
    /// The version and target.
    pub header: Header,
    /// The size of the source.
    pub bytes: u32,
    /// The other records outside of functions, in the output with one object per file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Record<'a>>>,
}

/// The directives that modules begin with, each null if it is missing.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Header {
    /// `8.0`
    pub ptx: Option<String>,
    /// `sm_90a`
    pub target: Option<&'static str>,
    /// 32 or 64.
    pub address_size: Option<u8>,
}

/// The fields that all records except files have.
#[derive(Copy, Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Head {
    /// [`SCHEMA`](crate::SCHEMA); absent in records that others contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// The id of the function that contains the record.
    pub function: Option<u32>,
    /// The source range.
    pub span: JsonSpan,
}

/// A function or its declaration.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Function<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// The number of the function in the file, counted from 0.
    pub id: u32,
    /// Its name in the text.
    pub name: &'a str,
    /// Its name in the source language, if it is mangled.
    pub demangled: Option<String>,
    /// A kernel is an `entry`.
    pub kind: Labeled<FunctionKind>,
    /// The function has a body.
    pub defined: bool,
    /// The linkage; `null` if the function is only visible in this file.
    pub linkage: Option<Labeled<Linkage>>,
    /// The arguments of `.attribute`.
    pub attributes: Vec<Attribute<'a>>,
    /// Its results, parameters and directives.
    #[serde(flatten)]
    pub interface: Interface<'a>,
    /// The header, if it is unrecognized.
    pub text: Option<Cow<'a, str>>,
    /// The results of analyses, if they are requested and the function has a body.
    #[serde(flatten)]
    pub results: Option<FunctionResults<'a>>,
    /// The records of its body, in the output with one object per file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statements: Option<Vec<Record<'a>>>,
}

/// An attribute of a function or a variable.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Attribute<'a> {
    /// `managed`, `unified`, …
    pub name: &'a str,
    /// The arguments in parentheses.
    pub arguments: Vec<View<'a>>,
}

/// The signature of a function or a prototype.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Interface<'a> {
    /// The results; `null` if the parentheses are missing.
    pub results: Option<Vec<Param<'a>>>,
    /// The parameters; `null` if the parentheses are missing.
    pub params: Option<Vec<Param<'a>>>,
    /// The directives after the parameters, such as `maxntid`.
    pub directives: Vec<Directive<'a>>,
}

/// A parameter or a result.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Param<'a> {
    /// The name; `null` for `_`.
    pub name: Option<&'a str>,
    /// `param`, or `reg` in functions.
    pub space: Labeled<StateSpace>,
    /// The type, such as `u64`.
    #[serde(rename = "type")]
    pub ty: &'a str,
    /// The number of elements: 1, 2 or 4.
    pub vector: u8,
    /// The alignment in bytes.
    pub align: View<'a>,
    /// An alignment after the type, which has no effect.
    pub trailing_align: View<'a>,
    /// The parameter has `.hidden`.
    pub hidden: bool,
    /// The qualifiers after `.ptr`.
    pub ptr: Option<Pointer<'a>>,
    /// The dimensions of an array; `null` for an empty one.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Option<Operand<'static>>>"))]
    pub dims: Views<'a>,
}

/// The qualifiers of a pointer parameter.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pointer<'a> {
    /// The state space or the opaque type.
    pub space: Option<&'static str>,
    /// The alignment of the memory in bytes.
    pub align: View<'a>,
}

/// A directive with its arguments.
#[derive(Copy, Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Directive<'a> {
    /// The directive, such as `loc`, `pragma` or `branchtargets`.
    pub directive: &'static str,
    /// Its arguments.
    pub arguments: Views<'a>,
}

/// A directive that is an item of the module or a statement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct DirectiveRecord<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// The directive and its arguments.
    #[serde(flatten)]
    pub directive: Directive<'a>,
}

/// A declaration of variables or registers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Declaration<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// The linkage; `null` if the variables are only visible in this file.
    pub linkage: Option<Labeled<Linkage>>,
    /// The state space; `reg` for registers.
    pub space: Labeled<StateSpace>,
    /// The number of the obsolete `.const[n]`.
    pub bank: View<'a>,
    /// The arguments of `.attribute`.
    pub attributes: Vec<Attribute<'a>>,
    /// The alignment in bytes.
    pub align: View<'a>,
    /// The type, such as `b32`.
    #[serde(rename = "type")]
    pub ty: &'a str,
    /// The number of elements: 1, 2 or 4.
    pub vector: u8,
    /// The declared names.
    pub names: Vec<Name<'a>>,
}

/// A name of a declaration.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Name<'a> {
    /// The name, or the part of it before the number.
    pub name: &'a str,
    /// The 4 in `%r<4>`.
    pub count: View<'a>,
    /// The dimensions of an array; `null` for an empty one.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Option<Operand<'static>>>"))]
    pub dims: Views<'a>,
    /// The value after `=`.
    pub initializer: View<'a>,
}

/// A debug section.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Section<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// The name, such as `.debug_info`.
    pub name: &'a str,
    /// The labels and data.
    pub entries: Vec<Entry<'a>>,
}

/// A label, or data of one type.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// A label before data.
    Label {
        /// The name.
        label: &'a str,
    },
    /// Data of one type.
    Data {
        /// The type, such as `b8`.
        #[serde(rename = "type", serialize_with = "type_word")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        ty: ScalarType,
        /// The values.
        values: Vec<Datum<'a>>,
    },
}

/// A value in a section.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Datum<'a> {
    /// A small number.
    Number(i32),
    /// Any other value.
    Operand(#[cfg_attr(feature = "schema", schemars(with = "Operand<'static>"))] View<'a>),
}

/// An instruction.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Instruction<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// The opcode.
    pub opcode: &'a str,
    /// The modifiers.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub modifiers: Modifiers<'a>,
    /// `%p1` or `!%p1`; the name may be undeclared.
    pub guard: Option<Cow<'a, str>>,
    /// The operands.
    pub operands: Views<'a>,
    /// Its effects and source lines.
    #[serde(flatten)]
    pub effects: Effects<'a>,
}

/// The modifiers of a mnemonic, serialized as a list of words without dots.
#[derive(Copy, Clone, Debug)]
pub struct Modifiers<'a>(ptx_ir::Signature<'a>);

impl Serialize for Modifiers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = self.0.words().iter();
        serializer.collect_seq(words.map(|&word| without_dot(self.0.word_text(word))))
    }
}

/// Facts and source lines of a statement that does something.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Effects<'a> {
    /// The accessed registers and memory.
    #[serde(flatten)]
    pub facts: InstructionFacts<'a>,
    /// The source lines.
    #[serde(flatten)]
    pub source: StatementSource<'a>,
    /// The results of analyses, if they are requested.
    #[serde(flatten)]
    pub results: Option<InstructionResults<'a>>,
}

/// Text that is not a known statement. The effects are missing outside of functions.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Unrecognized<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// The text.
    pub text: Cow<'a, str>,
    /// The possible effects; absent outside of functions.
    #[serde(flatten)]
    pub effects: Option<Effects<'a>>,
}

/// A label.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Label<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// The name.
    pub name: &'a str,
}

/// A `.callprototype`; its name is the label before it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Prototype<'a> {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
    /// Its results, parameters and directives.
    #[serde(flatten)]
    pub interface: Interface<'a>,
}

/// A brace of an inner scope.
#[derive(Copy, Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[non_exhaustive]
pub struct Brace {
    /// The fields that all records except files have.
    #[serde(flatten)]
    pub head: Head,
}

fn type_word<S: Serializer>(ty: &ScalarType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(without_dot(ty.text()))
}
