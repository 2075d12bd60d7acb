//! Messages on streams, and the loop that serves a client.
//!
//! ```text
//! Content-Length: 17\r\n        header: lines, of which only this one is used
//! \r\n                          end of the header
//! {"jsonrpc":"2.0"}             message: as many bytes as the header says
//! ```
//!
//! A header that cannot be parsed is skipped line by line, so that a damaged message does not end the connection.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use crate::machine_code::ServerOptions;
use crate::server::Server;

/// The maximum length of a message in bytes. A document has at most 2 GB.
const MAX_MESSAGE: u64 = 1 << 32;

/// The maximum length of a header line in bytes. A line without an end cannot fill the memory.
const MAX_LINE: u64 = 1 << 16;

/// The number of characters of an invalid length that an error message shows.
const SHOWN_CHARACTERS: usize = 40;

/// The maximum number of bytes that are reserved because of a header. The memory of a longer message grows while it is read.
const MAX_RESERVED: u64 = 1 << 26;

/// The time that running kernels get after the end of the client's stream.
const DISCONNECT_TIME: Duration = Duration::from_secs(10);

/// Serves a client until it sends the notification `exit` or closes its stream. Returns the exit status that the protocol demands: 0 if `shutdown`
/// came before `exit`, else 1.
///
/// # Errors
///
/// The streams cannot be read or written.
pub fn run(input: impl BufRead + Send + 'static, output: impl Write) -> io::Result<u8> {
    run_with(ServerOptions::default(), input, output)
}

/// Serves a client like [`run`], with options.
///
/// # Errors
///
/// The streams cannot be read or written.
pub fn run_with(
    options: ServerOptions,
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> io::Result<u8> {
    let (sender, receiver) = mpsc::channel();
    let answer_sender = sender.clone();
    let wake = Arc::new(move || {
        // Sending fails if there is no receiver any more, because the client closed its stream.
        let _ = answer_sender.send(Event::Answer);
    });
    // The thread waits for input and ends with the stream. The program does not wait for the thread.
    thread::spawn(move || {
        let mut input = input;
        loop {
            let message = read(&mut input, &mut report);
            let is_last = !matches!(message, Ok(Some(_)));
            if sender.send(Event::Message(message)).is_err() || is_last {
                break;
            }
        }
    });
    serve(Server::with_threads(options, wake), &receiver, &mut output)
}

/// A message; `None` at the end of the stream.
type ReadResult = io::Result<Option<Vec<u8>>>;

/// Writes an error about the stream to standard error, which clients show or record.
fn report(error: &str) {
    let _ = writeln!(io::stderr(), "ptxkit lsp: {error}");
}

/// An event that wakes the loop of the server.
enum Event {
    /// A message of the client, or the end of its stream.
    Message(ReadResult),
    /// Another thread answered a request.
    Answer,
}

/// Handles events until the end of the session.
fn serve(
    mut server: Server,
    receiver: &Receiver<Event>,
    output: &mut impl Write,
) -> io::Result<u8> {
    let mut is_open = true;
    while is_open && server.exit_status().is_none() {
        let mut event = if server.has_work() {
            receiver.try_recv()
        } else {
            receiver.recv().map_err(|_| TryRecvError::Disconnected)
        };
        // All messages that have arrived are handled before diagnostics are published, because the client needs only those of the newest text.
        let mut messages = Vec::new();
        loop {
            match event {
                Ok(Event::Message(message)) => match message? {
                    Some(message) => messages.push(message),
                    None => is_open = false,
                },
                Ok(Event::Answer) => {}
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    is_open = false;
                    break;
                }
            }
            event = receiver.try_recv();
        }
        if messages.is_empty() {
            server.work();
        } else {
            server.receive_all(&messages);
            drop(messages);
            server.publish();
        }
        server.collect_answers();
        if !is_open {
            server.end_jobs(DISCONNECT_TIME);
        }
        for message in server.take_messages() {
            write!(output, "Content-Length: {}\r\n\r\n{message}", message.len())?;
        }
        output.flush()?;
    }
    if server.exit_status().is_none() {
        report("the client closed the stream without the notification `exit`");
    }
    Ok(server.exit_status().unwrap_or(1))
}

