//! A client's connection: what it speaks, what it wants, and what it gets.

use super::pool::{Isolation, Trial};
use super::seats::Seat;
use super::socks::{self, Ask, Handshake, Reply, Request, Step};
use super::trouble::Trouble;
use super::{ProxyEvent, Shared, carry, http};
use crate::stream::CircuitStream;
use candor_primitives::hash::Sha256;
use digest::Digest;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a client may take to read an answer that ends its connection.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Serves one connection until it is over.
pub(super) async fn serve(shared: Arc<Shared>, tcp: TcpStream, from: IpAddr, listener: usize, seat: Seat) {
    // A stream whose bytes wait for more bytes would be slow for no reason.
    let _ = tcp.set_nodelay(true);
    let mut first = [0; 1];
    let started = timeout(shared.config.greeting, tcp.peek(&mut first)).await;
    let client = Connection { shared, from, listener, seat };
    match started {
        Err(_) => client.shared.counters.late.add(1),
        Ok(Err(_) | Ok(0)) => {}
        Ok(Ok(_)) => match first[0] {
            4 | 5 => client.socks(tcp).await,
            // Methods of HTTP are words in capitals.
            b'A'..=b'Z' => http::serve(client, tcp).await,
            _ => client.garbage("expected SOCKS or HTTP CONNECT"),
        },
    }
}

/// A connection, and where it is from.
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    from: IpAddr,
    listener: usize,
    pub(super) seat: Seat,
}

impl Connection {
    async fn socks(self, mut tcp: TcpStream) {
        let shared = Arc::clone(&self.shared);
        let mut handshake = Handshake::default();
        let mut bytes = Vec::new();
        let request = match timeout(shared.config.greeting, ask(&mut tcp, &mut handshake, &mut bytes)).await {
            Err(_) => return shared.counters.late.add(1),
            Ok(Asked::Gone) => return,
            Ok(Asked::Wrong(answer, why)) => {
                self.garbage(why);
                if let Some(reply) = answer.get(1).and_then(|code| Reply::ALL.get(usize::from(*code))) {
                    shared.counters.replied(*reply);
                }
                return last_words(tcp, &answer).await;
            }
            Ok(Asked::For(request)) => request,
        };
        self.seat.settle();
        let credentials = handshake.into_credentials();
        let isolation = self.isolation("SOCKS", &[&credentials.user, &credentials.password]);
        // A client that leaves needs no answer.
        let given = tokio::select! {
            given = self.give(isolation, &request) => given,
            () = left(&tcp) => return,
        };
        match given {
            Ok(Given::Stream(stream, trial)) => {
                shared.counters.replied(Reply::Succeeded);
                let reply = request.reply(Reply::Succeeded);
                if matches!(timeout(shared.config.greeting, tcp.write_all(&reply)).await, Ok(Ok(()))) {
                    carry::carry(&shared, tcp, (stream, trial), &bytes).await;
                }
            }
            Ok(Given::Answer(reply)) => {
                shared.counters.replied(Reply::Succeeded);
                last_words(tcp, &reply).await;
            }
            Err(trouble) => {
                self.failed(&trouble);
                last_words(tcp, &request.reply(trouble.reply())).await;
            }
        }
    }

    async fn give(&self, isolation: Isolation, request: &Request) -> Result<Given, Trouble> {
        let pool = &self.shared.pool;
        match request.ask {
            Ask::Connect => {
                let (stream, trial) = pool.open(isolation, &request.host, request.port).await?;
                Ok(Given::Stream(stream, trial))
            }
            Ask::Resolve => Ok(Given::Answer(request.resolved(&pool.addresses(isolation, &request.host).await?))),
            Ask::ResolvePointer(address) => Ok(Given::Answer(request.named(&pool.name(isolation, address).await?))),
        }
    }

    /// Streams of the same listening address, client address and credentials share circuits.
    pub(super) fn isolation(&self, protocol: &str, credentials: &[&[u8]]) -> Isolation {
        let mut hash = Sha256::new();
        let mut put = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        put(&self.listener.to_be_bytes());
        let from = self.from.to_canonical();
        put(from.to_string().as_bytes());
        if credentials.iter().any(|text| !text.is_empty()) {
            put(protocol.as_bytes());
            credentials.iter().for_each(|text| put(text));
        }
        Isolation { key: hash.finalize().into(), from }
    }

    pub(super) fn garbage(&self, why: &'static str) {
        self.shared.counters.garbage.add(1);
        self.shared.journal.say(ProxyEvent::Garbage { why });
    }

    /// Counts a request that failed, and says so.
    pub(super) fn failed(&self, trouble: &Trouble) {
        self.shared.counters.replied(trouble.reply());
        self.shared.journal.say(ProxyEvent::Failed { why: trouble.text_without_target() });
    }
}

/// What a client gets.
enum Given {
    Stream(CircuitStream, Trial),
    /// A reply, after which the connection is over.
    Answer(Vec<u8>),
}

/// What a client wants.
enum Asked {
    For(Request),
    Wrong(Vec<u8>, &'static str),
    Gone,
}

/// Speaks SOCKS until the client has said what it wants. `bytes` keeps what came behind that.
async fn ask(tcp: &mut TcpStream, handshake: &mut Handshake, bytes: &mut Vec<u8>) -> Asked {
    let mut piece = [0; socks::MOST];
    loop {
        match handshake.advance(bytes) {
            // No message needs more than the longest; only a client that sends ahead has more.
            Step::More => match tcp.read(&mut piece).await {
                Ok(length @ 1..) => bytes.extend_from_slice(&piece[..length]),
                _ => return Asked::Gone,
            },
            Step::Answer(used, answer) => {
                bytes.drain(..used);
                if tcp.write_all(&answer).await.is_err() {
                    return Asked::Gone;
                }
            }
            Step::Ask(used, request) => {
                bytes.drain(..used);
                return Asked::For(request);
            }
            Step::Refuse(answer, why) => return Asked::Wrong(answer, why),
        }
    }
}

/// Comes back when the client has closed its connection. If it sends ahead instead, nobody can tell, and this never comes back.
pub(super) async fn left(tcp: &TcpStream) {
    if let Ok(1..) = tcp.peek(&mut [0; 1]).await {
        std::future::pending().await
    }
}

/// Sends the last words and closes, so that the client gets to read them whatever else it has sent.
async fn last_words(mut tcp: TcpStream, answer: &[u8]) {
    let _ = timeout(LAST_WORDS, async {
        tcp.write_all(answer).await?;
        tcp.shutdown().await?;
        // Closing a connection with unread bytes would cut off the answer.
        let mut left = 64 << 10;
        let mut piece = [0; 1024];
        while left > 0 {
            match tcp.read(&mut piece).await? {
                0 => break,
                length => left = usize::saturating_sub(left, length),
            }
        }
        std::io::Result::Ok(())
    })
    .await;
}
