//! A small web server of documents: metrics, and the monitor's page.
//!
//! It answers `GET`, on few connections at a time, each for a few seconds. On a loopback address it answers only those who ask for an address or for
//! `localhost`: a web page of somebody else, whose name leads to this machine, reads nothing here.

use crate::{Error, http};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::http::uri::Authority;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest head of a request.
const MOST_HEAD: usize = 8 << 10;
/// How long a request's head may take, and each write.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may take in all.
const WHOLE: Duration = Duration::from_secs(30);
/// Connections at a time. Browsers open six.
const CONNECTIONS: usize = 64;

/// What a browser may do with what it gets: run and load what comes from here, and nothing else.
const HEADERS: [(&str, &str); 4] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Something to send: its type and its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) kind: &'static str,
    pub(crate) bytes: Bytes,
}

impl Document {
    pub(crate) fn json(value: &impl serde::Serialize) -> Self {
        let bytes = serde_json::to_vec(value).expect("text and numbers have a JSON form");
        Self { kind: "application/json", bytes: bytes.into() }
    }
}

/// The document at a path, if there is one.
pub(crate) type Documents = Arc<dyn Fn(&str) -> Option<Document> + Send + Sync>;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Web {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Web {
    /// Starts on the current runtime; port 0 takes any.
    pub(crate) async fn start(listen: SocketAddr, documents: Documents) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Listen { address: listen, why: error.to_string() };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let task = tokio::spawn(accept(listener, documents));
        Ok(Self { address, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, documents: Documents) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let documents = Arc::clone(&documents);
        tokio::spawn(async move {
            let _place = place;
            let _ = timeout(WHOLE, serve(tcp, &documents)).await;
        });
    }
}

async fn serve(tcp: TcpStream, documents: &Documents) {
    let local = tcp.local_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback());
    let service = service_fn(async |request| Ok::<_, Infallible>(answer(&request, local, documents)));
    http::serve(tcp, PATIENCE, MOST_HEAD, service).await;
}

fn answer(request: &Request<Incoming>, local: bool, documents: &Documents) -> Response<Full<Bytes>> {
    let host = request.headers().get(HOST).map(HeaderValue::as_bytes);
    let mut answer = if local && !host.is_none_or(names_this_machine) {
        status(StatusCode::MISDIRECTED_REQUEST, "expected an address or localhost as the host")
    } else if request.method() != Method::GET {
        status(StatusCode::METHOD_NOT_ALLOWED, "expected GET")
    } else {
        match documents(request.uri().path()) {
            Some(document) => {
                let mut answer = Response::new(Full::new(document.bytes));
                answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(document.kind));
                answer
            }
            None => status(StatusCode::NOT_FOUND, "no such document"),
        }
    };
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

/// Whether a `Host` header has an address, or `localhost`.
fn names_this_machine(host: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(host) else { return false };
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().is_ok() || host.eq_ignore_ascii_case("localhost")
}

fn status(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(format!("{why}\n"))));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn web() -> Web {
        let documents: Documents = Arc::new(|path| {
            (path == "/there").then(|| Document { kind: "text/plain; charset=utf-8", bytes: "found".into() })
        });
        Web::start(([127, 0, 0, 1], 0).into(), documents).await.unwrap()
    }

    async fn ask(web: &Web, request: &str) -> String {
        let mut tcp = TcpStream::connect(web.address()).await.unwrap();
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn only_a_get_for_a_document_of_this_machine_is_answered() {
        let web = web().await;
        for (request, expected) in [
            ("GET /there HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", 200),
            ("GET /there HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200),
            ("GET /there HTTP/1.1\r\nHost: LocalHost\r\n\r\n", 200),
            ("GET /there HTTP/1.0\r\n\r\n", 200),
            ("GET /there HTTP/1.1\r\nHost: rebound.example:80\r\n\r\n", 421),
            ("GET /there HTTP/1.1\r\nHost: 127.0.0.1.rebound.example\r\n\r\n", 421),
            ("GET /there HTTP/1.1\r\nHost: \r\n\r\n", 421),
            ("GET /elsewhere HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
            ("POST /there HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405),
            ("\0\r\n\r\n", 400),
        ] {
            let answer = ask(&web, request).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {expected} "))
                    || answer.starts_with(&format!("HTTP/1.0 {expected} ")),
                "{request}: {answer}"
            );
            assert_eq!(answer.ends_with("found"), expected == 200, "{request}: {answer}");
            assert!(expected == 400 || answer.contains("content-security-policy: default-src 'none'"), "{answer}");
        }
    }

    #[tokio::test]
    async fn connections_that_say_nothing_take_all_places_and_no_more() {
        let web = web().await;
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS {
            silent.push(TcpStream::connect(web.address()).await.unwrap());
        }
        let request = "GET /there HTTP/1.1\r\nHost: localhost\r\n\r\n";
        // One more is closed unanswered.
        let mut extra = TcpStream::connect(web.address()).await.unwrap();
        let _ = extra.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = extra.read_to_end(&mut answer).await;
        assert!(answer.is_empty());
        drop(silent);
        while !ask(&web, request).await.ends_with("found") {
            tokio::task::yield_now().await;
        }
    }
}
