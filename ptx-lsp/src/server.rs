//! The state of the server: its documents and where its life is. Takes messages and gives messages.

use std::collections::HashMap;
use std::time::Duration;

use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeTextDocument, DidCloseTextDocument,
    DidOpenTextDocument, Exit, Initialized, Notification, PublishDiagnostics,
};
use lsp_types::request::{Initialize, Request, Shutdown};
use lsp_types::{
    DidChangeConfigurationParams, InitializeParams, InitializeResult, PositionEncodingKind,
    PublishDiagnosticsParams, ServerInfo, Uri,
};
use ptx_analysis::incremental::Budget;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::custom;
use crate::diagnostics;
use crate::document::Document;
use crate::jobs::{Jobs, Wake};
use crate::message::{self, Failure, Incoming, code};
use crate::opened::Opened;
use crate::requests::{self, capabilities};
use crate::settings::Settings;
use crate::text::Encoding;

/// What a client may send.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Stage {
    Uninitialized,
    Running,
    /// After `shutdown`.
    Stopping,
    Exited(u8),
}

/// How many statements are linted before the next message of the client is taken: it waits for some milliseconds.
const SLICE: u64 = 5_000;

/// How long the server waits for a kernel that runs when the client ends the session.
const LAST: Duration = Duration::from_secs(2);

/// A language server without streams: messages go in by [`receive`](Self::receive), answers come out by
/// [`take_messages`](Self::take_messages). While no message waits, [`work`](Self::work) lints large documents.
#[derive(Debug)]
pub struct Server {
    stage: Stage,
    settings: Settings,
    documents: HashMap<String, Document>,
    /// The documents whose diagnostics have to be published.
    changed: Vec<Uri>,
    /// The documents of which functions are not linted so far.
    unlinted: Vec<Uri>,
    messages: Vec<String>,
    /// The requests that other threads answer; `None` if there are no other threads.
    jobs: Option<Jobs>,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A server that waits for `initialize`.
    #[must_use]
    pub fn new() -> Self {
        Self {
            stage: Stage::Uninitialized,
            settings: Settings::default(),
            documents: HashMap::new(),
            changed: Vec::new(),
            unlinted: Vec::new(),
            messages: Vec::new(),
            jobs: None,
        }
    }

    /// A server that answers requests which take long on other threads. When an answer is there, it says so: [`answer`](Self::answer) takes it.
    pub(crate) fn with_threads(wake: Wake) -> Self {
        Self {
            jobs: Some(Jobs::new(wake)),
            ..Self::new()
        }
    }

    /// Takes the answers of other threads.
    pub(crate) fn answer(&mut self) {
        let finished = self.jobs.as_mut().map(Jobs::finished);
        for (id, answer) in finished.into_iter().flatten() {
            self.respond(&id, answer);
        }
    }

    /// Takes one message of the client, and publishes diagnostics of what it changed. Those of lints in large documents follow when [`work`](Self::work)
    /// was called.
    pub fn receive(&mut self, message: &[u8]) {
        self.receive_all(&[message]);
        self.publish();
    }

    /// Takes messages in their order. A request that a later one of them cancels is not computed.
    pub(crate) fn receive_all(&mut self, messages: &[impl AsRef<[u8]>]) {
        let read = |m| serde_json::from_slice::<Incoming<'_>>(m);
        let all: Vec<_> = messages.iter().map(|m| read(m.as_ref())).collect();
        let cancelled: Vec<Value> = all.iter().flatten().filter_map(cancels).collect();
        for incoming in all {
            match incoming {
                Ok(incoming) => self.take(incoming, &cancelled),
                Err(error) => {
                    let failure = Failure::new(code::PARSE_ERROR, error.to_string());
                    self.respond(&Value::Null, Err(failure));
                }
            }
        }
    }

    fn take(&mut self, incoming: Incoming<'_>, cancelled: &[Value]) {
        match (incoming.method, incoming.id) {
            (Some(method), Some(id)) => {
                let answer = match cancelled.contains(&id) {
                    true => Some(Err(Failure::new(code::REQUEST_CANCELLED, "cancelled"))),
                    false => self.start(&id, &method, incoming.params),
                };
                if let Some(answer) = answer {
                    self.respond(&id, answer);
                }
            }
            (Some(method), None) => self.notification(&method, incoming.params),
            // The server sends no requests, so it expects no answers.
            (None, Some(_)) => {}
            (None, None) => {
                let failure = Failure::new(code::INVALID_REQUEST, "a message without a method");
                self.respond(&Value::Null, Err(failure));
            }
        }
    }

