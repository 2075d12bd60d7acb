//! What the server allocates for a large document, counted.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests fail by panics")]

use std::alloc::System;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read as _, Write as _};
use std::thread;

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<&StatsAlloc<System>> = PeakMemAlloc::new(&INSTRUMENTED_SYSTEM);

const URI: &str = "file:///large.ptx";

/// Kernels like those of a compiler: long names, and about 30 bytes per line.
fn text(kernels: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    for k in 0..kernels {
        text += &format!(
            "\n.visible .entry kernel_with_a_long_mangled_name_{k}(\n\t.param .u64 p{k}\n)\n{{\n\t.reg .pred \t%p<3>;\n\t.reg .b32 \t%r<300>;\n\t.reg .b64 \t%rd<9>;\n"
        );
        text += &format!(
            "\tld.param.u64 \t%rd1, [p{k}];\n\tcvta.to.global.u64 \t%rd2, %rd1;\n\tmov.u32 \t%r1, %ctaid.x;\n"
        );
        for i in 1..200 {
            text += &format!(
                "\tmad.lo.s32 \t%r{}, %r{i}, %r{}, {i};\n",
                i + 1,
                i.max(2) - 1
            );
            if i % 20 == 0 {
                text += &format!(
                    "\tsetp.lt.s32 \t%p1, %r{i}, 0;\n\t@%p1 bra \t$L__BB{k}_{i};\n$L__BB{k}_{i}:\n"
                );
            }
        }
        text += "\tst.global.u32 \t[%rd2+4], %r200;\n\tret;\n}\n";
    }
    text
}

/// A client that keeps nothing of what it sends and reads.
struct Client {
    to: PipeWriter,
    from: BufReader<PipeReader>,
}

impl Client {
    fn send(&mut self, message: &str) {
        write!(
            self.to,
            "Content-Length: {}\r\n\r\n{message}",
            message.len()
        )
        .unwrap();
    }

    fn open(&mut self, text: &str) {
        let params = json!({"uri": URI, "languageId": "ptx", "version": 1, "text": "?"});
        let message = json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": params}});
        let message = message.to_string();
        let (before, after) = message.split_once('?').unwrap();
        let escapes = text.bytes().filter(|b| *b < b' ').count();
        let len = message.len() - 1 + text.len() + escapes;
        write!(self.to, "Content-Length: {len}\r\n\r\n{before}").unwrap();
        for line in text.split_inclusive('\n') {
            let line = line.replace('\n', "\\n").replace('\t', "\\t");
            self.to.write_all(line.as_bytes()).unwrap();
        }
        self.to.write_all(after.as_bytes()).unwrap();
    }

    /// Inserts a text at the beginning of a line.
    fn insert(&mut self, version: usize, line: usize, text: &str) {
        let at = json!({"line": line, "character": 0});
        let change = json!({"range": {"start": at, "end": at}, "text": text});
        let params =
            json!({"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]});
        let message =
            json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params});
        self.send(&message.to_string());
    }

    fn request(&mut self, method: &str, params: serde_json::Value) {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.send(&message.to_string());
    }

    /// Waits until the server freed what it needed for earlier messages: it answers them one after the other.
    fn wait(&mut self) {
        self.request("textDocument/hover", json!({}));
        self.skip();
    }

    /// Reads a message without keeping it.
    fn skip(&mut self) {
        let mut header = String::new();
        self.from.read_line(&mut header).unwrap();
        let length: u64 = header.trim().rsplit(' ').next().unwrap().parse().unwrap();
        let mut rest = self.from.by_ref().take("\r\n".len() as u64 + length);
        io::copy(&mut rest, &mut io::sink()).unwrap();
    }
}

/// The most bytes in use since the beginning, and the bytes in use, each as a multiple of the length of a text.
struct Use {
    region: Region<'static, System>,
    length: usize,
}

impl Use {
    /// Asserts that it is less than the most at any time, and less than the most now.
    fn is_below(&self, peak: f64, now: f64, what: &str) {
        let most = ALLOCATOR.get_peak_memory() as f64 / self.length as f64;
        let change = self.region.change();
        let bytes = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
        let left = bytes / self.length as f64;
        println!("{what}: at most {most:.2}, then {left:.2} bytes per byte");
        assert!(most < peak, "{what}: {most:.2}");
        assert!(left < now, "{what}: {left:.2}");
    }
}

/// The only test of this program: another one would allocate at the same time.
#[test]
fn a_large_document_takes_little_memory() {
    let text = text(700);
    let lines = text.lines().count();
    let (input, to) = io::pipe().unwrap();
    let (from, output) = io::pipe().unwrap();
    ALLOCATOR.reset_peak_memory();
    let memory = Use {
        region: Region::new(&INSTRUMENTED_SYSTEM),
        length: text.len(),
    };
    let server = thread::spawn(|| ptx_lsp::run(BufReader::new(input), output));
    let mut client = Client {
        to,
        from: BufReader::new(from),
    };
    client.request("initialize", json!({"capabilities": {}}));
    client.skip();
    client.open(&text);
    // Diagnostics, those of lints, and the answer to a request, in any order.
    client.request("textDocument/hover", json!({}));
    for _ in 0..3 {
        client.skip();
    }
    memory.is_below(4.5, 3.9, "opening");
    for version in 2..40 {
        client.insert(version, version * lines / 40, " ");
        client.skip();
    }
    client.wait();
    memory.is_below(4.5, 4.0, "changes");
    for method in ["documentSymbol", "foldingRange", "codeLens"] {
        let document = json!({"textDocument": {"uri": URI}});
        client.request(&format!("textDocument/{method}"), document);
        client.skip();
        client.wait();
        memory.is_below(5.0, 4.0, method);
    }
    drop(client);
    server.join().unwrap().unwrap();
}
