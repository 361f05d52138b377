//! Requests over kept connections, from threads with blocking sockets.

use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Connections of an open loop: more than it has in flight unless the server falls behind.
const LINES: usize = 32;

/// The whole request of a login start.
pub(super) fn start(name: &str, ke1: &str) -> Vec<u8> {
    let body = json!({ "name": name, "ke1": ke1 }).to_string();
    let head = "POST /v1/login/start HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length:";
    format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A connection that is kept.
pub(super) struct Line(TcpStream);

impl Line {
    pub(super) fn open(address: SocketAddr) -> Self {
        let tcp = TcpStream::connect(address).unwrap();
        tcp.set_nodelay(true).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(tcp)
    }

    /// Sends a request, which must succeed; the bytes of its answer.
    pub(super) fn call(&mut self, request: &[u8]) -> usize {
        self.0.write_all(request).unwrap();
        let (mut answer, mut filled) = ([0; 8192], 0);
        loop {
            let read = self.0.read(&mut answer[filled..]).expect("an answer");
            assert_ne!(read, 0, "the server hung up");
            filled += read;
            let text = std::str::from_utf8(&answer[..filled]).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            assert!(head.starts_with("HTTP/1.1 200"), "{text}");
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.expect("a length") {
                return filled;
            }
        }
    }
}

/// As many requests as the servers answer on so many connections to each, one at a time on each. The answers per second.
pub(super) fn closed_loop(servers: &[SocketAddr], lines: usize, long: Duration, request: &[u8]) -> f64 {
    let start = Instant::now();
    let total: u64 = thread::scope(|scope| {
        let line = |address| {
            scope.spawn(move || {
                let (mut line, mut count) = (Line::open(address), 0);
                while start.elapsed() < long {
                    line.call(request);
                    count += 1;
                }
                count
            })
        };
        let threads: Vec<_> = servers.iter().flat_map(|address| vec![*address; lines]).map(line).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    total as f64 / start.elapsed().as_secs_f64()
}

/// How long requests took, each from when it was meant to begin, sorted.
pub(super) struct Took {
    /// All of them.
    pub(super) all: Vec<Duration>,
    /// Of these the ones that had to connect first.
    pub(super) first: Vec<Duration>,
}

/// Requests at a fixed rate, whatever becomes of those before.
pub(super) fn open_loop(server: SocketAddr, rate: f64, long: Duration, request: &[u8]) -> Took {
    let count = (rate * long.as_secs_f64()) as u64;
    let (next, start) = (AtomicU64::new(0), Instant::now() + Duration::from_millis(100));
    let line = || {
        let (mut line, mut took) = (None, Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return took;
            }
            let meant = start + Duration::from_secs_f64(number as f64 / rate);
            thread::sleep(meant.saturating_duration_since(Instant::now()));
            let is_first = line.is_none();
            line.get_or_insert_with(|| Line::open(server)).call(request);
            took.push((meant.elapsed(), is_first));
        }
    };
    let mut took = thread::scope(|scope| {
        let threads: Vec<_> = (0..LINES).map(|_| scope.spawn(line)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    took.sort();
    let first = took.iter().filter(|(_, is_first)| *is_first).map(|(took, _)| *took).collect();
    Took { all: took.into_iter().map(|(took, _)| took).collect(), first }
}

/// Of sorted times.
pub(super) fn percentile(took: &[Duration], share: f64) -> Duration {
    took[((took.len() as f64 * share).ceil() as usize).clamp(1, took.len()) - 1]
}