    /// Waits some time for the answers of other threads, and cancels what is not answered then.
    pub(crate) fn end_jobs(&mut self, time: Duration) {
        let ended = self.jobs.as_mut().map(|jobs| jobs.end(time));
        for (id, answer) in ended.into_iter().flatten() {
            self.respond(&id, answer);
        }
    }

    fn respond(&mut self, id: &Value, answer: Answer) {
        self.messages.push(message::response(id, answer));
    }

    /// The answers and notifications since the last call.
    #[must_use]
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// The status to exit with, once the client has said `exit`.
    #[must_use]
    pub const fn exit_status(&self) -> Option<u8> {
        match self.stage {
            Stage::Exited(status) => Some(status),
            _ => None,
        }
    }

    /// Answers a request; `None` if another thread does it.
    fn start(&mut self, id: &Value, method: &str, params: Option<&RawValue>) -> Option<Answer> {
        if self.stage != Stage::Running || self.jobs.is_none() || !custom::takes_long(method) {
            return Some(self.request(method, params));
        }
        let settings = self.settings;
        let started = custom::prepare(self, settings, params).and_then(|answer| {
            let jobs = self.jobs.as_mut();
            jobs.map_or(Ok(()), |jobs| jobs.start(id, answer))
        });
        started.err().map(Err)
    }

    fn request(&mut self, method: &str, params: Option<&RawValue>) -> Answer {
        match (self.stage, method) {
            (Stage::Uninitialized, Initialize::METHOD) => self.initialize(parse(params)?),
            (Stage::Uninitialized, _) => {
                Err(Failure::new(code::NOT_INITIALIZED, "expected `initialize`"))
            }
            (Stage::Running, Shutdown::METHOD) => {
                self.stage = Stage::Stopping;
                self.end_jobs(LAST);
                to_json(Value::Null)
            }
            (Stage::Running, _) => requests::answer(self, method, params),
            _ => Err(Failure::new(
                code::INVALID_REQUEST,
                "the server is shut down",
            )),
        }
    }

