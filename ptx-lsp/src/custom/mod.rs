//! Requests that are not part of the protocol: `ptxkit/…`. `docs/editors.md` describes them.

mod control_flow;
mod explain;
mod functions;
mod liveness;
mod requirements;
mod run;
mod statistics;

use lsp_types::TextDocumentIdentifier;
use ptx_ir::{FuncId, Module};
use ptx_vm::Progress;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::message::{Failure, code};
use crate::rewrites;
use crate::server::{Answer, Server, parse, to_json};
use crate::settings::Settings;

/// How the names of these requests begin.
pub(crate) const PREFIX: &str = "ptxkit/";

/// The parameters of most of them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    text_document: TextDocumentIdentifier,
    /// The name of a function in the text.
    function: Option<String>,
    theme: Option<String>,
}

#[derive(Deserialize)]
struct Explain {
    word: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rewrite {
    text_document: TextDocumentIdentifier,
    name: String,
    #[serde(default)]
    options: serde_json::Map<String, serde_json::Value>,
}

/// Whether a request may take long: it runs a program.
pub(crate) fn takes_long(method: &str) -> bool {
    method.strip_prefix(PREFIX) == Some("run")
}

/// What answers a request that takes long, on any thread.
pub(crate) fn prepare(
    server: &mut Server,
    mut settings: Settings,
    params: Option<&RawValue>,
) -> Result<impl FnOnce(&Progress) -> Answer + Send + 'static, Failure> {
    let p: run::Run = parse(params)?;
    let document = server.document(&p.text_document.uri)?;
    let (uri, version) = (document.uri.clone(), document.version);
    let text = String::from_utf8_lossy(document.source()).into_owned();
    settings.lints = false;
    Ok(move |progress: &Progress| {
        let mut document = Document::new(uri, version, text, settings);
        document.update();
        to_json(run::run(&document, &p, Some(progress))?)
    })
}

/// Answers a request, given its name without [`PREFIX`].
pub(crate) fn answer(server: &mut Server, name: &str, params: Option<&RawValue>) -> Answer {
    match name {
        "explain" => to_json(explain::explain(&parse::<Explain>(params)?.word)),
        "rewrites" => to_json(rewrites::all()),
        "run" => {
            let p: run::Run = parse(params)?;
            let document = server.document(&p.text_document.uri)?;
            to_json(run::run(document, &p, None)?)
        }
        "rewrite" => {
            let p: Rewrite = parse(params)?;
            let document = server.document(&p.text_document.uri)?;
            to_json(rewrites::rewrite(document, &p.name, &p.options)?)
        }
        _ => {
            let of: fn(&Document, &About) -> Answer = match name {
                "functions" => |d, _| to_json(functions::functions(d)),
                "kernels" => |d, _| to_json(run::kernels(d)),
                "controlFlow" => |d, p| to_json(control_flow::control_flow(d, p)?),
                "liveness" => |d, p| to_json(liveness::liveness(d, function(d.module(), p)?)),
                "statistics" => |d, p| to_json(statistics::statistics(d, p)?),
                "requirements" => |d, _| to_json(requirements::requirements(d)),
                _ => return Err(unknown_method(name)),
            };
            let p: About = parse(params)?;
            of(server.document(&p.text_document.uri)?, &p)
        }
    }
}

fn unknown_method(name: &str) -> Failure {
    let message = format!("unknown method `{PREFIX}{name}`");
    Failure::new(code::METHOD_NOT_FOUND, message)
}

/// The function that the parameters name, which has a body.
fn function(module: &Module, about: &About) -> Result<FuncId, Failure> {
    let Some(name) = &about.function else {
        let message = "expected the parameter `function`";
        return Err(Failure::new(code::INVALID_PARAMS, message));
    };
    let mut all = module.definitions();
    let found = all.find(|(_, function, _)| module.name(function.name) == name);
    let unknown = || format!("no function `{name}` with a body");
    let found = found.ok_or_else(|| Failure::new(code::INVALID_PARAMS, unknown()));
    found.map(|(id, _, _)| id)
}
