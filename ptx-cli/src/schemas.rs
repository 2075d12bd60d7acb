//! `docs/schema` contains the JSON Schemas of the output, made from the types. `.ci/schemas.py` checks outputs against them.

use std::fs;

use schemars::{JsonSchema, SchemaGenerator};

use crate::commands::grep::hit;
use crate::commands::{
    callgraph, clean, debug, diff, exec, explore, link, list, litmus, run, sass, source, stats,
};
use crate::destination::Outcome;
use crate::input;
use crate::render::json;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema");

/// The schema of what is written: keys that are always written are required, those with no value `null`.
fn schema<T: JsonSchema>() -> String {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn schemas_are_those_of_the_types() {
    let schemas = [
        ("callgraph", schema::<callgraph::model::Graph<'_>>()),
        ("cfg", schema::<ptx_report::control_flow::Graph>()),
        ("check", schema::<json::Finding<'_>>()),
        ("check-clean", schema::<json::Clean<'_>>()),
        ("clean", schema::<clean::JsonChange<'_>>()),
        ("dump", schema::<ptx_report::records::Record<'_>>()),
        ("diff", schema::<diff::report::Report>()),
        ("exec", schema::<exec::report::JsonExec<'_>>()),
        ("exec-profile", schema::<exec::report::JsonProfile<'_>>()),
        ("explain", schema::<ptx_report::explain::Entry>()),
        ("explore", schema::<explore::JsonExploration<'_>>()),
        ("litmus", schema::<litmus::JsonVerdict<'_>>()),
        (
            "explain-fragments",
            schema::<ptx_report::fragments::Fragments>(),
        ),
        ("grep", schema::<hit::JsonHit>()),
        ("grep-count", schema::<hit::JsonCount<'_>>()),
        ("grep-list", schema::<hit::JsonFile<'_>>()),
        ("list", schema::<list::JsonFile<'_>>()),
        ("link", schema::<link::Linked<'_>>()),
        ("debug-parse", schema::<debug::parse::Summary>()),
        ("report", schema::<ptx_report::report::Report>()),
        ("requires", schema::<ptx_report::requirements::Report<'_>>()),
        ("rewrite", schema::<Outcome<'_>>()),
        (
            "debug-roundtrip",
            schema::<debug::roundtrip::JsonVerdict<'_>>(),
        ),
        ("run", schema::<run::report::JsonRun<'_>>()),
        ("run-trace", schema::<run::trace::record::JsonStep<'_>>()),
        ("sass", schema::<sass::json::File<'_>>()),
        ("source", schema::<source::schema::File<'_>>()),
        ("source-by-source", schema::<source::schema::BySource<'_>>()),
        ("stats", schema::<stats::Line<'_>>()),
        ("unreadable", schema::<input::Unreadable<'_>>()),
        ("debug-tokens", schema::<debug::tokens::JsonToken<'_>>()),
    ];
    for (name, text) in schemas {
        let path = format!("{FOLDER}/{name}.json");
        if std::env::var_os("PTXKIT_BLESS").is_some() {
            fs::create_dir_all(FOLDER).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, text, "run with PTXKIT_BLESS=1");
    }
}

/// The part of `JSON.md` that is made from the schema of records.
mod document {
    use serde_json::Value;

    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/JSON.md");
    const BEGIN: &str = "<!-- records -->\n";
    const END: &str = "<!-- end -->\n";
    /// The fields that all records have.
    const COMMON: [&str; 4] = ["record", "schema", "function", "span"];

    /// The text of a description on one line, with an end.
    fn description(schema: &Value) -> String {
        let text = schema["description"].as_str().unwrap_or_default();
        let text = text.replace('\n', " ").replace('|', "\\|");
        text.trim_end_matches('.').to_owned()
    }

    /// The name of the type that a schema refers to, directly, as an element or as an alternative to null.
    fn reference(schema: &Value) -> Option<&str> {
        let alternatives = schema["anyOf"].as_array().into_iter().flatten();
        let inner = alternatives.chain(schema.get("items"));
        let path = schema["$ref"].as_str();
        path.map(|path| path.strip_prefix("#/$defs/").unwrap_or("Record"))
            .or_else(|| inner.into_iter().find_map(reference))
    }

    fn words(schema: &Value) -> Option<String> {
        let words = schema["enum"].as_array()?.iter().filter_map(Value::as_str);
        let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
        Some(words.join(", "))
    }

    /// The names of constants that are alternatives, such as the types of numbers.
    fn constants(schema: &Value) -> Option<String> {
        let alternatives = schema["oneOf"].as_array()?.iter();
        let names = alternatives.map(|one| Some(format!("`{}`", one["const"].as_str()?)));
        Some(names.collect::<Option<Vec<_>>>()?.join(", "))
    }

    fn table(schema: &Value, without: &[&str]) -> String {
        let mut text = "| field | meaning |\n|---|---|\n".to_owned();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            if without.contains(&name.as_str()) {
                continue;
            }
            let kind = reference(field).map(|kind| format!(" ({kind})"));
            let (meaning, kind) = (description(field), kind.unwrap_or_default());
            text += &format!("| `{name}` | {meaning}{kind} |\n");
        }
        text
    }

    /// The tables of all records and of the types in them.
    fn records(schema: &Value) -> String {
        let mut text = "\nAll records have these fields:\n\n| field | meaning |\n|---|---|\n\
            | `schema` | 1; absent in records that others contain |\n\
            | `record` | the kind of the record |\n\
            | `function` | the `id` of the function that contains it, or `null`; absent for a file |\n\
            | `span` | its source range; absent for a file |\n"
            .to_owned();
        for record in schema["oneOf"].as_array().into_iter().flatten() {
            let name = record["properties"]["record"]["const"].as_str();
            let (name, meaning) = (name.unwrap_or_default(), description(record));
            text += &format!("\nRecord `{name}`: {meaning}\n");
            if record["properties"]
                .as_object()
                .is_some_and(|p| p.len() > COMMON.len())
            {
                text += &format!("\n{}", table(record, &COMMON));
            }
        }
        for (name, kind) in schema["$defs"].as_object().into_iter().flatten() {
            let meaning = description(kind);
            if let Some(words) = words(kind).or_else(|| constants(kind)) {
                text += &format!("\n{name}: {words}\n");
            } else if kind.get("properties").is_some() {
                text += &format!("\n{name}: {meaning}\n\n{}", table(kind, &[]));
            } else if let Some(rows) = rows_of_shapes(kind) {
                text += &format!("\n{name}: {meaning}\n\n| fields |\n|---|\n{rows}");
            } else if name == "Operand" {
                text += &format!("\n{name}: {meaning}; its `kind` is\n\n{}", operands(kind));
            }
        }
        text + "\n"
    }

    /// The fields of each shape that an untagged object can have; `None` if it is not such an object.
    fn rows_of_shapes(schema: &Value) -> Option<String> {
        let shapes = schema["anyOf"].as_array()?.iter();
        let rows = shapes.map(|shape| {
            let fields = shape["properties"].as_object()?.into_iter();
            let fields: Vec<String> = fields.map(described_field).collect();
            Some(format!("| {} |\n", fields.join("; ")))
        });
        rows.collect()
    }

    fn described_field((name, field): (&String, &Value)) -> String {
        format!("`{name}`: {}", description(field))
    }

    fn operands(schema: &Value) -> String {
        let mut text = "| `kind` | meaning | other fields |\n|---|---|---|\n".to_owned();
        for operand in schema["oneOf"].as_array().into_iter().flatten() {
            let name = operand["properties"]["kind"]["const"]
                .as_str()
                .unwrap_or_default();
            let fields = operand["properties"].as_object().into_iter().flatten();
            let fields = fields
                .filter(|(name, _)| *name != "kind")
                .map(described_field);
            let fields: Vec<String> = fields.collect();
            text += &format!(
                "| `{name}` | {} | {} |\n",
                description(operand),
                fields.join("; ")
            );
        }
        text
    }

    #[test]
    fn records_are_described_by_their_types() {
        let schema = super::schema::<ptx_report::records::Record<'_>>();
        let tables = records(&serde_json::from_str(&schema).unwrap());
        let document = std::fs::read_to_string(PATH).unwrap();
        let (before, tail) = document.split_once(BEGIN).unwrap();
        let (written, after) = tail.split_once(END).unwrap();
        if std::env::var_os("PTXKIT_BLESS").is_some() {
            std::fs::write(PATH, format!("{before}{BEGIN}{tables}{END}{after}")).unwrap();
        } else {
            assert_eq!(written, tables, "run with PTXKIT_BLESS=1");
        }
    }
}
