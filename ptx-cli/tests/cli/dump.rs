//! `ptxkit dump`: the records say everything that the module has.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use ptx_isa::Directive;
use ptx_isa::internals::Ending;
use serde_json::Value;

use crate::sample::sample;
use crate::support::{Folder, GOOD, expect, not_found, objects, ptx, with_input};

/// Text from records.
#[derive(Default)]
struct Text {
    out: String,
    /// Whether a function is open.
    open: bool,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn joined(values: &Value, separator: &str) -> String {
    let all: Vec<String> = list(values).iter().map(operand).collect();
    all.join(separator)
}

/// The name of a register is not written with the number that tells it from others.
fn name(value: &Value) -> String {
    let (name, rest) = text(value).split_once('#').unwrap_or((text(value), ""));
    let element = rest.find('.').map_or("", |at| &rest[at..]);
    format!("{name}{element}")
}

fn operand(value: &Value) -> String {
    let parts = || joined(&value["parts"], ", ");
    let part = |nth: usize| operand(&value["parts"][nth]);
    if value.is_null() {
        return String::new();
    }
    if value.is_number() {
        return value.to_string();
    }
    match text(&value["kind"]) {
        "immediate" => text(&value["text"]).to_owned(),
        "string" => format!("\"{}\"", text(&value["text"])),
        "sink" => "_".to_owned(),
        "address" => {
            let offset = match &value["offset"] {
                Value::Null => String::new(),
                offset => format!("+{}", operand(offset)),
            };
            let base = operand(&value["base"]);
            match text(&value["form"]) {
                "bracketed" => format!("[{base}{offset}]"),
                "unified" => format!("[{base}{offset}].unified"),
                "indexed" => format!("{base}[{}]", &offset[1..]),
                _ => format!("{base}{offset}"),
            }
        }
        "bracket" => format!("[{}]", parts()),
        "vector" => format!("{{{}}}", parts()),
        "list" => format!("({})", parts()),
        "pair" => format!("{}|{}", part(0), part(1)),
        "not" => format!("!{}", part(0)),
        "negative" => format!("-{}", part(0)),
        "component" => format!("{}.{}", part(0), text(&value["selector"])),
        "generic" => format!("generic({})", part(0)),
        "masked" => format!("{}({})", part(0), part(1)),
        "difference" => format!("{}-{}", part(0), part(1)),
        "field" => format!("{} = {}", part(0), part(1)),
        "range" => format!("{}<{}>", part(0), part(1)),
        "register" => name(&value["name"]),
        _ => text(&value["name"]).to_owned(),
    }
}

/// An option and its value, if there is one.
fn option(before: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(word) => format!("{before}{word} "),
        value => format!("{before}{} ", operand(value)),
    }
}

fn dims(value: &Value) -> String {
    let dims = list(value).iter().map(|dim| format!("[{}]", operand(dim)));
    dims.collect()
}

fn ty(value: &Value) -> String {
    match value["vector"].as_u64() {
        Some(1) => format!(".{} ", text(&value["type"])),
        Some(elements) => format!(".v{elements} .{} ", text(&value["type"])),
        None => panic!("{value}"),
    }
}

fn attributes(value: &Value) -> String {
    let one = |attribute: &Value| match &*joined(&attribute["arguments"], ", ") {
        "" => format!(".{}", text(&attribute["name"])),
        arguments => format!(".{}({arguments})", text(&attribute["name"])),
    };
    let all: Vec<String> = list(value).iter().map(one).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(".attribute({}) ", all.join(", ")),
    }
}

