//! A small web server whose answers can be checked.
//!
//! | request | answer |
//! |---|---|
//! | `GET /bytes/N` | N bytes, the same for the same N; the header `Candor-SHA256` has their hash |
//! | `GET /bytes/N?over=S` | the same bytes over S seconds, a part each second |
//! | `POST /digest` | the SHA-256 of what was sent, in hexadecimal digits, and its length |
//! | `GET /` | a line of text |
//!
//! It is for tests and measurements, and trusts nobody but itself: requests have bounds, and a connection that stands still is cut
//! off. The protocol is hyper's.
//!
//! A page is hashed before its first byte is sent. Whether a client that says no more has left, or waits for its page, can't be told before that. So a few
//! large pages are hashed at a time, and a bounded number wait; beyond that the answer is 503. Small pages don't wait.

use crate::metrics::Readings;
use crate::{Error, http};
use candor_primitives::hash::Sha256;
use digest::Digest;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, Sleep, sleep};

/// The longest head of a request.
const MOST_HEAD: usize = 16 << 10;
/// The most bytes that can be asked for or sent: 1 GiB.
const MOST_BYTES: u64 = 1 << 30;
/// The most seconds that a page may be spread over.
const MOST_SECONDS: u64 = 3600;
const SECOND: Duration = Duration::from_secs(1);
/// How long a request's head may take, and then each read and write.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest page that is hashed without waiting for a turn.
const SMALL: u64 = 1 << 20;
/// Longer pages that are hashed at a time, and that may wait for it: a minute's work or so at most.
const HASHED: usize = 2;
const WAITING: usize = 64;
/// Bytes to make at a time.
const PIECE: usize = 64 << 10;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Target {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// Turns for hashing large pages. A request that is given up gives them back.
#[derive(Debug)]
struct Turns {
    /// Of those that wait and those that are hashed.
    places: Semaphore,
    hashed: Semaphore,
}

impl Default for Turns {
    fn default() -> Self {
        Self { places: Semaphore::new(HASHED + WAITING), hashed: Semaphore::new(HASHED) }
    }
}

impl Turns {
    /// A turn; `None` if too many wait.
    async fn take(&self) -> Option<[SemaphorePermit<'_>; 2]> {
        let place = self.places.try_acquire().ok()?;
        Some([place, self.hashed.acquire().await.ok()?])
    }
}

/// What has been asked for so far, and whose turn it is.
#[derive(Debug, Default)]
struct Shared {
    requests: AtomicU64,
    bytes: AtomicU64,
    turns: Turns,
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
        let shared = Arc::<Shared>::default();
        let served = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((tcp, _)) => drop(tokio::spawn(serve(tcp, Arc::clone(&served)))),
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Ok(Self { address, shared, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What writes its numbers of the moment.
    pub fn readings(&self) -> Readings {
        let shared = Arc::clone(&self.shared);
        Arc::new(move |out| {
            let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            out.counter("candor_target_requests_total", "Requests that were answered.", &[], now(&shared.requests));
            let help = "Bytes of pages that were asked for.";
            out.counter("candor_target_bytes_total", help, &[], now(&shared.bytes));
        })
    }

    /// The bytes that `GET /bytes/length` answers with.
    pub fn bytes(length: u64) -> impl Iterator<Item = Vec<u8>> + Send {
        // Fast, and no two lengths look alike.
        let mut random = SplitMix64::from_seed(length.to_le_bytes());
        let mut left = length;
        std::iter::from_fn(move || {
            let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            left -= now as u64;
            (now > 0).then(|| {
                let mut piece = Vec::with_capacity(PIECE);
                while piece.len() < now {
                    piece.extend_from_slice(&random.next_u64().to_le_bytes());
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
        base16ct::lower::encode_string(&hash.finalize())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(tcp: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(async |request| {
        let answered = answer(request, &shared.turns).await;
        shared.requests.fetch_add(1, Ordering::Relaxed);
        shared.bytes.fetch_add(answered.body().size_hint().lower(), Ordering::Relaxed);
        Ok::<_, Infallible>(answered)
    });
    http::serve(tcp, PATIENCE, MOST_HEAD, service).await;
}

type Answer = Response<Either<Full<Bytes>, Pieces>>;

async fn answer(request: Request<Incoming>, turns: &Turns) -> Answer {
    let path = request.uri().path();
    match (request.method(), path.strip_prefix("/bytes/")) {
        (&Method::GET, Some(length)) => match length.parse() {
            Ok(length) if length <= MOST_BYTES => match over(request.uri().query()) {
                Some(over) if length <= SMALL => bytes(length, over).await,
                Some(over) => match turns.take().await {
                    Some(_turn) => bytes(length, over).await,
                    None => status(StatusCode::SERVICE_UNAVAILABLE),
                },
                None => status(StatusCode::BAD_REQUEST),
            },
            _ => status(StatusCode::BAD_REQUEST),
        },
        (&Method::GET, None) if path == "/" => text("candor's target: GET /bytes/N, POST /digest\n".to_owned()),
        (&Method::POST, None) if path == "/digest" => digest(request.into_body()).await,
        (&Method::GET | &Method::POST, _) => status(StatusCode::NOT_FOUND),
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// Over how many seconds a page is sent; 0 for as fast as it goes. `None` if it is not said as it should be.
fn over(query: Option<&str>) -> Option<u64> {
    match query {
        None => Some(0),
        Some(query) => query.strip_prefix("over=")?.parse().ok().filter(|seconds| (1..=MOST_SECONDS).contains(seconds)),
    }
}

async fn bytes(length: u64, over: u64) -> Answer {
    let mut hash = Sha256::new();
    for piece in Target::bytes(length) {
        hash.update(&piece);
        // A gigabyte takes a second, and others' answers go on meanwhile.
        yield_now().await;
    }
    let pace = (over > 0).then(|| Pace { part: length.div_ceil(over) as usize, next: Box::pin(sleep(SECOND)) });
    let pieces = Pieces { left: length, pieces: Box::new(Target::bytes(length)), rest: Bytes::new(), pace };
    let answer = Response::builder().header("candor-sha256", base16ct::lower::encode_string(&hash.finalize()));
    answer.body(Either::Right(pieces)).expect("digits fit a header")
}

async fn digest(mut body: Incoming) -> Answer {
    let (mut hash, mut length) = (Sha256::new(), 0);
    if body.size_hint().lower() > MOST_BYTES {
        return status(StatusCode::PAYLOAD_TOO_LARGE);
    }
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return status(StatusCode::BAD_REQUEST) };
        let Some(data) = frame.data_ref() else { continue };
        length += data.len() as u64;
        if length > MOST_BYTES {
            return status(StatusCode::PAYLOAD_TOO_LARGE);
        }
        hash.update(data);
    }
    text(format!("{} {length}\n", base16ct::lower::encode_string(&hash.finalize())))
}

fn text(text: String) -> Answer {
    Response::new(Either::Left(text.into()))
}

fn status(status: StatusCode) -> Answer {
    let mut answer = text(format!("{status}\n"));
    *answer.status_mut() = status;
    answer
}

/// What [`Target::bytes`] makes, as an answer's body.
struct Pieces {
    left: u64,
    pieces: Box<dyn Iterator<Item = Vec<u8>> + Send>,
    /// Of the last piece, what is not sent yet.
    rest: Bytes,
    pace: Option<Pace>,
}

/// A part each second.
struct Pace {
    /// Bytes of a part.
    part: usize,
    next: Pin<Box<Sleep>>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            this.rest = this.pieces.next().unwrap_or_default().into();
        }
        if this.rest.is_empty() {
            return Poll::Ready(None);
        }
        let taken = match &mut this.pace {
            None => this.rest.len(),
            Some(pace) => {
                ready!(pace.next.as_mut().poll(cx));
                pace.next.as_mut().reset(Instant::now() + SECOND);
                pace.part.min(this.rest.len())
            }
        };
        this.left -= taken as u64;
        Poll::Ready(Some(Ok(Frame::data(this.rest.split_to(taken)))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::sleep;

    #[test]
    fn the_bytes_are_as_many_as_asked_for_and_always_the_same() {
        for length in [0, 1, 7, PIECE as u64, 3 * PIECE as u64 + 5] {
            let bytes: Vec<u8> = Target::bytes(length).flatten().collect();
            assert_eq!(bytes.len() as u64, length);
            assert_eq!(base16ct::lower::encode_string(&Sha256::digest(&bytes)), Target::digest(length));
        }
        assert_ne!(Target::bytes(100).next().unwrap()[..99], Target::bytes(99).next().unwrap()[..]);
    }

    #[tokio::test]
    async fn requests_that_make_no_sense_are_refused_and_the_rest_answered() {
        let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        for (request, status) in [
            ("GET /bytes/3 HTTP/1.1\r\n\r\n", "200"),
            ("GET /bytes/x HTTP/1.1\r\n\r\n", "400"),
            ("GET /bytes/3?over=0 HTTP/1.1\r\n\r\n", "400"),
            ("GET /bytes/3?over=3601 HTTP/1.1\r\n\r\n", "400"),
            ("GET /bytes/3?else=1 HTTP/1.1\r\n\r\n", "400"),
            ("GET /bytes/1073741825 HTTP/1.1\r\n\r\n", "400"),
            ("GET /other HTTP/1.1\r\n\r\n", "404"),
            ("POST /digest HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "200"),
            ("POST /digest HTTP/1.1\r\nContent-Length: 1073741825\r\n\r\nabc", "413"),
            ("DELETE / HTTP/1.1\r\n\r\n", "405"),
            ("\0\r\n\r\n", "400"),
        ] {
            let mut tcp = TcpStream::connect(target.address()).await.unwrap();
            tcp.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            tcp.read_to_end(&mut answer).await.unwrap();
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_is_spread_over_seconds_comes_in_a_part_each_second_and_is_the_same() {
        for (length, over) in [(10, 5), (3, 5), (70_000, 2)] {
            let began = Instant::now();
            let Ok(Either::Right(mut pieces)) = Ok::<_, Infallible>(bytes(length, over).await.into_body()) else {
                panic!("a page")
            };
            let (mut came, mut parts) = (Vec::new(), 0);
            while let Some(frame) = pieces.frame().await {
                came.extend_from_slice(frame.unwrap().data_ref().unwrap());
                parts += 1;
            }
            assert!(came == Target::bytes(length).flatten().collect::<Vec<_>>());
            assert_eq!((began.elapsed().as_secs(), pieces.size_hint().exact()), (parts, Some(0)), "{length}");
            assert!(parts <= over + 1, "{parts}: pieces that the target makes have ends of their own");
        }
        assert_eq!((over(None), over(Some("over=7"))), (Some(0), Some(7)));
    }

    #[tokio::test]
    async fn who_asks_for_a_gigabyte_keeps_nobody_waiting() {
        let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let ask = async |length: u64| {
            let mut tcp = TcpStream::connect(target.address()).await.unwrap();
            tcp.write_all(format!("GET /bytes/{length} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
            tcp
        };
        let (mut long, mut short) = (ask(MOST_BYTES).await, ask(1000).await);
        let (mut begins, mut answer) = ([0; 1], Vec::new());
        tokio::select! {
            biased;
            _ = long.read(&mut begins) => panic!("the first is served, and then the other"),
            read = short.read_to_end(&mut answer) => assert!(read.unwrap() > 1000),
        }
    }

    #[tokio::test]
    async fn who_asks_for_gigabytes_and_leaves_has_two_hashed_at_a_time_and_keeps_no_small_page_waiting() {
        let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let ask = async |length: u64| {
            let mut tcp = TcpStream::connect(target.address()).await.unwrap();
            tcp.write_all(format!("GET /bytes/{length} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
            tcp
        };
        let answer = async |length: u64| {
            let mut answer = String::new();
            ask(length).await.take(20).read_to_string(&mut answer).await.unwrap();
            answer
        };
        for _ in 0..HASHED + WAITING {
            drop(ask(MOST_BYTES).await);
        }
        while target.shared.turns.places.available_permits() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(target.shared.turns.hashed.available_permits(), 0, "two are hashed, and the others wait");
        assert!(answer(MOST_BYTES).await.contains(" 503 "));
        assert!(answer(SMALL).await.contains(" 200 "), "a small page comes meanwhile");
        // The twin: one that leaves nobody waiting gives its turn back.
        let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
        for length in [SMALL + 1, 2 * SMALL] {
            let mut tcp = TcpStream::connect(target.address()).await.unwrap();
            tcp.write_all(format!("GET /bytes/{length} HTTP/1.0\r\n\r\n").as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            tcp.read_to_end(&mut answer).await.unwrap();
            assert!(answer.len() as u64 > length);
            assert_eq!(target.shared.turns.hashed.available_permits(), HASHED);
        }
    }
}
