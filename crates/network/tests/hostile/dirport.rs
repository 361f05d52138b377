//! A directory of Tor's that says what a test wants, as an HTTP server; its authorities' keys are the test's.

use crate::town::local;
use candor_network::Clock;
use candor_test_support::tor::{Authority, Entry, consensus};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) const DAY: u64 = 86_400;

/// What comes of a request.
pub(crate) enum Answer {
    Text(String),
    /// The same with lines in its head.
    With(&'static str, String),
    Missing,
    /// Nothing newer than what is known.
    Unmodified,
    Silence,
    /// Bytes for as long as somebody takes them.
    Endless,
}

type Answers = Box<dyn Fn(&str) -> Answer + Send + Sync>;

/// A server. Dropping it ends it.
pub(crate) struct DirPort {
    pub(crate) address: SocketAddr,
    /// The heads of all requests.
    asked: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
    answers: Arc<Mutex<Answers>>,
    task: JoinHandle<()>,
}

impl DirPort {
    pub(crate) async fn start(answers: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(local()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, connections) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<usize>>::default());
        let answers: Arc<Mutex<Answers>> = Arc::new(Mutex::new(Box::new(answers)));
        let task = {
            let (asked, answers, connections) = (Arc::clone(&asked), Arc::clone(&answers), Arc::clone(&connections));
            tokio::spawn(async move {
                let mut served = JoinSet::new();
                while let Ok((tcp, _)) = listener.accept().await {
                    *connections.lock().unwrap() += 1;
                    served.spawn(serve(tcp, Arc::clone(&asked), Arc::clone(&answers)));
                }
            })
        };
        Self { address, asked, connections, answers, task }
    }

    /// From now on it says something else.
    pub(crate) fn say(&self, answers: impl Fn(&str) -> Answer + Send + Sync + 'static) {
        *self.answers.lock().unwrap() = Box::new(answers);
    }

    /// The heads of requests that have something in them.
    pub(crate) fn asked(&self, what: &str) -> Vec<String> {
        self.asked.lock().unwrap().iter().filter(|head| head.contains(what)).cloned().collect()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

impl Drop for DirPort {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut tcp: TcpStream, asked: Arc<Mutex<Vec<String>>>, answers: Arc<Mutex<Answers>>) {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match tcp.read_buf(&mut head).await {
            Ok(1..) => {}
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(head);
    let answer = answers.lock().unwrap()(&path);
    let said = match answer {
        Answer::Text(text) => format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()),
        Answer::With(lines, text) => {
            format!("HTTP/1.0 200 OK\r\n{lines}\r\nContent-Length: {}\r\n\r\n{text}", text.len())
        }
        Answer::Missing => "HTTP/1.0 404 Not found\r\n\r\n".to_owned(),
        Answer::Unmodified => "HTTP/1.0 304 Not modified\r\n\r\n".to_owned(),
        Answer::Silence => std::future::pending().await,
        Answer::Endless => {
            let _ = tcp.write_all(b"HTTP/1.0 200 OK\r\n\r\n").await;
            while tcp.write_all(&[b'a'; 1 << 16]).await.is_ok() {}
            return;
        }
    };
    let _ = tcp.write_all(said.as_bytes()).await;
    let _ = tcp.shutdown().await;
    // What is still to come of a request is taken, so that the answer is not lost with a connection that is reset.
    while matches!(tcp.read(&mut [0; 1 << 12]).await, Ok(1..)) {}
}

/// The time of day.
pub(crate) fn now() -> u64 {
    Clock::default().now()
}

/// When a consensus begins, is no longer fresh, and ends, that began so many seconds ago and is fresh for twenty minutes.
pub(crate) fn times(ago: u64) -> [u64; 3] {
    [now() - ago, now() - ago + 1200, now() - ago + 10_800]
}

/// What a directory says that has these documents: a consensus, certificates that hold for a month, and all microdescriptors of these relays.
pub(crate) fn documents(
    authorities: &[&Authority],
    times: [u64; 3],
    relays: &[Entry],
) -> impl Fn(&str) -> Answer + Send + Sync + use<> {
    let text = consensus(authorities, times, relays);
    let certificate = |authority: &&Authority| authority.certificate(times[0] - DAY, times[0] + 30 * DAY);
    let certificates: Vec<_> =
        authorities.iter().map(|authority| (authority.v3ident(), certificate(authority))).collect();
    let micro: Vec<_> = relays.iter().map(|relay| (relay.digest(), relay.microdescriptor.clone())).collect();
    move |path| {
        if let Some(names) = path.strip_prefix("/tor/micro/d/") {
            let wanted: Vec<_> = names.split('-').collect();
            let found = micro.iter().filter(|(digest, _)| wanted.contains(&digest.as_str()));
            return Answer::Text(found.map(|(_, text)| text.as_str()).collect());
        }
        match path.strip_prefix("/tor/keys/fp-sk/") {
            Some(name) => certificates
                .iter()
                .find(|(identity, _)| name.starts_with(identity))
                .map_or(Answer::Missing, |(_, certificate)| Answer::Text(certificate.clone())),
            None if path.starts_with("/tor/status-vote/") => Answer::Text(text.clone()),
            None => Answer::Text(String::new()),
        }
    }
}
