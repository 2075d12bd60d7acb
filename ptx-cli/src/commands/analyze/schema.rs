//! The shape of the output, which `json.rs` writes without these types. `.ci/schemas.py` compares both.
#![allow(dead_code, reason = "only their schema is used")]

use std::collections::BTreeMap;

use schemars::JsonSchema;

use ptx_report::source_frames::JsonFrame;

#[derive(JsonSchema)]
pub(crate) struct File {
    schema: u32,
    file: String,
    functions: Vec<Function>,
}

#[derive(JsonSchema)]
struct Function {
    name: String,
    demangled: Option<String>,
    kind: String,
    line: u32,
    entry: u32,
    blocks: Vec<Block>,
    pressure: Pressure,
    #[serde(skip_serializing_if = "Option::is_none")]
    insts: Option<Vec<Inst>>,
}

#[derive(JsonSchema)]
struct Block {
    id: u32,
    label: Option<String>,
    first_line: u32,
    last_line: u32,
    succ: Option<Vec<u32>>,
    exits: bool,
    unknown: bool,
    reachable: bool,
    idom: Option<u32>,
    ipdom: Option<u32>,
    loop_header: Option<u32>,
    loop_depth: u32,
    trip_count: Option<TripCount>,
    uniform: String,
    uses: Vec<String>,
    kills: Vec<String>,
    defs: Vec<String>,
    returned: Vec<String>,
    live_in: Option<Vec<String>>,
    live_out: Option<Vec<String>>,
}

#[derive(JsonSchema)]
struct TripCount {
    count: Option<u64>,
    form: String,
    exact: bool,
    assumes_no_wrap: bool,
}

#[derive(JsonSchema)]
struct Pressure {
    max_b32_units: u32,
    line: Option<u32>,
    by_class: BTreeMap<String, u32>,
}

#[derive(JsonSchema)]
struct Inst {
    line: u32,
    block: u32,
    mnemonic: Option<String>,
    guard: Option<String>,
    #[serde(flatten)]
    facts: Facts,
    affine: Vec<Form>,
    provenance: Vec<Pointer>,
    object: Option<String>,
    space: Option<String>,
    coalescing: Option<String>,
    stride: Option<i64>,
    sectors: Option<u64>,
    degree: Option<u64>,
    assumes: Vec<String>,
    uniform: Vec<Uniform>,
}

#[derive(JsonSchema)]
struct Uniform {
    register: String,
    uniform: String,
}

#[derive(JsonSchema)]
struct Form {
    register: String,
    form: String,
}

#[derive(JsonSchema)]
struct Pointer {
    register: String,
    object: Option<String>,
    space: Option<String>,
    generic: bool,
    offset: Option<i64>,
}

#[derive(JsonSchema)]
pub(crate) struct Facts {
    reads: Vec<String>,
    writes: Vec<String>,
    cond_writes: Vec<String>,
    memory: Vec<Access>,
    side_effects: bool,
    known: bool,
    source: Vec<JsonFrame>,
    inline_asm: bool,
}

#[derive(JsonSchema)]
struct Access {
    space: String,
    bytes: Option<u64>,
    access: String,
    order: Option<String>,
    scope: Option<String>,
    base: Option<String>,
    offset: Option<i64>,
}
