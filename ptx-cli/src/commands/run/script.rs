//! Scripts: files with several launches over buffers that they share.

use std::path::Path;

use anyhow::{Result, bail};
use ptx_report::demangle::FunctionPattern;
use ptx_vm::Cooperative;

use super::argument::{Argument, Buffer, size};
use super::asynchrony;
use super::plan::{Call, Plan, Shape};
use super::shape::Sizes;
use super::texture::{ArrayArgument, Binding};
use crate::config::{Entry, Text, Value};

/// Reads a script. Names of files in it are relative to its directory.
pub(super) fn read(path: &Path) -> Result<Plan> {
    let text = Text::read(path)?;
    let table = text.parse()?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut plan = Plan::default();
    let entries = text.entries(table.get_ref());
    for entry in &entries {
        entry.expect_one_of(&["buffers", "arrays", "bind", "launch"])?;
    }
    let section = |name: &str| entries.iter().find(|entry| entry.key == name);
    if let Some(buffers) = section("buffers") {
        for entry in buffers.value.table()? {
            let buffer = entry
                .value
                .text()?
                .parse::<Buffer>()
                .map_err(|message| entry.value.error(&message))?;
            plan.add_buffer(&entry.key, buffer.in_folder(folder))
                .map_err(|message| entry.value.error(&message))?;
        }
    }
    if let Some(arrays) = section("arrays") {
        for entry in arrays.value.table()? {
            let array = entry
                .value
                .text()?
                .parse::<ArrayArgument>()
                .map_err(|message| entry.value.error(&message))?;
            plan.add_array(&entry.key, array.in_folder(folder));
        }
    }
    if let Some(bindings) = section("bind") {
        for entry in bindings.value.table()? {
            let object = Binding::object(entry.value.text()?)
                .and_then(|object| plan.object(object.in_folder(folder)))
                .map_err(|message| entry.value.error(&message))?;
            plan.bindings.push((entry.key.into_owned(), object));
        }
    }
    let launches = section("launch").map(|entry| entry.value.list());
    for launch in launches.unwrap_or_default() {
        let call = call(launch, folder, &mut plan)?;
        plan.calls.push(call);
    }
    if plan.calls.is_empty() {
        bail!("{}: there is no `[[launch]]`", text.name());
    }
    Ok(plan)
}

/// A launch of a script.
fn call(launch: Value<'_>, folder: &Path, plan: &mut Plan) -> Result<Call> {
    let single = Sizes([1; 3]);
    let mut call = Call {
        kernel: None,
        shape: Shape {
            grid: single,
            block: single,
            cluster: single,
            shared: 0,
        },
        asynchrony: None,
        cooperative: None,
        is_dependent: false,
        arguments: Vec::new(),
        place: Some(launch.place()),
    };
    for Entry { key, value, .. } in entries(launch)? {
        match &*key {
            "kernel" => call.kernel = Some(FunctionPattern::new(value.text()?)),
            "grid" => call.shape.grid = sizes(value)?,
            "block" => call.shape.block = sizes(value)?,
            "cluster" => call.shape.cluster = sizes(value)?,
            "shared" => call.shape.shared = bytes(value)?,
            "async" => {
                let time = asynchrony(value.text()?).map_err(|message| value.error(&message))?;
                call.asynchrony = Some(time);
            }
            "cooperative" => {
                let multiprocessors = value.amount()?.parse().ok();
                let multiprocessors = multiprocessors.ok_or_else(|| {
                    value.error("expected the number of multiprocessors, such as 132")
                })?;
                call.cooperative = Some(Cooperative::new(multiprocessors));
            }
            "dependent" => call.is_dependent = value.flag()?,
            _ => {
                for argument in value.list() {
                    let passed = argument
                        .text_or_number()?
                        .parse::<Argument>()
                        .and_then(|parsed| plan.pass(parsed.in_folder(folder)))
                        .map_err(|message| argument.error(&message))?;
                    call.arguments.push(passed);
                }
            }
        }
    }
    Ok(call)
}

/// The entries of a launch. Unknown keys are errors.
fn entries(launch: Value<'_>) -> Result<Vec<Entry<'_>>> {
    let entries = launch.table()?;
    let keys = [
        "kernel",
        "grid",
        "block",
        "cluster",
        "shared",
        "async",
        "cooperative",
        "dependent",
        "args",
    ];
    for entry in &entries {
        entry.expect_one_of(&keys)?;
    }
    Ok(entries)
}

/// `16`, `[16, 8]` or `"16,8"`
fn sizes(value: Value<'_>) -> Result<Sizes> {
    let texts = value
        .list()
        .into_iter()
        .map(Value::amount)
        .collect::<Result<Vec<String>>>()?;
    texts
        .join(",")
        .parse()
        .map_err(|message: String| value.error(&message))
}

/// `4096` or `"4K"`
fn bytes(value: Value<'_>) -> Result<u32> {
    let bytes = size(&value.amount()?).map_err(|message| value.error(&message))?;
    u32::try_from(bytes).map_err(|_| value.error("not enough shared memory"))
}
