//! Messages on streams: each one after a header with its length.
//!
//! A header that cannot be read is skipped line by line, so that a damaged message does not end the connection.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use crate::server::Server;

/// The longest message that is read. A document has at most 2 GB.
const LONGEST: u64 = 1 << 32;

/// How much of a wrong length is shown, in characters.
const MOST_SHOWN: usize = 40;

/// A header cannot make the server reserve more than this: of a longer message the memory grows while it is read.
const MOST_RESERVED: u64 = 1 << 26;

/// How long kernels may run after the end of the client's stream.
const AT_END: Duration = Duration::from_secs(10);

/// Serves a client until it says `exit` or closes its stream. Gives the exit status that the protocol asks for: 0 if `shutdown`
/// came before `exit`, else 1.
///
/// # Errors
///
/// The streams cannot be read or written.
pub fn run(input: impl BufRead + Send + 'static, mut output: impl Write) -> io::Result<u8> {
    let (sender, receiver) = mpsc::channel();
    let answered = sender.clone();
    let wake = move || {
        // Without a receiver, the client closed its stream.
        let _ = answered.send(Event::Answer);
    };
    // The thread waits for input and ends with the stream; the program does not wait for it.
    thread::spawn(move || {
        let mut input = input;
        loop {
            let message = read(&mut input, &mut report);
            let last = !matches!(message, Ok(Some(_)));
            if sender.send(Event::Message(message)).is_err() || last {
                break;
            }
        }
    });
    serve(Server::with_threads(Arc::new(wake)), &receiver, &mut output)
}

type Read = io::Result<Option<Vec<u8>>>;

/// Says on standard error, which clients show or record, why a message is not read.
fn report(why: &str) {
    let _ = writeln!(io::stderr(), "ptxkit lsp: {why}");
}

/// What the server reacts to.
enum Event {
    /// A message of the client, or the end of its stream.
    Message(Read),
    /// Another thread answered a request.
    Answer,
}

fn serve(
    mut server: Server,
    receiver: &Receiver<Event>,
    output: &mut impl Write,
) -> io::Result<u8> {
    let mut open = true;
    while open && server.exit_status().is_none() {
        let mut next = match server.has_work() {
            true => receiver.try_recv(),
            false => receiver.recv().map_err(|_| TryRecvError::Disconnected),
        };
        // All that has arrived is taken before anything is published: only the newest state is of interest.
        let mut waiting = Vec::new();
        loop {
            match next {
                Ok(Event::Message(message)) => match message? {
                    Some(message) => waiting.push(message),
                    None => open = false,
                },
                Ok(Event::Answer) => {}
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    open = false;
                    break;
                }
            }
            next = receiver.try_recv();
        }
        if waiting.is_empty() {
            server.work();
        } else {
            server.receive_all(&waiting);
            drop(waiting);
            server.publish();
        }
        server.answer();
        if !open {
            server.end_jobs(AT_END);
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

/// Reads a message; `None` at the end of the stream. Each header that is skipped, and a message that is cut off, is reported.
fn read(input: &mut impl BufRead, report: &mut impl FnMut(&str)) -> Read {
    let mut length: Option<u64> = None;
    let mut line = Vec::new();
    // Whether the header has lines, and whether they were reported.
    let (mut begun, mut reported) = (false, false);
    loop {
        line.clear();
        // A line without an end does not fill the memory.
        if input.by_ref().take(1 << 16).read_until(b'\n', &mut line)? == 0 {
            if begun && !reported {
                report("the stream ends in a header");
            }
            return Ok(None);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            let Some(length) = length.take() else {
                if begun && !reported {
                    report("a header without `Content-Length` is skipped");
                }
                (begun, reported) = (false, false);
                continue;
            };
            let mut message = Vec::with_capacity(length.min(MOST_RESERVED) as usize);
            let found = input.by_ref().take(length).read_to_end(&mut message)? as u64;
            if found != length {
                report(&format!(
                    "the stream ends after {found} of {length} bytes of a message"
                ));
                return Ok(None);
            }
            return Ok(Some(message));
        }
        begun = true;
        match content_length(text) {
            Some(Ok(new)) => length = Some(new),
            Some(Err(value)) if !reported => {
                report(&format!(
                    "expected a length of at most {LONGEST} bytes after `Content-Length:`, found `{}`",
                    value.escape_debug()
                ));
                reported = true;
            }
            _ => {}
        }
    }
}

/// The number of a line `Content-Length: 123`, or what is there instead.
fn content_length(line: &[u8]) -> Option<Result<u64, String>> {
    let line = String::from_utf8_lossy(line);
    let (name, value) = line.split_once(':')?;
    let value = value.trim();
    let length = value.parse().ok().filter(|length| *length <= LONGEST);
    let is_length = name.trim().eq_ignore_ascii_case("content-length");
    is_length.then(|| length.ok_or_else(|| value.chars().take(MOST_SHOWN).collect()))
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
