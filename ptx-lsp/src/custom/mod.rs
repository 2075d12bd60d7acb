//! Requests that are not part of the protocol: `ptxkit/…`. `docs/editors.md` describes them.

mod control_flow;
mod functions;
mod liveness;
mod requirements;
mod run;

use lsp_types::TextDocumentIdentifier;
use ptx_ir::{FuncId, Module};
use ptx_vm::Progress;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document::{Document, Settings};
use crate::documents::Documents;
use crate::explanation;
use crate::message::{Answer, Failure, code, parse, to_json};
use crate::rewrites;

/// The prefix of the names of these requests.
pub(crate) const PREFIX: &str = "ptxkit/";

/// The parameters of requests about a document or one of its functions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionParams {
    text_document: TextDocumentIdentifier,
    /// The name of a function in the text.
    function: Option<String>,
    theme: Option<String>,
}

#[derive(Deserialize)]
struct ExplainParams {
    word: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RewriteParams {
    text_document: TextDocumentIdentifier,
    name: String,
    #[serde(default)]
    options: serde_json::Map<String, serde_json::Value>,
}

/// Whether a request may take long, because it runs a program.
pub(crate) fn is_slow(method: &str) -> bool {
    method.strip_prefix(PREFIX) == Some("run")
}

/// Prepares the answer to `ptxkit/run`, which may be computed on any thread: the function that is returned has a copy of the document.
pub(crate) fn prepare_run(
    documents: &mut Documents,
    mut settings: Settings,
    params: Option<&RawValue>,
) -> Result<impl FnOnce(&Progress) -> Answer + Send + 'static, Failure> {
    let params: run::Run = parse(params)?;
    let document = documents.get(&params.text_document.uri)?;
    let (uri, version) = (document.uri.clone(), document.version);
    let text = String::from_utf8_lossy(document.source()).into_owned();
    settings.lints = false;
    Ok(move |progress: &Progress| {
        let mut document = Document::new(uri, version, text, settings);
        document.update();
        to_json(run::run(&document, &params, Some(progress))?)
    })
}

/// Answers a request. `name` is its name without [`PREFIX`].
pub(crate) fn answer(documents: &mut Documents, name: &str, params: Option<&RawValue>) -> Answer {
    match name {
        "explain" => {
            let params: ExplainParams = parse(params)?;
            to_json(explanation::explain(&params.word))
        }
        "rewrites" => to_json(rewrites::all()),
        "run" => {
            let params: run::Run = parse(params)?;
            let document = documents.get(&params.text_document.uri)?;
            to_json(run::run(document, &params, None)?)
        }
        "rewrite" => {
            let params: RewriteParams = parse(params)?;
            let document = documents.get(&params.text_document.uri)?;
            to_json(rewrites::rewrite(document, &params.name, &params.options)?)
        }
        _ => answer_about_function(documents, name, params),
    }
}

/// Answers a request about a document or one of its functions. A method is unknown before its parameters are wrong.
fn answer_about_function(
    documents: &mut Documents,
    name: &str,
    params: Option<&RawValue>,
) -> Answer {
    let answer: fn(&Document, &FunctionParams) -> Answer = match name {
        "functions" => |d, _| to_json(functions::functions(d)),
        "kernels" => |d, _| to_json(functions::kernels(d)),
        "controlFlow" => |d, p| to_json(control_flow::control_flow(d, p)?),
        "liveness" => |d, p| to_json(liveness::liveness(d, function(d.module(), p)?)),
        "statistics" => |d, p| to_json(functions::statistics(d, p)?),
        "requirements" => |d, _| to_json(requirements::requirements(d)),
        _ => {
            let message = format!("unknown method `{PREFIX}{name}`");
            return Err(Failure::new(code::METHOD_NOT_FOUND, message));
        }
    };
    let params: FunctionParams = parse(params)?;
    answer(documents.get(&params.text_document.uri)?, &params)
}

/// The function with a body that the parameters name.
fn function(module: &Module, params: &FunctionParams) -> Result<FuncId, Failure> {
    let Some(name) = &params.function else {
        let message = "expected the parameter `function`";
        return Err(Failure::new(code::INVALID_PARAMS, message));
    };
    let mut definitions = module.definitions();
    match definitions.find(|(_, function, _)| module.name(function.name) == name) {
        Some((id, _, _)) => Ok(id),
        None => {
            let message = format!("no function `{name}` with a body");
            Err(Failure::new(code::INVALID_PARAMS, message))
        }
    }
}