fn directive(value: &Value) -> String {
    let name = format!(".{}", text(&value["directive"]));
    let directive = Directive::from_text(name.as_bytes()).unwrap();
    let required = directive.integers().map_or(0, |(least, _)| least);
    let mut out = format!("{name} ");
    for (nth, argument) in list(&value["arguments"]).iter().enumerate() {
        out += match (directive, nth) {
            (_, 0) => "",
            (_, nth) if nth < usize::from(required) => " ",
            (Directive::Version, _) => ".",
            (Directive::File, 1) | (Directive::Loc, 1 | 2 | 5 | 6) => " ",
            (Directive::Loc, 3) => ", function_name ",
            (Directive::Loc, 4) => ", inlined_at ",
            _ => ", ",
        };
        out += &operand(argument);
    }
    if directive.ending() == Ending::Semicolon {
        out.push(';');
    }
    out + "\n"
}

fn param(value: &Value) -> String {
    let pointer = match &value["ptr"] {
        Value::Null => String::new(),
        ptr => format!(
            ".ptr {}{}",
            option(".", &ptr["space"]),
            option(".align ", &ptr["align"])
        ),
    };
    format!(
        ".{} {}{}{}{pointer}{}{}",
        text(&value["space"]),
        option(".align ", &value["align"]),
        ty(value),
        option(".align ", &value["trailing_align"]),
        value["name"].as_str().unwrap_or("_"),
        dims(&value["dims"]),
    )
}

fn params(value: &Value) -> String {
    let all: Vec<String> = match value {
        Value::Null => return String::new(),
        value => list(value).iter().map(param).collect(),
    };
    format!("({})", all.join(", "))
}

/// Results, name and parameters, and the directives after them.
fn interface(value: &Value, name: &str) -> String {
    let directives = list(&value["directives"]).iter().map(directive);
    let directives: String = directives.collect();
    format!(
        "{} {name} {}\n{directives}",
        params(&value["results"]),
        params(&value["params"])
    )
}

impl Text {
    fn record(&mut self, record: &Value) {
        if self.open && record["function"].is_null() {
            self.open = false;
            self.out += "}\n";
        }
        let line = match text(&record["record"]) {
            "file" => String::new(),
            "directive" => directive(record),
            "declaration" => declaration(record),
            "section" => section(record),
            "instruction" => instruction(record),
            "label" => format!("{}:\n", text(&record["name"])),
            "open" => "{\n".to_owned(),
            "close" => "}\n".to_owned(),
            "prototype" => format!(".callprototype {};\n", interface(record, "_")),
            "function" => {
                self.open |= record["defined"] == true;
                function(record)
            }
            "unrecognized" => format!("{}\n", text(&record["text"])),
            other => panic!("{other}"),
        };
        self.out += &line;
    }
}

fn function(record: &Value) -> String {
    let end = if record["defined"] == true {
        "{\n"
    } else {
        ";\n"
    };
    if let Some(header) = record["text"].as_str() {
        return format!(
            "{header}{}",
            if record["defined"] == true {
                "{\n"
            } else {
                "\n"
            }
        );
    }
    let linkage = option(".", &record["linkage"]);
    let kind = text(&record["kind"]);
    let attributes = attributes(&record["attributes"]);
    let interface = interface(record, text(&record["name"]));
    format!("{linkage}.{kind} {attributes}{interface}{end}")
}

fn declaration(record: &Value) -> String {
    let mut out = option(".", &record["linkage"]);
    let _ = write!(out, ".{}", text(&record["space"]));
    if !record["bank"].is_null() {
        let _ = write!(out, "[{}]", operand(&record["bank"]));
    }
    let _ = write!(out, " {}", attributes(&record["attributes"]));
    out += &option(".align ", &record["align"]);
    out += &ty(record);
    let name = |value: &Value| {
        let mut out = text(&value["name"]).to_owned();
        if !value["count"].is_null() {
            let _ = write!(out, "<{}>", operand(&value["count"]));
        }
        out += &dims(&value["dims"]);
        if !value["initializer"].is_null() {
            let _ = write!(out, " = {}", operand(&value["initializer"]));
        }
        out
    };
    let names: Vec<String> = list(&record["names"]).iter().map(name).collect();
    out + &names.join(", ") + ";\n"
}