/// Reads a message. Calls `report` for each header that is skipped, and for a message that is cut off by the end of the stream.
fn read(input: &mut impl BufRead, report: &mut impl FnMut(&str)) -> ReadResult {
    let mut length: Option<u64> = None;
    let mut line = Vec::new();
    // Whether the current header has lines, and whether an error in it was reported.
    let (mut has_lines, mut is_reported) = (false, false);
    loop {
        line.clear();
        if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            if has_lines && !is_reported {
                report("the stream ends in a header");
            }
            return Ok(None);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            let Some(length) = length.take() else {
                if has_lines && !is_reported {
                    report("a header without `Content-Length` is skipped");
                }
                (has_lines, is_reported) = (false, false);
                continue;
            };
            let mut message = Vec::with_capacity(length.min(MAX_RESERVED) as usize);
            let read_bytes = input.by_ref().take(length).read_to_end(&mut message)? as u64;
            if read_bytes != length {
                report(&format!(
                    "the stream ends after {read_bytes} of {length} bytes of a message"
                ));
                return Ok(None);
            }
            return Ok(Some(message));
        }
        has_lines = true;
        match content_length(text) {
            Some(Ok(bytes)) => length = Some(bytes),
            Some(Err(value)) if !is_reported => {
                report(&format!(
                    "expected a length of at most {MAX_MESSAGE} bytes after `Content-Length:`, found `{}`",
                    value.escape_debug()
                ));
                is_reported = true;
            }
            _ => {}
        }
    }
}

/// The length in a header line `Content-Length: 123`, or the value if it is not a valid length; `None` for other lines.
fn content_length(line: &[u8]) -> Option<Result<u64, String>> {
    let line = String::from_utf8_lossy(line);
    let (name, value) = line.split_once(':')?;
    let value = value.trim();
    if !name.trim().eq_ignore_ascii_case("content-length") {
        return None;
    }
    match value.parse() {
        Ok(length) if length <= MAX_MESSAGE => Some(Ok(length)),
        _ => Some(Err(value.chars().take(SHOWN_CHARACTERS).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn damaged_headers_are_skipped_and_explained() {
        let mut stream: &[u8] =
            b"nonsense\r\n\r\nContent-Length: many\r\n\r\ncontent-length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 9\r\n\r\n{";
        let mut said = Vec::new();
        let mut report = |why: &str| said.push(why.to_owned());
        let message = read(&mut stream, &mut report).unwrap();
        assert_eq!(message.unwrap(), b"{}");
        assert_eq!(read(&mut stream, &mut report).unwrap(), None);
        let expected = [
            "a header without `Content-Length` is skipped",
            "expected a length of at most 4294967296 bytes after `Content-Length:`, found `many`",
            "the stream ends after 1 of 9 bytes of a message",
        ];
        assert_eq!(said, expected);
    }

    /// No length, a negative one, one that is too long, one that is not text; and a stream that ends in a header.
    #[test]
    fn every_bad_frame_is_explained() {
        for (stream, expected) in [
            (&b"\r\n"[..], ""),
            (
                b"X: 1\r\n\r\n",
                "a header without `Content-Length` is skipped",
            ),
            (b"Content-Length: -1\r\n\r\n", "found `-1`"),
            (
                b"Content-Length: 99999999999999999999\r\n\r\n",
                "found `99999999999999999999`",
            ),
            (
                b"Content-Length: 5000000000\r\n\r\n",
                "at most 4294967296 bytes",
            ),
            (
                b"Content-Length: \xff\x1b\r\n\r\n",
                "found `\u{fffd}\\u{1b}`",
            ),
            (b"Content-Len", "the stream ends in a header"),
        ] {
            let mut said = String::new();
            let mut input = stream;
            let end = read(&mut input, &mut |why: &str| said += why).unwrap();
            assert_eq!(end, None);
            assert!(
                said.contains(expected) && said.is_empty() == expected.is_empty(),
                "{said}"
            );
        }
    }
}
