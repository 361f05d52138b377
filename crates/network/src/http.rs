//! HTTP/1.1, one request to a connection: a fetch (GET) over any stream, and the server's side of a TCP connection. The protocol is hyper's.

use crate::Error;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{ACCEPT, CONNECTION, HOST, HeaderMap, IF_MODIFIED_SINCE, TRANSFER_ENCODING, USER_AGENT};
use hyper::http::request::Builder;
use hyper::server::conn::http1 as server;
use hyper::service::HttpService;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;

/// The longest head of an answer, and the most header lines.
const MOST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 100;

/// Answers one request on a connection, then closes it. A head is at most `most_head` bytes long; it, each read and each write may take `patience`.
/// What goes wrong concerns the other side only, and it finds out.
pub(crate) async fn serve<S, B>(tcp: TcpStream, patience: Duration, most_head: usize, service: S)
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let _ = tcp.set_nodelay(true);
    answer(tcp, patience, most_head, true, service).await;
}

/// The same on any stream, whose other side may go on reading when it has said all, or not.
pub(crate) async fn answer<T, S, B>(stream: T, patience: Duration, most_head: usize, half_close: bool, service: S)
where
    T: AsyncRead + AsyncWrite,
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_read_timeout(Some(patience));
    stream.set_write_timeout(Some(patience));
    let answered = server::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(most_head)
        .keep_alive(false)
        .half_close(half_close)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let _ = answered.await;
}

/// A request for what is not older than that.
pub(crate) fn since(request: Builder, since: Option<SystemTime>) -> Builder {
    match since {
        Some(since) => request.header(IF_MODIFIED_SINCE, httpdate::fmt_http_date(since)),
        None => request,
    }
}

/// The client's side, with its bounds.
pub(crate) fn client() -> hyper::client::conn::http1::Builder {
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_headers(MOST_HEADERS).max_buf_size(MOST_HEAD);
    builder
}

/// An `http` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    authority: String,
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
        let uri: Uri = text.parse().map_err(|_| wrong("not a URL; expected http://host[:port][/path] in ASCII"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(wrong("https is not supported; there is no TLS client behind the circuit")),
            _ => return Err(wrong("expected a URL that begins with http://")),
        }
        let authority = uri.authority().ok_or(wrong("the host is missing"))?;
        let host = authority.host();
        if host.is_empty() || authority.as_str().contains('@') {
            return Err(wrong("expected a host name or address after http://"));
        }
        let port = match authority.as_str().strip_prefix(host) {
            Some("") => 80,
            _ => authority.port_u16().filter(|port| *port > 0).ok_or(wrong("expected a port from 1 to 65535"))?,
        };
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", uri.path());
        Ok(Self { authority: authority.to_string(), host: host.to_owned(), port, path })
    }

    /// The URL of something below this one: `below` begins with a slash.
    pub(crate) fn below(&self, below: &str) -> Self {
        Self { path: format!("{}{below}", self.path.trim_end_matches('/')), ..self.clone() }
    }

    /// The URL of another path on the same host; it begins with a slash.
    pub(crate) fn sibling(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The host: a name, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host as a resolver takes it: without brackets.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// The head of an answer, and the length of its body.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status, such as 200.
    pub status: u16,
    /// Bytes of body that were given to the sink.
    pub length: u64,
    /// What stands behind the status, if it is not what usually stands there: C tor's directories say so why they refuse something.
    pub(crate) reason: Option<String>,
    headers: HeaderMap,
}

