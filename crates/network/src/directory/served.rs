//! What an authority serves at this moment, and the HTTP around it.

use super::TIME_HEADER;
use super::authority::{AuthorityEvent, Shared};
use super::seats::{Entered, Seat};
use crate::http;
use candor_onion::directory::MOST_DESCRIPTOR;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// The longest head of a request.
const MOST_HEAD: usize = 8 << 10;
/// How long a request's head may take, its body, and each write to a slow reader.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may take in all. A consensus of two million bytes comes over a line of 56 kbit/s in that time.
const WHOLE: Duration = Duration::from_secs(300);

/// Documents of a round, replaced as a whole.
#[derive(Clone, Default)]
pub(super) struct Served {
    pub(super) consensus: Option<Document>,
    pub(super) kems: [Option<Document>; 3],
    pub(super) view: Option<(u64, Bytes)>,
    pub(super) signature: Option<(u64, Bytes)>,
}

/// A document and its ETag.
#[derive(Clone)]
pub(super) struct Document {
    pub(super) bytes: Bytes,
    pub(super) etag: Arc<str>,
}

impl Document {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let digest = candor_onion::directory::kem_digest(&bytes);
        let etag = format!("\"{}\"", base16ct::lower::encode_string(&digest[..16])).into();
        Self { bytes: bytes.into(), etag }
    }
}

/// Takes connections until it is dropped.
pub(super) async fn listen(shared: Arc<Shared>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((tcp, from)) => drop(tokio::spawn(serve(Arc::clone(&shared), tcp, from.ip().to_canonical()))),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(shared: Arc<Shared>, tcp: TcpStream, from: IpAddr) {
    // A relay of the consensus and another authority are counted by their own addresses, so that their neighbours don't keep them out.
    let known = shared.is_known(from);
    let place = match shared.networks.admit(from, known) {
        Ok(place) => place,
        Err(what) => return shared.tell(&AuthorityEvent::TooMany { what: what.name(), network: true }),
    };
    let seat = shared.seats.enter(from, known);
    if !matches!(seat, Some((_, Entered::Free))) {
        shared.tell(&AuthorityEvent::TooMany { what: "connections", network: false });
    }
    let Some((seat, _)) = seat else { return };
    let service = service_fn(async |request| {
        let now = shared.clock.now();
        let mut answer = match (request.method(), request.uri().path()) {
            (&Method::POST, "/relay") => match place.circuit() {
                Ok(_place) => register(&shared, &seat, from, request.into_body(), now).await,
                Err(_) => {
                    text(StatusCode::TOO_MANY_REQUESTS, "too many registrations from your network; try again later")
                }
            },
            (&Method::GET, path) => {
                seat.has_asked();
                document(&shared, path, &request)
            }
            _ => text(StatusCode::METHOD_NOT_ALLOWED, "expected GET, or POST /relay"),
        };
        answer.headers_mut().insert(TIME_HEADER, now.into());
        Ok::<_, Infallible>(answer)
    });
    tokio::select! {
        _ = timeout(WHOLE, http::serve(tcp, PATIENCE, MOST_HEAD, service)) => {}
        () = seat.lost() => {}
    }
}

type Answer = Response<Full<Bytes>>;

fn text(status: StatusCode, text: impl Into<String>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text.into() + "\n")));
    *answer.status_mut() = status;
    answer
}

fn document(shared: &Shared, path: &str, request: &Request<Incoming>) -> Answer {
    let served = shared.served();
    let of_round = |round: &str, document: &Option<(u64, Bytes)>| match document {
        Some((time, bytes)) if round.parse() == Ok(*time) => Some(bytes.clone()),
        _ => None,
    };
    let found = match path.split('/').collect::<Vec<_>>()[..] {
        ["", ""] => {
            return text(StatusCode::OK, format!("candor's directory {}: GET /consensus", shared.fingerprint()));
        }
        ["", "consensus"] => served.consensus,
        ["", "keys", "ml-kem-512"] => served.kems[0].clone(),
        ["", "keys", "ml-kem-768"] => served.kems[1].clone(),
        ["", "keys", "ml-kem-1024"] => served.kems[2].clone(),
        ["", "view", round] => return plain(of_round(round, &served.view)),
        ["", "signature", round] => return plain(of_round(round, &served.signature)),
        _ => return text(StatusCode::NOT_FOUND, "no such document"),
    };
    let Some(Document { bytes, etag }) = found else {
        return text(StatusCode::NOT_FOUND, "the authorities have not agreed on a consensus yet");
    };
    let known = request.headers().get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes());
    let mut answer = plain(Some(if known { Bytes::new() } else { bytes }));
    if known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    }
    answer.headers_mut().insert(ETAG, etag.parse().expect("digits fit a header"));
    answer
}

fn plain(bytes: Option<Bytes>) -> Answer {
    let Some(bytes) = bytes else { return text(StatusCode::NOT_FOUND, "not of the round that is under way") };
    let mut answer = Response::new(Full::new(bytes));
    answer.headers_mut().insert(CONTENT_TYPE, "application/octet-stream".parse().expect("a type fits a header"));
    answer
}

async fn register(shared: &Shared, seat: &Seat, from: IpAddr, body: Incoming, now: u64) -> Answer {
    if body.size_hint().lower() > MOST_DESCRIPTOR as u64 {
        return text(StatusCode::PAYLOAD_TOO_LARGE, format!("expected at most {MOST_DESCRIPTOR} bytes"));
    }
    let bytes = match timeout(PATIENCE, read(body)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(status)) => return text(status, "the body is cut short, or too long"),
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
    };
    seat.has_asked();
    match shared.register(bytes, from, now) {
        Ok(()) => {
            let mut answer = Response::new(Full::default());
            *answer.status_mut() = StatusCode::NO_CONTENT;
            answer
        }
        Err(refused) => {
            text(StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::BAD_REQUEST), refused.to_string())
        }
    }
}

async fn read(mut body: Incoming) -> Result<Vec<u8>, StatusCode> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > MOST_DESCRIPTOR {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}
