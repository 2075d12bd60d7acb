//! Kernels run on separate threads: the server answers other requests, cancels kernels, and survives every one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const URI: &str = "file:///kernels.ptx";

const TEXT: &str = "\
.version 8.5
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .u32 count;
.global .b8 wide[] = {37, 46, 57, 57, 57, 57, 57, 100, 0};
.global .b8 long[] = {37, 52, 48, 48, 48, 115, 0};
.global .align 8 .b64 words[2];
.global .b8 large[1000000000000];
.visible .entry endless()
{
    .reg .b32 %n; .reg .pred %p;
again:
    add.u32 %n, %n, 1;
    st.global.u32 [count], %n;
    setp.ne.u32 %p, %n, 0;
    @%p bra again;
    ret;
}
.visible .entry stuck()
{
    .reg .b32 %n; .reg .pred %p;
again:
    ld.volatile.global.u32 %n, [count];
    setp.eq.u32 %p, %n, 0;
    @%p bra again;
    ret;
}
.visible .entry precise()
{
    .reg .b64 %a, %b;
    mov.u64 %a, wide;
    mov.u64 %b, words;
    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %a; st.param.b64 [a], %b; call (r), vprintf, (f, a); }
    ret;
}
.visible .entry talks()
{
    .reg .b64 %a, %b;
    mov.u64 %a, long;
    mov.u64 %b, words;
again:
    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %a; st.param.b64 [a], %b; call (r), vprintf, (f, a); }
    bra again;
}
.visible .entry greedy()
{
    .reg .b64 %a;
    mov.u64 %a, large;
again:
    st.global.u32 [%a], 1;
    add.s64 %a, %a, 65536;
    bra again;
}
";

/// A server on streams.
struct Session {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    server: JoinHandle<std::io::Result<u8>>,
}

impl Session {
    fn new() -> Self {
        let (input, to) = std::io::pipe().unwrap();
        let (from, output) = std::io::pipe().unwrap();
        let server = std::thread::spawn(|| ptx_lsp::run(BufReader::new(input), output));
        let from = BufReader::new(from);
        let mut session = Self { to, from, server };
        session.send(json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}}));
        let document = json!({"uri": URI, "languageId": "ptx", "version": 1, "text": TEXT});
        let opened = json!({"textDocument": document});
        session.send(json!({"method": "textDocument/didOpen", "params": opened}));
        session
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.to.flush().unwrap();
    }

    fn start(&mut self, id: u64, kernel: &str) {
        let params = json!({"textDocument": {"uri": URI}, "kernel": kernel, "steps": 1_u64 << 50});
        self.send(json!({"id": id, "method": "ptxkit/run", "params": params}));
    }

    /// The next answer to a request.
    fn answer(&mut self) -> Value {
        loop {
            let mut length = 0;
            let mut line = String::new();
            while self.from.read_line(&mut line).unwrap() > 2 {
                if let Some(number) = line.trim().strip_prefix("Content-Length: ") {
                    length = number.parse().unwrap();
                }
                line.clear();
            }
            let mut text = vec![0; length];
            self.from.read_exact(&mut text).unwrap();
            let message: Value = serde_json::from_slice(&text).unwrap();
            if message.get("method").is_none() && message["id"] != 1 {
                return message;
            }
        }
    }

    fn run(&mut self, id: u64, kernel: &str) -> Value {
        self.start(id, kernel);
        let answer = self.answer();
        assert_eq!(answer["id"], id);
        answer["result"].clone()
    }

    fn hover(&mut self, id: u64) {
        let place = json!({"line": 13, "character": 6});
        let params = json!({"textDocument": {"uri": URI}, "position": place});
        self.send(json!({"id": id, "method": "textDocument/hover", "params": params}));
    }

    fn end(mut self) {
        self.send(json!({"id": 99, "method": "shutdown"}));
        self.send(json!({"method": "exit"}));
        assert_eq!(self.server.join().unwrap().unwrap(), 0);
    }
}

#[test]
fn other_requests_are_answered_and_kernels_canceled() {
    let mut session = Session::new();
    session.start(10, "endless");
    session.hover(11);
    let answer = session.answer();
    assert_eq!(answer["id"], 11);
    assert!(answer["result"]["contents"].is_object());
    session.send(json!({"method": "$/cancelRequest", "params": {"id": 10}}));
    let answer = session.answer();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(10), &json!(-32800))
    );
    session.end();
}

#[test]
fn only_some_kernels_run_at_a_time() {
    let mut session = Session::new();
    (20..24).for_each(|id| session.start(id, "endless"));
    session.start(24, "endless");
    let answer = session.answer();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(24), &json!(-32803))
    );
    // At the end, what runs is answered.
    let start = Instant::now();
    session.send(json!({"id": 30, "method": "shutdown"}));
    let mut ids: Vec<u64> = (0..5)
        .map(|_| session.answer()["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [20, 21, 22, 23, 30]);
    assert!(start.elapsed() < Duration::from_secs(20));
    session.send(json!({"method": "exit"}));
    assert_eq!(session.server.join().unwrap().unwrap(), 0);
}

#[test]
fn the_server_survives_every_kernel() {
    let mut session = Session::new();
    let precise = session.run(40, "precise");
    assert_eq!(precise["output"].as_str().unwrap().len(), 4095);
    let stuck = session.run(41, "stuck");
    assert_eq!(stuck["error"]["code"], "PTX1304");
    for (id, kernel) in [(42, "talks"), (43, "greedy")] {
        let answer = session.run(id, kernel);
        assert_eq!(answer["error"]["code"], "PTX1320", "{kernel}");
        assert!(answer["output"].as_str().unwrap().len() <= (1 << 20) + 100);
    }
    session.hover(44);
    assert_eq!(session.answer()["id"], 44);
    session.end();
}
