//! The state of a session: takes the messages of a client and produces the messages of the server.

use std::time::Duration;

use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeTextDocument, DidCloseTextDocument,
    DidOpenTextDocument, Exit, Notification, PublishDiagnostics,
};
use lsp_types::request::{Initialize, Request, Shutdown};
use lsp_types::{
    DidChangeConfigurationParams, InitializeParams, InitializeResult, PositionEncodingKind,
    PublishDiagnosticsParams, ServerInfo,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::custom;
use crate::document::Settings;
use crate::documents::Documents;
use crate::jobs::{Jobs, Wake};
use crate::machine_code::ServerOptions;
use crate::message::{self, Answer, Failure, Incoming, Opened, code, parse, to_json};
use crate::requests::{self, capabilities};
use crate::text::Encoding;

/// The stages of a session.
///
/// ```text
/// Uninitialized ── initialize ──▶ Running ── shutdown ──▶ Stopping ── exit ──▶ Exited(0)
///       └───────────── exit ─────────┴──────────────────────────────────────▶ Exited(1)
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Stage {
    Uninitialized,
    Running,
    Stopping,
    /// The field is the status with which the process exits.
    Exited(u8),
}

/// The time that running kernels get when the client ends the session.
const SHUTDOWN_TIME: Duration = Duration::from_secs(2);

/// A language server without streams. [`receive`](Self::receive) takes a message of the client, and [`take_messages`](Self::take_messages) returns the
/// messages for the client. While no message waits, [`work`](Self::work) lints large documents.
#[derive(Debug)]
pub struct Server {
    stage: Stage,
    settings: Settings,
    documents: Documents,
    messages: Vec<String>,
    /// The requests that are answered on other threads; `None` if the server has no other threads.
    jobs: Option<Jobs>,
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// Creates a server that waits for `initialize`.
    #[must_use]
    pub fn new() -> Self {
        Self::with_options(ServerOptions::default())
    }

    /// Creates a server with options.
    #[must_use]
    pub fn with_options(options: ServerOptions) -> Self {
        Self {
            stage: Stage::Uninitialized,
            settings: Settings::default(),
            documents: Documents::new(options),
            messages: Vec::new(),
            jobs: None,
        }
    }

    /// Creates a server that answers slow requests on other threads. `wake` is called when such an answer is ready for
    /// [`collect_answers`](Self::collect_answers).
    pub(crate) fn with_threads(options: ServerOptions, wake: Wake) -> Self {
        Self {
            jobs: Some(Jobs::new(wake)),
            ..Self::with_options(options)
        }
    }

    /// Adds the answers of other threads that are ready to the messages for the client.
    pub(crate) fn collect_answers(&mut self) {
        let finished = self.jobs.as_mut().map(Jobs::finished);
        for (id, answer) in finished.into_iter().flatten() {
            self.respond(&id, answer);
        }
    }

    /// Takes one message of the client, and publishes the diagnostics of the documents that it changed. In large documents, the diagnostics of lints
    /// are published by [`work`](Self::work).
    pub fn receive(&mut self, message: &[u8]) {
        self.receive_all(&[message]);
        self.publish();
    }

    /// Takes messages in their order. A request that a later message cancels is not computed.
    pub(crate) fn receive_all(&mut self, messages: &[impl AsRef<[u8]>]) {
        let incoming: Vec<_> = messages
            .iter()
            .map(|message| serde_json::from_slice::<Incoming<'_>>(message.as_ref()))
            .collect();
        let canceled: Vec<Value> = incoming.iter().flatten().filter_map(canceled_id).collect();
        for message in incoming {
            match message {
                Ok(message) => self.receive_message(message, &canceled),
                Err(error) => {
                    let failure = Failure::new(code::PARSE_ERROR, error.to_string());
                    self.respond(&Value::Null, Err(failure));
                }
            }
        }
    }

    fn receive_message(&mut self, incoming: Incoming<'_>, canceled: &[Value]) {
        match (incoming.method, incoming.id) {
            (Some(method), Some(id)) => {
                let answer = if canceled.contains(&id) {
                    Some(Err(Failure::new(code::REQUEST_CANCELLED, "cancelled")))
                } else {
                    self.start(&id, &method, incoming.params)
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

    /// Waits for the answers of other threads, for at most `time`. Requests that are not answered by then are canceled.
    pub(crate) fn end_jobs(&mut self, time: Duration) {
        let ended = self.jobs.as_mut().map(|jobs| jobs.end(time));
        for (id, answer) in ended.into_iter().flatten() {
            self.respond(&id, answer);
        }
    }

    fn respond(&mut self, id: &Value, answer: Answer) {
        self.messages.push(message::response(id, answer));
    }

    /// Returns the answers and notifications since the last call.
    #[must_use]
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// The exit status of the process; `None` before the notification `exit`.
    #[must_use]
    pub const fn exit_status(&self) -> Option<u8> {
        match self.stage {
            Stage::Exited(status) => Some(status),
            _ => None,
        }
    }

    /// Answers a request, or starts a job that answers it and returns `None`.
    fn start(&mut self, id: &Value, method: &str, params: Option<&RawValue>) -> Option<Answer> {
        match &mut self.jobs {
            Some(jobs) if self.stage == Stage::Running && custom::is_slow(method) => {
                custom::prepare_run(&mut self.documents, self.settings, params)
                    .and_then(|run| jobs.start(id, run))
                    .err()
                    .map(Err)
            }
            _ => Some(self.request(method, params)),
        }
    }

    fn request(&mut self, method: &str, params: Option<&RawValue>) -> Answer {
        match (self.stage, method) {
            (Stage::Uninitialized, Initialize::METHOD) => self.initialize(parse(params)?),
            (Stage::Uninitialized, _) => {
                Err(Failure::new(code::NOT_INITIALIZED, "expected `initialize`"))
            }
            (Stage::Running, Shutdown::METHOD) => {
                self.stage = Stage::Stopping;
                self.end_jobs(SHUTDOWN_TIME);
                to_json(Value::Null)
            }
            (Stage::Running, _) => requests::answer(&mut self.documents, method, params),
            _ => Err(Failure::new(
                code::INVALID_REQUEST,
                "the server is shut down",
            )),
        }
    }

    fn initialize(&mut self, params: InitializeParams) -> Answer {
        self.stage = Stage::Running;
        let client_encodings = params
            .capabilities
            .general
            .and_then(|general| general.position_encodings);
        if client_encodings.is_some_and(|list| list.contains(&PositionEncodingKind::UTF8)) {
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

    /// Handles a notification. Unknown notifications and those that cannot be parsed are ignored, because a notification has no answer.
    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        match (self.stage, method) {
            (Stage::Running, DidOpenTextDocument::METHOD) => {
                if let Ok(Opened { text_document }) = parse(params)
                    && let Ok(text) = text_document.text()
                {
                    let (uri, version) = (text_document.uri, text_document.version);
                    self.documents.open(uri, version, text, self.settings);
                }
            }
            (Stage::Running, DidChangeTextDocument::METHOD) => {
                if let Ok(params) = parse(params) {
                    self.documents.change(params);
                }
            }
            (Stage::Running, DidCloseTextDocument::METHOD) => {
                if let Ok(params) = parse::<<DidCloseTextDocument as Notification>::Params>(params)
                {
                    let uri = params.text_document.uri;
                    self.documents.close(&uri);
                    self.publish_diagnostics(PublishDiagnosticsParams::new(uri, Vec::new(), None));
                }
            }
            (Stage::Running, DidChangeConfiguration::METHOD) => {
                if let Ok(params) = parse::<DidChangeConfigurationParams>(params) {
                    self.configure(&params.settings);
                }
            }
            (Stage::Running, Cancel::METHOD) => {
                if let Some(jobs) = &self.jobs
                    && let Ok(params) = parse::<Value>(params)
                    && let Some(id) = params.get("id")
                {
                    jobs.cancel(id);
                }
            }
            (Stage::Stopping, Exit::METHOD) => self.stage = Stage::Exited(0),
            (_, Exit::METHOD) => self.stage = Stage::Exited(1),
            _ => {}
        }
    }

    /// Reads new settings. If they enable or disable lints, all open documents are examined again.
    fn configure(&mut self, settings: &Value) {
        let was_linted = self.settings.lints;
        self.settings.read(settings);
        if self.settings.lints != was_linted {
            self.documents.set_linted(self.settings.lints);
        }
    }

    /// Publishes the diagnostics of changed documents. In large documents, not all functions are linted yet.
    pub(crate) fn publish(&mut self) {
        for params in self.documents.publish_changed() {
            self.publish_diagnostics(params);
        }
    }

    fn publish_diagnostics(&mut self, params: PublishDiagnosticsParams) {
        let message = message::notification(PublishDiagnostics::METHOD, params);
        self.messages.push(message);
    }

    /// Whether there is a document for [`work`](Self::work).
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.documents.has_unlinted()
    }

    /// Lints some functions of a large document, for some milliseconds, and publishes its diagnostics after the last function.
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
        if let Some(params) = self.documents.lint_next() {
            self.publish_diagnostics(params);
        }
    }
}

/// The id of the request that a message cancels; `None` for other messages.
fn canceled_id(incoming: &Incoming<'_>) -> Option<Value> {
    (incoming.method.as_deref() == Some(Cancel::METHOD)).then_some(())?;
    let params: Value = serde_json::from_str(incoming.params?.get()).ok()?;
    params.get("id").cloned()
}
