//! The shape of the output, which is written without these types. `.ci/schemas.py` compares both.
#![allow(dead_code, reason = "only their schema is used")]

use schemars::JsonSchema;

use crate::commands::analyze::schema::Facts;
use crate::render::JsonSpan;

/// A record: with `--format ndjson` each line, with `--format json` the first one contains the others.
#[derive(JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    File(File),
    Function(Box<Function>),
    Declaration(Declaration),
    Directive(Directive),
    Section(Section),
    Instruction(Instruction),
    Unrecognized(Unrecognized),
    Label(Label),
    Prototype(Prototype),
    Open(Brace),
    Close(Brace),
}

/// Absent in records that others contain.
type Version = Option<u32>;

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct File {
    schema: u32,
    file: String,
    header: Header,
    bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Record>>,
}

#[derive(JsonSchema)]
struct Header {
    ptx: Option<String>,
    target: Option<String>,
    address_size: Option<u32>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Function {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: Option<u32>,
    span: JsonSpan,
    id: u32,
    name: String,
    demangled: Option<String>,
    kind: String,
    defined: bool,
    linkage: Option<String>,
    attributes: Vec<Attribute>,
    results: Option<Vec<Param>>,
    params: Option<Vec<Param>>,
    directives: Vec<InterfaceDirective>,
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statements: Option<Vec<Record>>,
}

#[derive(JsonSchema)]
struct Attribute {
    name: String,
    arguments: Vec<Operand>,
}

#[derive(JsonSchema)]
struct Param {
    name: Option<String>,
    space: String,
    #[serde(rename = "type")]
    ty: String,
    vector: u32,
    align: Option<Operand>,
    trailing_align: Option<Operand>,
    hidden: bool,
    ptr: Option<Pointer>,
    dims: Vec<Option<Operand>>,
}

#[derive(JsonSchema)]
struct Pointer {
    space: Option<String>,
    align: Option<Operand>,
}

#[derive(JsonSchema)]
struct InterfaceDirective {
    directive: String,
    arguments: Vec<Operand>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Declaration {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: Option<u32>,
    span: JsonSpan,
    linkage: Option<String>,
    space: String,
    bank: Option<Operand>,
    attributes: Vec<Attribute>,
    align: Option<Operand>,
    #[serde(rename = "type")]
    ty: String,
    vector: u32,
    names: Vec<Name>,
}

#[derive(JsonSchema)]
struct Name {
    name: String,
    count: Option<Operand>,
    dims: Vec<Option<Operand>>,
    initializer: Option<Operand>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Directive {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: Option<u32>,
    span: JsonSpan,
    directive: String,
    arguments: Vec<Operand>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Section {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: Option<u32>,
    span: JsonSpan,
    name: String,
    entries: Vec<Entry>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum Entry {
    Label {
        label: String,
    },
    Data {
        #[serde(rename = "type")]
        ty: String,
        values: Vec<Datum>,
    },
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum Datum {
    Number(i32),
    Operand(Operand),
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Instruction {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: u32,
    span: JsonSpan,
    opcode: String,
    modifiers: Vec<String>,
    guard: Option<String>,
    operands: Vec<Operand>,
    #[serde(flatten)]
    facts: Facts,
}

/// The facts are missing outside of functions.
#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Unrecognized {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: Option<u32>,
    span: JsonSpan,
    text: String,
    #[serde(flatten)]
    facts: Option<Facts>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Label {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: u32,
    span: JsonSpan,
    name: String,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Prototype {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: u32,
    span: JsonSpan,
    results: Option<Vec<Param>>,
    params: Option<Vec<Param>>,
    directives: Vec<InterfaceDirective>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Brace {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Version,
    function: u32,
    span: JsonSpan,
}

#[derive(JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Operand {
    Register {
        name: String,
        #[serde(rename = "type")]
        ty: String,
        vector: u32,
    },
    SpecialRegister {
        name: String,
    },
    Immediate {
        text: String,
        #[serde(rename = "type")]
        ty: Option<String>,
        value: Option<serde_json::Number>,
    },
    Variable {
        name: String,
        space: String,
    },
    Function {
        name: String,
    },
    Label {
        name: String,
    },
    /// A word of a directive, or a name that is not declared.
    Name {
        name: String,
    },
    Section {
        name: String,
    },
    String {
        text: String,
    },
    Sink {},
    Address {
        form: String,
        base: Box<Operand>,
        offset: Option<Box<Operand>>,
    },
    Component {
        selector: String,
        parts: Vec<Operand>,
    },
    Bracket(Parts),
    Vector(Parts),
    List(Parts),
    Pair(Parts),
    Not(Parts),
    Negative(Parts),
    Generic(Parts),
    Masked(Parts),
    Difference(Parts),
    Field(Parts),
    Range(Parts),
}

#[derive(JsonSchema)]
#[schemars(inline)]
struct Parts {
    parts: Vec<Operand>,
}
