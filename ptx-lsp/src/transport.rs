//! Messages on streams: each one after a header with its length.
//!
//! A header that cannot be read is skipped line by line, so that a damaged message does not end the connection.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use crate::server::Server;

/// The longest message that is read. A document has at most 2 GB.
const LONGEST: u64 = 1 << 32;

/// A header cannot make the server reserve more than this: of a longer message the memory grows while it is read.
const MOST_RESERVED: u64 = 1 << 26;

/// Serves a client until it says `exit` or closes its stream. Gives the exit status that the protocol asks for: 0 if `shutdown`
/// came before `exit`, else 1.
///
/// # Errors
///
/// The streams cannot be read or written.
pub fn run(input: impl BufRead + Send + 'static, mut output: impl Write) -> io::Result<u8> {
    let (sender, receiver) = mpsc::channel();
    // The thread waits for input and ends with the stream; the program does not wait for it.
    thread::spawn(move || {
        let mut input = input;
        loop {
            let message = read(&mut input);
            let last = !matches!(message, Ok(Some(_)));
            if sender.send(message).is_err() || last {
                break;
            }
        }
    });
    serve(&receiver, &mut output)
}

type Read = io::Result<Option<Vec<u8>>>;

fn serve(receiver: &Receiver<Read>, output: &mut impl Write) -> io::Result<u8> {
    let mut server = Server::new();
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
                Ok(message) => match message? {
                    Some(message) => waiting.push(message),
                    None => open = false,
                },
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
        for message in server.take_messages() {
            write!(output, "Content-Length: {}\r\n\r\n{message}", message.len())?;
        }
        output.flush()?;
    }
    Ok(server.exit_status().unwrap_or(1))
}

/// Reads a message; `None` at the end of the stream.
fn read(input: &mut impl BufRead) -> Read {
    let mut length: Option<u64> = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line without an end does not fill the memory.
        if input.by_ref().take(1 << 16).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            let Some(length) = length.take() else {
                continue;
            };
            let mut message = Vec::with_capacity(length.min(MOST_RESERVED) as usize);
            if input.by_ref().take(length).read_to_end(&mut message)? as u64 != length {
                return Ok(None);
            }
            return Ok(Some(message));
        }
        if let Some(new) = content_length(text) {
            length = Some(new);
        }
    }
}

/// The number of a line `Content-Length: 123`.
fn content_length(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?;
    let (name, value) = line.split_once(':')?;
    let length = value.trim().parse().ok()?;
    (name.trim().eq_ignore_ascii_case("content-length") && length <= LONGEST).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn damaged_headers_are_skipped() {
        let mut stream: &[u8] =
            b"nonsense\r\n\r\nContent-Length: many\r\n\r\ncontent-length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 9\r\n\r\n{";
        assert_eq!(read(&mut stream).unwrap().unwrap(), b"{}");
        assert_eq!(read(&mut stream).unwrap(), None);
    }
}
