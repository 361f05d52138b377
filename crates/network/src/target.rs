//! A small web server whose answers can be checked.
//!
//! | request | answer |
//! |---|---|
//! | `GET /bytes/N` | N bytes, the same for the same N; the header `Candor-SHA256` has their hash |
//! | `POST /digest` | the SHA-256 of what was sent, in hexadecimal digits, and its length |
//! | `GET /` | a line of text |
//!
//! It is for tests and measurements, and trusts nobody but itself: requests have bounds, and a slow one is cut off.

use crate::{Error, hex};
use candor_primitives::hash::Sha256;
use digest::Digest;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest head of a request.
const MOST_HEAD: usize = 16 << 10;
/// The most bytes that can be asked for or sent: 1 GiB.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
/// How long a read or a write may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes to make at a time.
const PIECE: usize = 64 << 10;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Target {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Target {
    /// Starts on the current runtime; port 0 takes any.
    ///
    /// # Errors
    /// [`Error::Listen`].
    pub async fn start(listen: SocketAddr) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Listen { address: listen, why: error.to_string() };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((tcp, _)) => drop(tokio::spawn(serve(tcp))),
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The bytes that `GET /bytes/length` answers with.
    pub fn bytes(length: u64) -> impl Iterator<Item = Vec<u8>> {
        let mut state = length;
        let mut left = length;
        std::iter::from_fn(move || {
            let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            left -= now as u64;
            (now > 0).then(|| {
                let mut piece = Vec::with_capacity(PIECE);
                while piece.len() < now {
                    piece.extend_from_slice(&splitmix64(&mut state).to_le_bytes());
                }
                piece.truncate(now);
                piece
            })
        })
    }

    /// Their SHA-256, in hexadecimal digits.
    pub fn digest(length: u64) -> String {
        let mut hash = Sha256::new();
        Self::bytes(length).for_each(|piece| hash.update(&piece));
        hex::encode(&hash.finalize())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Steele, Lea and Flood's generator (OOPSLA 2014): fast, and no two lengths look alike.
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A request, as far as it concerns us.
enum Request {
    Bytes(u64),
    Digest(u64),
    Root,
    Wrong(&'static str),
}

async fn serve(mut tcp: TcpStream) {
    // What goes wrong concerns the client only, and it finds out.
    let _ = tcp.set_nodelay(true);
    let _ = answer(&mut tcp).await;
    let _ = tcp.shutdown().await;
}

async fn answer(tcp: &mut TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut head = Vec::new();
    let (request, rest) = loop {
        let length = patient(tcp.read(&mut buffer)).await?;
        head.extend_from_slice(&buffer[..length]);
        match parse(&head) {
            Some((request, at)) => break (request, head.split_off(at)),
            None if length == 0 => return Ok(()),
            None if head.len() > MOST_HEAD => {
                break (Request::Wrong("431 Request Header Fields Too Large"), Vec::new());
            }
            None => {}
        }
    };
    match request {
        Request::Bytes(length) => {
            let digest = Target::digest(length);
            say(tcp, "200 OK", &format!("Candor-SHA256: {digest}\r\n"), length).await?;
            for piece in Target::bytes(length) {
                patient(tcp.write_all(&piece)).await?;
            }
            Ok(())
        }
        Request::Digest(length) => {
            let mut hash = Sha256::new();
            hash.update(&rest);
            let mut left = length.saturating_sub(rest.len() as u64);
            while left > 0 {
                let read = patient(tcp.read(&mut buffer)).await?;
                if read == 0 {
                    return Ok(());
                }
                hash.update(&buffer[..read]);
                left = left.saturating_sub(read as u64);
            }
            text(tcp, "200 OK", &format!("{} {length}\n", hex::encode(&hash.finalize()))).await
        }
        Request::Root => text(tcp, "200 OK", "candor's target: GET /bytes/N, POST /digest\n").await,
        Request::Wrong(status) => text(tcp, status, &format!("{status}\n")).await,
    }
}

async fn text(tcp: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    say(tcp, status, "", body.len() as u64).await?;
    patient(tcp.write_all(body.as_bytes())).await
}

async fn say(tcp: &mut TcpStream, status: &str, headers: &str, length: u64) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n");
    patient(tcp.write_all(head.as_bytes())).await
}

async fn patient<T>(step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(PATIENCE, step).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// The request at the beginning of `bytes`, if its head is whole, and where its body begins.
fn parse(bytes: &[u8]) -> Option<(Request, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let at = match request.parse(bytes) {
        Ok(httparse::Status::Complete(at)) => at,
        Ok(httparse::Status::Partial) => return None,
        Err(_) => return Some((Request::Wrong("400 Bad Request"), bytes.len())),
    };
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number <= MOST_BYTES);
    let path = request.path.unwrap_or_default();
    let length = request.headers.iter().find(|line| line.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|line| str::from_utf8(line.value).ok());
    let request = match (request.method, path.strip_prefix("/bytes/")) {
        (Some("GET"), Some(text)) => number(text).map_or(Request::Wrong("400 Bad Request"), Request::Bytes),
        (Some("GET"), None) if path == "/" => Request::Root,
        (Some("POST"), None) if path == "/digest" => match length.map(number) {
            Some(Some(length)) => Request::Digest(length),
            Some(None) => Request::Wrong("413 Content Too Large"),
            None => Request::Wrong("411 Length Required"),
        },
        (Some("GET" | "POST"), _) => Request::Wrong("404 Not Found"),
        _ => Request::Wrong("405 Method Not Allowed"),
    };
    Some((request, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_as_many_as_asked_for_and_always_the_same() {
        for length in [0, 1, 7, PIECE as u64, 3 * PIECE as u64 + 5] {
            let bytes: Vec<u8> = Target::bytes(length).flatten().collect();
            assert_eq!(bytes.len() as u64, length);
            assert_eq!(hex::encode(&Sha256::digest(&bytes)), Target::digest(length));
        }
        assert_ne!(Target::bytes(100).next().unwrap()[..99], Target::bytes(99).next().unwrap()[..]);
    }

    #[test]
    fn requests_that_make_no_sense_are_refused() {
        for (request, status) in [
            ("GET /bytes/x HTTP/1.1\r\n\r\n", "400"),
            ("GET /bytes/99999999999 HTTP/1.1\r\n\r\n", "400"),
            ("GET /other HTTP/1.1\r\n\r\n", "404"),
            ("POST /digest HTTP/1.1\r\n\r\n", "411"),
            ("DELETE / HTTP/1.1\r\n\r\n", "405"),
            ("\0\r\n\r\n", "400"),
        ] {
            let Some((Request::Wrong(said), _)) = parse(request.as_bytes()) else { panic!("{request}") };
            assert!(said.starts_with(status), "{request}: {said}");
        }
        assert!(parse(b"GET / HT").is_none());
    }
}
