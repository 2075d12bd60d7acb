//! `docs/schema` contains the JSON Schemas of the output, made from the types. `.ci/schemas.py` checks outputs against them.

use std::fs;

use schemars::{JsonSchema, SchemaGenerator};

use crate::commands::grep::hit;
use crate::commands::{
    analyze, callgraph, clean, diff, dump, link, list, parse, roundtrip, run, source, stats, tokens,
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
        ("analyze", schema::<analyze::schema::File>()),
        ("callgraph", schema::<callgraph::model::Graph<'_>>()),
        ("cfg", schema::<ptx_report::control_flow::Graph>()),
        ("check", schema::<json::Finding<'_>>()),
        ("check-clean", schema::<json::Clean<'_>>()),
        ("clean", schema::<clean::JsonChange<'_>>()),
        ("dump", schema::<dump::schema::Record>()),
        ("diff", schema::<diff::report::Report>()),
        ("explain", schema::<ptx_report::explain::Entry>()),
        ("grep", schema::<hit::JsonHit>()),
        ("grep-count", schema::<hit::JsonCount<'_>>()),
        ("grep-list", schema::<hit::JsonFile<'_>>()),
        ("list", schema::<list::JsonFile<'_>>()),
        ("link", schema::<link::Linked<'_>>()),
        ("parse", schema::<parse::Summary>()),
        ("report", schema::<ptx_report::report::Report>()),
        ("requires", schema::<ptx_report::requirements::Report<'_>>()),
        ("rewrite", schema::<Outcome<'_>>()),
        ("roundtrip", schema::<roundtrip::JsonVerdict<'_>>()),
        ("run", schema::<run::report::JsonRun<'_>>()),
        ("run-trace", schema::<run::trace::record::JsonStep<'_>>()),
        ("source", schema::<source::schema::File<'_>>()),
        ("source-by-source", schema::<source::schema::BySource<'_>>()),
        ("stats", schema::<stats::Line<'_>>()),
        ("unreadable", schema::<input::Unreadable<'_>>()),
        ("tokens", schema::<tokens::JsonToken<'_>>()),
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
