//! Directory requests of clients (BEGIN_DIR), for a relay in a network of C tor's. It keeps no documents: it reads a request, and asks a directory of its operator's choice for the
//! same in its own words. So nobody gets further by it than to what anyone may read there, whoever it is that the directory knows the relay as.
//!
//! The directory is an authority, perhaps the only one, and each connection to it is one that others lack. So requests have places of their own, few and for a short time.

use super::Shared;
use super::circuit::{Circuit, CircuitEnd};
use super::streams::Place;
use crate::http;
use crate::link::locked;
use crate::stream::CircuitStream;
use candor_onion::circuit::StreamId;
use candor_onion::relay::message::{Connected, EndReason};
use http_body_util::{Either, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, DATE, EXPIRES, HOST, IF_MODIFIED_SINCE, LAST_MODIFIED, USER_AGENT,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The longest head of a request. C tor's clients ask for 96 microdescriptors at a time, by 43 characters each.
const MOST_HEAD: usize = 16 << 10;
/// Where the documents are that anyone may read.
const DOCUMENTS: [&str; 5] = ["/tor/status-vote/current/", "/tor/micro/", "/tor/server/", "/tor/keys/", "/tor/extra/"];

/// An answer: the directory's, or none.
type Answer = Response<Either<Incoming, Empty<Bytes>>>;

/// Starts what BEGIN_DIR asks for, or says why not. Called with the circuit locked.
pub(super) fn begin(relay: &Arc<Shared>, circuit: &Arc<Circuit>, stream: StreamId) -> Result<(), EndReason> {
    let from = relay.tor_directory.ok_or(EndReason::NOTDIRECTORY)?;
    let place = relay.directory_streams.enter(circuit.payer(), Arc::as_ptr(circuit).addr());
    let place = place.ok_or(EndReason::RESOURCELIMIT)?;
    tokio::spawn(serve(Arc::clone(relay), Arc::clone(circuit), stream, from, place));
    Ok(())
}

async fn serve(relay: Arc<Shared>, circuit: Arc<Circuit>, id: StreamId, from: SocketAddr, place: Place) {
    let stream = CircuitStream::new(Arc::new(CircuitEnd(Arc::clone(&circuit))), id);
    if circuit.with(|inner| inner.machine.connected(id, Connected { address: None })).is_err() {
        return;
    }
    // The connection to the directory ends with this.
    let connections = Mutex::new(JoinSet::new());
    let whole = relay.limits.directory_stream;
    let service = service_fn(|request| pass(&relay, from, request, &connections));
    let reason = tokio::select! {
        () = http::answer(&stream, whole, MOST_HEAD, false, service) => EndReason::DONE,
        () = stream.gone() => EndReason::DESTROY,
        () = sleep(whole) => EndReason::TIMEOUT,
        () = place.taken_away() => EndReason::RESOURCELIMIT,
    };
    stream.set_reason(reason);
}

async fn pass(
    relay: &Shared,
    from: SocketAddr,
    request: Request<Incoming>,
    connections: &Mutex<JoinSet<()>>,
) -> Result<Answer, Infallible> {
    let Some(path) = document(&request) else { return Ok(refusal(StatusCode::NOT_FOUND)) };
    let fetched = timeout(relay.limits.connect, fetch(from, path, since(&request), connections)).await;
    Ok(match fetched {
        Ok(Ok(answer)) => shown(answer),
        Ok(Err(_)) => refusal(StatusCode::BAD_GATEWAY),
        Err(_) => refusal(StatusCode::GATEWAY_TIMEOUT),
    })
}

/// The path of a document that a request asks for.
fn document(request: &Request<Incoming>) -> Option<&str> {
    let (uri, path) = (request.uri(), request.uri().path());
    let is_plain = uri.query().is_none()
        && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/.+-_=~".contains(&byte))
        && !path.split('/').any(|part| part == "." || part == "..");
    (request.method() == Method::GET && is_plain && DOCUMENTS.iter().any(|start| path.starts_with(start)))
        .then_some(path)
}

/// The time after which a document must be of interest to whoever asks, if that is said in a way that can be read. Clients of C tor's say it of each consensus, and most of what they would fetch they have.
fn since(request: &Request<Incoming>) -> Option<SystemTime> {
    httpdate::parse_http_date(request.headers().get(IF_MODIFIED_SINCE)?.to_str().ok()?).ok()
}

/// Asks the directory for a document, unless it is older than that. The head of its answer has come; the body follows over a connection that is among those.
async fn fetch(
    from: SocketAddr,
    path: &str,
    since: Option<SystemTime>,
    connections: &Mutex<JoinSet<()>>,
) -> Result<Response<Incoming>, Box<dyn StdError + Send + Sync>> {
    let tcp = TcpStream::connect(from).await?;
    let (mut sender, connection) = http::client().handshake(TokioIo::new(tcp)).await?;
    locked(connections).spawn(async move { drop(connection.await) });
    let request =
        Request::get(path).header(HOST, from.to_string()).header(USER_AGENT, "candor").header(CONNECTION, "close");
    let request = http::since(request, since);
    Ok(sender.send_request(request.body(Empty::<Bytes>::new())?).await?)
}

/// What a client hears of an answer: not what the directory says of the relay, such as its address.
fn shown(answer: Response<Incoming>) -> Answer {
    let (mut head, body) = answer.into_parts();
    let mut kept = hyper::HeaderMap::new();
    for name in [CONTENT_TYPE, CONTENT_ENCODING, DATE, EXPIRES, LAST_MODIFIED] {
        kept.extend(head.headers.remove(&name).map(|value| (name, value)));
    }
    let mut shown = Response::new(Either::Left(body));
    (*shown.status_mut(), *shown.headers_mut()) = (head.status, kept);
    shown
}

fn refusal(status: StatusCode) -> Answer {
    let mut refusal = Response::new(Either::Right(Empty::new()));
    *refusal.status_mut() = status;
    refusal
}