fn section(record: &Value) -> String {
    let entry = |entry: &Value| match entry["label"].as_str() {
        Some(label) => format!("{label}:\n"),
        None => format!(
            ".{} {}\n",
            text(&entry["type"]),
            joined(&entry["values"], ", ")
        ),
    };
    let entries: String = list(&record["entries"]).iter().map(entry).collect();
    format!(".section {}\n{{\n{entries}}}\n", text(&record["name"]))
}

fn instruction(record: &Value) -> String {
    let guard = match &record["guard"] {
        Value::Null => String::new(),
        guard => format!("@{} ", name(guard)),
    };
    let mut mnemonic = text(&record["opcode"]).to_owned();
    for modifier in list(&record["modifiers"]) {
        let _ = write!(mnemonic, ".{}", text(modifier));
    }
    format!("{guard}{mnemonic} {};\n", joined(&record["operands"], ", "))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "ptx"));
    files.sort();
    files
}

fn rebuilt(records: &[Value]) -> String {
    let mut text = Text::default();
    records.iter().for_each(|r| text.record(r));
    if text.open {
        text.out += "}\n";
    }
    text.out
}

/// Larger files take too long.
const MOST: usize = 200_000;

/// Every file of the corpus can be made again from its records: some are.
#[test]
fn records_contain_the_module() {
    let mut files = files("corpus/hand");
    for compiler in ["llvm", "nvcc", "triton"] {
        files.extend(self::files(&format!("corpus/compiled/{compiler}")));
    }
    assert!(files.len() > 50, "{} files", files.len());
    let mut failed = Vec::new();
    for file in sample(4, 2).of(files) {
        let path = file.to_str().unwrap();
        let source = fs::read(&file).unwrap();
        if source.len() > MOST {
            continue;
        }
        let run = ptx(&["dump", path]);
        assert_eq!((run.status, &*run.err), (0, ""), "{path}");
        let records = objects(&run.out);
        assert_eq!(records.len(), run.out.lines().count(), "{path}");
        let again = rebuilt(&records);
        let (old, new) = (
            ptx_parse::parse(&source).module,
            ptx_parse::parse_str(&again).module,
        );
        if let Err(difference) = ptx_ir::compare::compare(&old, &new) {
            let before = String::from_utf8_lossy(difference.left.of(old.source())).into_owned();
            let after = String::from_utf8_lossy(difference.right.of(new.source())).into_owned();
            failed.push(format!("{path}: {difference}: {before} / {after}"));
        }
    }
    assert!(
        failed.is_empty(),
        "{} files:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn operands_have_types_and_values() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .f32 g[2] = {1.5, 0f7F800000};\n.entry k(.param .u64 p) {\n\
        .reg .b64 a;\n.reg .pred q;\n.reg .f32 f;\n{ .reg .f32 f;\nld.param.u64 a, [p+8];\n@!q mov.f32 f, 0d4000000000000000;\n}\nmov.f32 f, 2.5;\n}\n";
    let run = with_input(&["dump", "-"], text.as_bytes());
    let records = objects(&run.out);
    let all =
        |kind: &str| -> Vec<&Value> { records.iter().filter(|r| r["record"] == kind).collect() };
    let file = &records[0];
    assert_eq!(
        (&file["header"]["ptx"], &file["header"]["target"]),
        (&"8.0".into(), &"sm_80".into())
    );
    let global = &all("declaration")[0]["names"][0];
    assert_eq!(global["dims"][0]["value"], 2);
    let values: Vec<&Value> = list(&global["initializer"]["parts"])
        .iter()
        .map(|p| &p["value"])
        .collect();
    assert_eq!(values, [&Value::from(1.5), &Value::Null]);
    let [load, inner, outer] = all("instruction")[..] else {
        panic!("{}", run.out)
    };
    assert_eq!(load["operands"][0]["type"], "b64");
    let address = &load["operands"][1];
    assert_eq!(
        (&address["base"]["kind"], &address["base"]["space"]),
        (&"variable".into(), &"param".into())
    );
    assert_eq!(address["offset"]["value"], 8);
    assert_eq!(load["memory"][0]["offset"], 8);
    assert_eq!(
        (&inner["guard"], &inner["operands"][0]["name"]),
        (&"!q".into(), &"f#2".into())
    );
    // The second register of this name.
    assert_eq!(inner["cond_writes"][0], "f#2");
    assert_eq!(inner["operands"][1]["value"], 2.0);
    assert_eq!(
        (&outer["operands"][0]["name"], &outer["writes"][0]),
        (&"f".into(), &"f".into())
    );
    assert_eq!(outer["span"]["line"], 13);
}

#[test]
fn one_object_has_the_same_records() {
    let path = format!("{}/../corpus/broken", env!("CARGO_MANIFEST_DIR"));
    let whole = objects(&ptx(&["dump", "--format", "json", &path]).out);
    let lines = objects(&ptx(&["dump", &path]).out);
    let mut found = Vec::new();
    for mut file in whole {
        let items = file.as_object_mut().unwrap().remove("items").unwrap();
        found.push(file);
        for mut item in list(&items).to_vec() {
            let inner = item.as_object_mut().unwrap().remove("statements");
            found.push(item);
            found.extend(inner.iter().flat_map(|s| list(s).to_vec()));
        }
    }
    for record in &mut found {
        record["schema"] = 1.into();
    }
    assert!(found.len() > 500, "{}", found.len());
    assert!(found == lines);
    assert!(found.iter().any(|r| r["record"] == "unrecognized"));
}

#[test]
fn functions_and_fields_are_chosen() {
    let folder = Folder::new("dump-fields");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&[
        "dump",
        "--function",
        "k",
        "--fields",
        "opcode,memory.space",
        &file,
    ]);
    let start = format!("{{\"file\":{file:?},\"record\":\"file\",\"schema\":1}}\n");
    assert!(run.out.starts_with(&start), "{}", run.out);
    let function = "{\"kind\":\"entry\",\"record\":\"function\",\"schema\":1}\n";
    assert!(run.out.contains(function), "{}", run.out);
    assert!(
        run.out
            .contains("\"memory\":[{\"space\":\"global\"}],\"opcode\":\"st\""),
        "{}",
        run.out
    );
    assert!(!run.out.contains("\"directive\""), "{}", run.out);
    let nested = ptx(&["dump", "--format", "json", "--fields", "opcode", &file]);
    let nested = &objects(&nested.out)[0];
    let statements = list(&nested["items"][3]["statements"]);
    assert!(statements.iter().any(|s| s["opcode"] == "ret"), "{nested}");
    let wrong = ptx(&["dump", "--fields", "opcod", &file]);
    assert_eq!(wrong.status, 2);
    assert!(
        wrong.err.contains("did you mean `opcode`?"),
        "{}",
        wrong.err
    );
    let missing = ptx(&["dump", "--function", "nothing", &file]);
    assert_eq!(
        (
            missing.status,
            missing.err.contains("no function `nothing`")
        ),
        (2, true)
    );
    let error = not_found();
    expect(
        &ptx(&["dump", "missing.ptx"]),
        2,
        &format!("{{\"schema\":1,\"file\":\"missing.ptx\",\"error\":\"{error}\"}}\n"),
        &format!("ptxkit: missing.ptx: {error}\n"),
    );
}

/// The parts of operands are omitted below a limit.
#[test]
fn deep_initializers_are_written() {
    let depth = 100_000;
    let (open, close) = ("{".repeat(depth), "}".repeat(depth));
    let text = format!(".version 8.0\n.target sm_80\n.global .b32 a[1] = {open}1{close};\n");
    for format in ["json", "ndjson"] {
        let arguments = ["dump", "--format", format, "--fields", "kind", "-"];
        let run = with_input(&arguments, text.as_bytes());
        assert_eq!(
            (run.status, run.out.matches("\"vector\"").count()),
            (0, 48),
            "{}",
            run.err
        );
        assert!(run.out.contains("\"omitted\""));
    }
}