impl Answer {
    /// The first header of that name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Fetches `url` over `stream`, which leads to its host and port. The body's bytes go to `sink` as they arrive. `patience` is how
/// long the server may take to send the head, and then to send more of the body.
///
/// # Errors
/// [`Error::Http`] if the stream breaks, or the answer is not HTTP or is cut short; [`Error::Timeout`] if the server stalls;
/// [`Error::Internal`] if the sink fails.
pub async fn get<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    url: &Url,
    patience: Duration,
    sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Answer, Error> {
    let request = Request::get(&url.path).header(ACCEPT, "*/*");
    send(stream, url, request, Bytes::new(), patience, sink).await
}

/// Sends a request over `stream`, which leads to the host and port of `url`; the rest is as for [`get`].
pub(crate) async fn send<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    url: &Url,
    request: Builder,
    body: Bytes,
    patience: Duration,
    sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Answer, Error> {
    let wrong = |error: hyper::Error| broken(url, &error);
    let (mut sender, connection) = client().handshake(TokioIo::new(stream)).await.map_err(wrong)?;
    let request = request
        .header(HOST, &url.authority)
        .header(USER_AGENT, "candor")
        .header(CONNECTION, "close")
        .body(Full::new(body))
        .map_err(|_| Error::Url { url: url.to_string(), why: "the path or host can't be sent by HTTP" })?;
    let exchange = async {
        let stalled = |stage| move |_| Error::Timeout { what: format!("{url}: {stage}"), after: patience };
        let answer = timeout(patience, sender.send_request(request)).await;
        let answer = answer.map_err(stalled("waiting for the answer to begin"))?.map_err(wrong)?;
        receive(answer, url, patience, sink).await
    };
    let mut exchange = std::pin::pin!(exchange);
    tokio::select! {
        biased;
        answer = exchange.as_mut() => return answer,
        // What went wrong with the connection, the exchange is told too.
        _ = connection => {}
    }
    exchange.await
}

async fn receive(
    answer: Response<Incoming>,
    url: &Url,
    patience: Duration,
    mut sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Answer, Error> {
    let (head, mut body) = answer.into_parts();
    // hyper reads any other coding up to the connection's end, still encoded.
    let mut codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.find(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        let why = format!("has a transfer encoding that was not asked for: {}", coding.to_str().unwrap_or("not text"));
        return Err(Error::Http { url: url.to_string(), why });
    }
    let mut length = 0;
    let stalled =
        |length| Error::Timeout { what: format!("{url}: waiting for more after {length} bytes"), after: patience };
    while let Some(frame) = timeout(patience, body.frame()).await.map_err(|_| stalled(length))? {
        if let Ok(data) = frame.map_err(|error| broken(url, &error))?.into_data() {
            length += data.len() as u64;
            sink(&data).map_err(|error| Error::Internal(format!("can't write the page: {error}")))?;
        }
    }
    let reason = head.extensions.get::<ReasonPhrase>();
    let reason = reason.map(|reason| String::from_utf8_lossy(reason.as_bytes()).into_owned());
    Ok(Answer { status: head.status.as_u16(), length, reason, headers: head.headers })
}

/// What went wrong, in the words of whoever noticed first: hyper wraps the stream's errors in its own.
fn broken(url: &Url, error: &hyper::Error) -> Error {
    let mut cause: &dyn StdError = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let why = match error.is_parse() {
        true => format!("is not HTTP: {cause}"),
        false => format!("broke off: {cause}"),
    };
    Error::Http { url: url.to_string(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// The body that a fetch reads from this answer, after which the server closes.
    fn whole_body(answer: &[u8]) -> Result<Vec<u8>, Error> {
        let url = Url::parse("http://127.0.0.1/").expect("a URL");
        let mut body = Vec::new();
        let (stream, mut server) = tokio::io::duplex(1 << 10);
        let serve = async move {
            // hyper takes no answer before it has asked. If it has hung up, `get` says why.
            let _ = server.read(&mut [0; 1 << 10]).await;
            let _ = server.write_all(answer).await;
        };
        let fetch = get(stream, &url, Duration::MAX, |piece| {
            body.extend_from_slice(piece);
            Ok(())
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.expect("a runtime without sockets needs nothing from the system");
        runtime.block_on(async { tokio::join!(fetch, serve).0 }).map(|_| body)
    }

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
            "http://x:",
            "http://a b/",
            "http://x/a b",
            "http://u@x/",
        ] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_body_ends_after_its_length_its_last_chunk_or_with_the_connection() {
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
            let got = whole_body(answer.as_bytes());
            assert_eq!(got.as_deref().ok(), body.map(str::as_bytes), "{answer}: {got:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stalls_is_given_up_and_the_error_says_at_what() {
        let url = Url::parse("http://127.0.0.1/").unwrap();
        let patience = Duration::from_secs(30);
        for (said, stage) in [
            ("", "waiting for the answer to begin"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "waiting for more after 3 bytes"),
        ] {
            let (stream, mut server) = tokio::io::duplex(1 << 10);
            let serve = async {
                assert!(server.read(&mut [0; 1 << 10]).await.unwrap() > 0);
                server.write_all(said.as_bytes()).await.unwrap();
            };
            let (fetched, ()) = tokio::join!(get(stream, &url, patience, |_| Ok(())), serve);
            let error = fetched.unwrap_err();
            assert!(matches!(&error, Error::Timeout { what, .. } if what.ends_with(stage)), "{error}");
        }
    }
}