    fn initialize(&mut self, params: InitializeParams) -> Answer {
        self.stage = Stage::Running;
        let offered = params
            .capabilities
            .general
            .and_then(|g| g.position_encodings);
        if offered.is_some_and(|all| all.contains(&PositionEncodingKind::UTF8)) {
            self.settings.encoding = Encoding::Utf8;
        }
        if let Some(options) = &params.initialization_options {
            self.settings.read(options);
        }
        to_json(InitializeResult {
            capabilities: capabilities(self.settings.encoding),
            server_info: Some(ServerInfo {
                name: "ptxkit".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    /// Notifications that cannot be read, or that the server does not know, are ignored: they have no answer.
    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        match (self.stage, method) {
            (Stage::Running, DidOpenTextDocument::METHOD) => {
                if let Ok(Opened { text_document }) = parse(params)
                    && let Ok(text) = text_document.text()
                {
                    let (uri, version) = (text_document.uri, text_document.version);
                    let key = uri.as_str().to_owned();
                    let document = Document::new(uri.clone(), version, text, self.settings);
                    self.documents.insert(key, document);
                    self.has_changed(uri);
                }
            }
            (Stage::Running, DidChangeTextDocument::METHOD) => {
                if let Ok(params) = parse::<<DidChangeTextDocument as Notification>::Params>(params)
                    && let Some(document) =
                        self.documents.get_mut(params.text_document.uri.as_str())
                {
                    document.version = params.text_document.version;
                    for change in params.content_changes {
                        document.change(change);
                    }
                    self.has_changed(params.text_document.uri);
                }
            }
            (Stage::Running, DidCloseTextDocument::METHOD) => {
                if let Ok(params) = parse::<<DidCloseTextDocument as Notification>::Params>(params)
                {
                    let uri = params.text_document.uri;
                    self.documents.remove(uri.as_str());
                    self.publish_diagnostics(PublishDiagnosticsParams::new(uri, Vec::new(), None));
                }
            }
            (Stage::Running, DidChangeConfiguration::METHOD) => {
                if let Ok(params) = parse::<DidChangeConfigurationParams>(params) {
                    self.configure(&params.settings);
                }
            }
            (Stage::Running, Cancel::METHOD) => {
                let id = parse::<Value>(params).ok();
                let id = id.as_ref().and_then(|params| params.get("id"));
                if let (Some(jobs), Some(id)) = (&self.jobs, id) {
                    jobs.cancel(id);
                }
            }
            (Stage::Stopping, Exit::METHOD) => self.stage = Stage::Exited(0),
            (_, Exit::METHOD) => self.stage = Stage::Exited(1),
            (_, Initialized::METHOD) => {}
            _ => {}
        }
    }

    /// Examines all open documents again, if the client has changed what is examined.
    fn configure(&mut self, settings: &Value) {
        let before = self.settings.lints;
        self.settings.read(settings);
        if self.settings.lints == before {
            return;
        }
        for document in self.documents.values_mut() {
            document.set_linted(self.settings.lints);
            if !self.changed.contains(&document.uri) {
                self.changed.push(document.uri.clone());
            }
        }
    }

    fn has_changed(&mut self, uri: Uri) {
        if !self.changed.contains(&uri) {
            self.changed.push(uri);
        }
    }

    /// Publishes the diagnostics of changed documents, of large ones before all functions are linted.
    pub(crate) fn publish(&mut self) {
        for uri in std::mem::take(&mut self.changed) {
            self.unlinted.retain(|other| *other != uri);
            if let Some(document) = self.documents.get_mut(uri.as_str()) {
                document.update();
                let is_complete = document.lint(&mut Budget::new(SLICE));
                self.publish_document(&uri);
                if !is_complete {
                    self.unlinted.push(uri);
                }
            }
        }
    }

    /// Whether [`work`](Self::work) has something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.unlinted.is_empty()
    }

    /// Lints some functions of a large document, for some milliseconds, and publishes its diagnostics after the last one.
    ///
    /// ```
    /// let mut server = ptx_lsp::Server::new();
    /// server.receive(br#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}"#);
    /// while server.has_work() {
    ///     server.work();
    /// }
    /// assert_eq!(server.take_messages().len(), 1);
    /// ```
    pub fn work(&mut self) {
        let Some(uri) = self.unlinted.first().cloned() else {
            return;
        };
        let document = self.documents.get_mut(uri.as_str());
        let is_complete = document.is_none_or(|document| {
            document.update();
            document.lint(&mut Budget::new(SLICE))
        });
        if is_complete {
            self.unlinted.remove(0);
            self.publish_document(&uri);
        }
    }

    fn publish_document(&mut self, uri: &Uri) {
        if let Some(document) = self.documents.get(uri.as_str()) {
            let found = diagnostics::of_document(document);
            let version = Some(document.version);
            self.publish_diagnostics(PublishDiagnosticsParams::new(uri.clone(), found, version));
        }
    }

    fn publish_diagnostics(&mut self, params: PublishDiagnosticsParams) {
        let message = message::notification(PublishDiagnostics::METHOD, params);
        self.messages.push(message);
    }

    /// An open document, with its module up to date.
    pub(crate) fn document(&mut self, uri: &Uri) -> Result<&Document, Failure> {
        let unknown = || Failure::new(code::INVALID_PARAMS, "the document is not open");
        let document = self.documents.get_mut(uri.as_str()).ok_or_else(unknown)?;
        document.update();
        if self.changed.contains(uri) {
            document.lint(&mut Budget::new(SLICE));
        }
        Ok(document)
    }

    /// All open documents.
    pub(crate) fn documents(&mut self) -> impl Iterator<Item = &Document> {
        self.documents.values_mut().map(|document| {
            document.update();
            &*document
        })
    }
}

/// The request that a message cancels.
fn cancels(incoming: &Incoming<'_>) -> Option<Value> {
    (incoming.method.as_deref() == Some(Cancel::METHOD)).then_some(())?;
    let params: Value = serde_json::from_str(incoming.params?.get()).ok()?;
    params.get("id").cloned()
}

/// The parameters of a message.
pub(crate) fn parse<'a, P: serde::Deserialize<'a>>(
    params: Option<&'a RawValue>,
) -> Result<P, Failure> {
    let text = params.map_or("null", RawValue::get);
    serde_json::from_str(text).map_err(|e| Failure::new(code::INVALID_PARAMS, e.to_string()))
}

/// The text of a result, or why there is none.
pub(crate) type Answer = Result<Box<RawValue>, Failure>;

/// The text of a result.
pub(crate) fn to_json(result: impl serde::Serialize) -> Answer {
    serde_json::value::to_raw_value(&result)
        .map_err(|e| Failure::new(code::REQUEST_FAILED, e.to_string()))
}
