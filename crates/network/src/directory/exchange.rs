//! Requests to a directory.

use super::{DirectoryAddress, TIME_HEADER};
use crate::Error;
use crate::http::{self, Url};
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::IF_NONE_MATCH;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
#[cfg(feature = "tor")]
use std::time::SystemTime;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a connection may take, and then each piece of an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a whole answer may take.
const WHOLE: Duration = Duration::from_secs(120);
/// What is kept of an answer that says why not.
const MOST_REASON: usize = 500;

/// What a directory has answered.
pub(crate) struct Reply {
    pub(super) status: u16,
    pub(crate) body: Vec<u8>,
    /// What stands behind the status.
    reason: Option<String>,
    pub(super) etag: Option<String>,
    /// The directory's clock, in seconds since 1970.
    pub(super) time: Option<u64>,
}

impl Reply {
    /// Whether there is nothing newer than what was asked for.
    #[cfg(feature = "tor")]
    pub(crate) fn is_not_modified(&self) -> bool {
        self.status == 304
    }

    /// The body, if the status is 200.
    pub(crate) fn success(self, url: &Url) -> Result<Self, Error> {
        match self.status {
            200 | 204 => Ok(self),
            status => {
                // Whatever a stranger says is shown as one line of text.
                let text = match (&self.body[..], &self.reason) {
                    ([], Some(reason)) => reason.as_bytes(),
                    (body, _) => body,
                };
                let text = String::from_utf8_lossy(&text[..text.len().min(MOST_REASON)]);
                let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                Err(failed(url, format!("answered with status {status}: {}", text.trim())))
            }
        }
    }
}

pub(crate) fn failed(url: &Url, why: impl ToString) -> Error {
    Error::Directory { url: url.to_string(), why: why.to_string() }
}

/// Asks for what is below the directory's URL; takes no more than `most` bytes.
pub(super) async fn get(from: &DirectoryAddress, below: &str, etag: Option<&str>, most: usize) -> Result<Reply, Error> {
    get_counting(from, below, etag, most, &AtomicUsize::new(0)).await
}

/// The same; `came` is how many bytes of the answer have come so far.
pub(super) async fn get_counting(
    from: &DirectoryAddress,
    below: &str,
    etag: Option<&str>,
    most: usize,
    came: &AtomicUsize,
) -> Result<Reply, Error> {
    let url = from.url().below(below);
    let mut request = Request::get(url.path());
    if let Some(etag) = etag {
        request = request.header(IF_NONE_MATCH, etag);
    }
    exchange(&url, request, Bytes::new(), most, came).await
}

/// Registers a descriptor.
pub(super) async fn post(to: &DirectoryAddress, below: &str, body: Bytes) -> Result<Reply, Error> {
    let url = to.url().below(below);
    exchange(&url, Request::post(url.path()), body, MOST_REASON, &AtomicUsize::new(0)).await?.success(&url)
}

/// Asks for a URL of another kind of directory, unless what is there is older than that; takes no more than `most` bytes.
#[cfg(feature = "tor")]
pub(crate) async fn fetch(url: &Url, since: Option<SystemTime>, most: usize) -> Result<Reply, Error> {
    let request = http::since(Request::get(url.path()), since);
    exchange(url, request, Bytes::new(), most, &AtomicUsize::new(0)).await
}

/// Publishes a document to another kind of directory.
#[cfg(feature = "tor")]
pub(crate) async fn publish(url: &Url, body: Bytes) -> Result<Reply, Error> {
    exchange(url, Request::post(url.path()), body, MOST_REASON, &AtomicUsize::new(0)).await?.success(url)
}

async fn exchange(
    url: &Url,
    request: hyper::http::request::Builder,
    body: Bytes,
    most: usize,
    came: &AtomicUsize,
) -> Result<Reply, Error> {
    let whole = async {
        let host = url.host().trim_start_matches('[').trim_end_matches(']');
        let connect = timeout(PATIENCE, TcpStream::connect((host, url.port()))).await;
        let silent = || failed(url, format!("does not answer within {} s", PATIENCE.as_secs()));
        let tcp = connect.map_err(|_| silent())?.map_err(|error| failed(url, format!("can't connect: {error}")))?;
        let mut received = Vec::new();
        let mut too_long = false;
        let sink = |bytes: &[u8]| {
            too_long = received.len() + bytes.len() > most;
            if too_long {
                return Err(io::Error::other("too long"));
            }
            received.extend_from_slice(bytes);
            came.store(received.len(), Ordering::Relaxed);
            Ok(())
        };
        let answer = http::send(tcp, url, request, body, PATIENCE, sink).await;
        if too_long {
            return Err(failed(url, format!("answered with more than {most} bytes")));
        }
        let answer = answer.map_err(|error| match error {
            Error::Timeout { .. } => silent(),
            Error::Http { why, .. } => failed(url, format!("its answer {why}")),
            other => other,
        })?;
        let header = |name| answer.header(name).map(ToOwned::to_owned);
        let time = header(TIME_HEADER).and_then(|time| time.parse().ok());
        let etag = header("etag");
        Ok(Reply { status: answer.status, etag, time, body: received, reason: answer.reason })
    };
    let late = |_| failed(url, format!("took more than {} s for an answer", WHOLE.as_secs()));
    timeout(WHOLE, whole).await.map_err(late)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::sleep;

    /// What comes of a directory that says a byte of its answer each nine seconds, of which there are so many.
    async fn dripping(bytes: usize) -> Result<Reply, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let server = async {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let _ = tcp.read(&mut [0; 1 << 12]).await;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
            let _ = tcp.write_all(head.as_bytes()).await;
            for _ in 0..bytes {
                sleep(PATIENCE - Duration::from_secs(1)).await;
                let _ = tcp.write_all(&[7]).await;
            }
            // Open until the client has what it wants.
            std::future::pending().await
        };
        tokio::select! {
            reply = get(&address, "/consensus", None, 1000) => reply,
            () = server => unreachable!("it never ends"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_drips_is_given_up_when_the_whole_takes_too_long() {
        assert_eq!(dripping(10).await.unwrap().body, [7; 10], "90 s");
        let error = dripping(20).await.err().unwrap().to_string();
        assert!(error.contains("took more than 120 s"), "{error}");
    }
}
