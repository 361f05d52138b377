//! Files that operators write, and answers of web servers.

use candor_network::http::{self, Url};
use candor_network::{Policy, RelayKeys, RelayList};
use std::cell::Cell;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A relay list from anywhere: an error, or relays whose lines read as the same.
pub fn relay_list(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(list) = RelayList::parse(text) else { return };
    for relay in list.relays() {
        let again = RelayList::parse(&relay.to_line()).expect("what was read can be read again");
        assert_eq!(again.relays()[0].to_line(), relay.to_line());
    }
}

/// A policy from anywhere: an error, or one that prints as itself and permits no private address that it doesn't name.
pub fn policy(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(policy) = Policy::parse(text) else { return };
    assert_eq!(Policy::parse(&policy.to_string()).as_ref(), Ok(&policy));
    let loopback: IpAddr = [127, 0, 0, 1].into();
    if !text.contains("private") && !text.contains(['/', '[']) && !text.contains("127.0.0.1") {
        assert!(!policy.permits("example.org", loopback, 80), "{policy}");
    }
}

/// A key file from anywhere: an error or keys, never a panic.
pub fn key_file(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        let _ = RelayKeys::parse(text);
    }
}

/// A web server's answer: an error or a page, never a panic, and never more body than the answer has bytes.
pub fn http_answer(data: &[u8]) {
    let url = Url::parse("http://example.org/").expect("a good URL");
    let body = Cell::new(0);
    let sink = |bytes: &[u8]| {
        body.set(body.get() + bytes.len());
        Ok(())
    };
    let fetch = pin!(http::get(Answer(data), &url, sink));
    // Nothing in the stream ever waits, so one poll is enough.
    let Poll::Ready(answer) = fetch.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the fetch waits for a stream that is always ready")
    };
    assert!(body.get() <= data.len());
    if let Ok(answer) = answer {
        assert!(answer.length == body.get() as u64);
    }
}

/// A server that takes every request and gives a fixed answer, seven bytes at a time.
struct Answer<'a>(&'a [u8]);

impl AsyncRead for Answer<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (now, rest) = self.0.split_at(self.0.len().min(7).min(out.remaining()));
        out.put_slice(now);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Answer<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
