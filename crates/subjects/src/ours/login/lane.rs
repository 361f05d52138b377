//! A kept connection with a request at a time, on blocking sockets: what the generator spends on a request is two system calls and a search for
//! the end of the answer's head.

use super::Failed;
use base64ct::{Base64UrlUnpadded, Encoding};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest answer.
const MOST: usize = 16 << 10;

/// A connection.
pub(crate) struct Lane {
    tcp: TcpStream,
    buffer: Box<[u8]>,
}

impl Lane {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let tcp = TcpStream::connect(address)?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { tcp, buffer: vec![0; MOST].into() })
    }

    /// Sends a request that [`post`] or [`get`] has written.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(), Failed> {
        self.tcp.write_all(request).map_err(|error| format!("can't send to the login server: {error}"))
    }

    /// The body of the next answer, which must be a success.
    pub(crate) fn answer(&mut self) -> Result<&[u8], Failed> {
        let mut filled = 0;
        loop {
            let room = &mut self.buffer[filled..];
            match self.tcp.read(room) {
                Ok(0) => return Err(format!("the login server hung up after {filled} bytes of an answer")),
                Ok(read) => filled += read,
                Err(error) => return Err(format!("no answer from the login server: {error}")),
            }
            if let Some(body) = whole(&self.buffer[..filled])? {
                return Ok(&self.buffer[body..filled]);
            }
        }
    }

    /// A request and its answer.
    pub(crate) fn call(&mut self, request: &[u8]) -> Result<Value, Failed> {
        self.send(request)?;
        serde_json::from_slice(self.answer()?).map_err(|error| format!("an answer is no JSON: {error}"))
    }
}

/// Where the body of an answer begins, once all of it is there.
fn whole(answer: &[u8]) -> Result<Option<usize>, Failed> {
    let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&answer[..head]).map_err(|_| "the head of an answer is no text")?;
    let mut lines = text.lines();
    let status = lines.next().unwrap_or_default();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or_else(|| format!("an answer has no length: {text:?}"))?;
    let body = head + 4;
    if answer.len() < body + length {
        return Ok(None);
    }
    if !status.starts_with("HTTP/1.1 20") {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&answer[body..])));
    }
    Ok(Some(body))
}

/// A request with a body.
pub(crate) fn post(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let (kind, length) = ("Content-Type: application/json", body.len());
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// A request with a session's token.
pub(crate) fn get(path: &str, token: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n").into_bytes()
}

/// Bytes as JSON has them.
pub(crate) fn text(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// The bytes in a field of an answer.
pub(crate) fn bytes(answer: &Value, field: &str) -> Result<Vec<u8>, Failed> {
    let text = answer[field].as_str().ok_or_else(|| format!("an answer has no `{field}`: {answer}"))?;
    Base64UrlUnpadded::decode_vec(text).map_err(|_| format!("`{field}` of an answer is not base64url"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nx: y\r\n\r\nbody";
        for cut in 0..answer.len() {
            assert_eq!(whole(&answer[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(whole(answer), Ok(Some(answer.len() - 4)));
    }

    #[test]
    fn a_failure_is_told_with_its_body() {
        let failed = whole(b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 4\r\n\r\nwait").unwrap_err();
        assert_eq!(failed, "HTTP/1.1 429 Too Many Requests: wait");
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
