//! A fetch by HTTP/1.1 over any stream (RFC 9112): GET, one request to a connection.

mod body;

use crate::Error;
use body::Body;
use std::fmt;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest head of an answer, and the most header lines.
const MOST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 100;

/// An `http` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    host: String,
    port: u16,
    path: String,
}

impl Url {
    /// Reads `http://host[:port][/path]`.
    ///
    /// # Errors
    /// [`Error::Url`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why| Error::Url { url: text.to_owned(), why };
        if text.starts_with("https://") {
            return Err(wrong("https needs a TLS client behind the circuit, which this command does not have"));
        }
        let rest = text.strip_prefix("http://").ok_or(wrong("a URL begins with http://"))?;
        let rest = rest.split('#').next().unwrap_or_default();
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("a path has no spaces and is ASCII; write others as %XX"));
        }
        let bare_ipv6 = authority.ends_with(']');
        let (host, port) = match authority.rsplit_once(':').filter(|_| !bare_ipv6) {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (host, port.parse().ok().filter(|port| *port > 0).ok_or(wrong("a port is a number from 1 to 65535"))?)
            }
            Some(_) => return Err(wrong("a port is a number from 1 to 65535")),
            None => (authority, 80),
        };
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        if host.is_empty() || !host.bytes().all(fits) {
            return Err(wrong("the host is no name and no address"));
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { host: host.to_owned(), port, path: format!("{slash}{path}") })
    }

    /// The host: a name, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}{}", self.host, self.port, self.path)
    }
}

/// An answer's head, and how much body came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status, such as 200.
    pub status: u16,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Bytes of body that were given to the sink.
    pub length: u64,
}

impl Answer {
    /// The first header of that name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Fetches `url` over `stream`, which leads to its host and port. The body's bytes go to `sink` as they come.
///
/// # Errors
/// [`Error::Http`] if the stream breaks, or what comes is not HTTP or is cut short; what the sink says.
pub async fn get<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    url: &Url,
    mut sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Answer, Error> {
    let wrong = |why: String| Error::Http { url: url.to_string(), why };
    let broken = |error: io::Error| wrong(format!("broke off: {error}"));
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: candor\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        url.path, url.host, url.port
    );
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;

    let mut buffer = vec![0; 32 << 10];
    let mut head = Vec::new();
    let (mut answer, mut body, rest) = loop {
        let length = stream.read(&mut buffer).await.map_err(broken)?;
        if length == 0 {
            return Err(wrong("ends before its head does".to_owned()));
        }
        head.extend_from_slice(&buffer[..length]);
        if let Some((answer, body, at)) = parse_head(&head).map_err(&wrong)? {
            break (answer, body, head.split_off(at));
        }
    };
    let mut give = |bytes: &[u8]| {
        answer.length += bytes.len() as u64;
        sink(bytes).map_err(|error| Error::Internal(format!("can't write what came: {error}")))
    };
    body.receive(&rest, &mut give).map_err(|stop| stop.into_error(&wrong))?;
    while !body.is_complete() {
        let length = stream.read(&mut buffer).await.map_err(broken)?;
        if length == 0 {
            body.end().map_err(|why| wrong(why.to_owned()))?;
            break;
        }
        body.receive(&buffer[..length], &mut give).map_err(|stop| stop.into_error(&wrong))?;
    }
    Ok(answer)
}

/// The head at the beginning of `bytes`, if it is whole, how the body is framed, and where it begins. Interim answers (1xx) are
/// skipped.
fn parse_head(bytes: &[u8]) -> Result<Option<(Answer, Body, usize)>, String> {
    let mut start = 0;
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(&bytes[start..]).map_err(|error| format!("is not HTTP: {error}"))?;
        let httparse::Status::Complete(length) = parsed else {
            return match bytes.len() > MOST_HEAD {
                true => Err(format!("has a head of more than {MOST_HEAD} bytes")),
                false => Ok(None),
            };
        };
        start += length;
        let status = response.code.ok_or("has no status")?;
        if (100..200).contains(&status) {
            continue;
        }
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let lines = response.headers.iter();
        let headers: Vec<_> = lines.map(|line| (line.name.to_ascii_lowercase(), text(line.value))).collect();
        let body = Body::framed_by(status, &headers)?;
        return Ok(Some((Answer { status, headers, length: 0 }, body, start)));
    }
}

/// The body of an answer that is all there.
#[cfg(test)]
fn parse_whole(bytes: &[u8]) -> Option<Vec<u8>> {
    let (_, mut body, at) = parse_head(bytes).ok()??;
    let mut out = Vec::new();
    for piece in bytes[at..].chunks(7) {
        let mut give = |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok(())
        };
        body.receive(piece, &mut give).ok()?;
    }
    body.end().ok().map(|()| out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_host_a_port_and_a_path() {
        let parts = |text: &str| Url::parse(text).map(|url| (url.host, url.port, url.path)).unwrap();
        let expect = |host: &str, port, path: &str| (host.to_owned(), port, path.to_owned());
        assert_eq!(parts("http://example.org"), expect("example.org", 80, "/"));
        assert_eq!(parts("http://127.0.0.1:8000/a?b=c#d"), expect("127.0.0.1", 8000, "/a?b=c"));
        assert_eq!(parts("http://[::1]:81?x"), expect("[::1]", 81, "/?x"));
        assert_eq!(parts("http://[::1]"), expect("[::1]", 80, "/"));
        for wrong in [
            "example.org",
            "https://x",
            "http://",
            "http://x:0",
            "http://x:y",
            "http://a b/",
            "http://x/a b",
            "http://u@x/",
        ] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_answer_may_come_in_pieces_and_be_framed_in_three_ways() {
        for (answer, body) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Some("hello")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", None),
            ("HTTP/1.0 200 OK\r\n\r\nhello", Some("hello")),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Fine\r\n\r\n", Some("")),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: x\r\n\r\n",
                Some("hello"),
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo", None),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello", None),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", None),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", None),
            ("nonsense\r\n\r\n", None),
        ] {
            assert_eq!(parse_whole(answer.as_bytes()).as_deref(), body.map(str::as_bytes), "{answer}");
        }
    }
}
