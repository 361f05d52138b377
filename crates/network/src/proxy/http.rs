//! HTTP CONNECT (RFC 9110, section 9.3.6); the protocol is hyper's.

use super::pool::Trial;
use super::serve::Connection;
use super::socks::Reply;
use super::{Shared, carry};
use crate::link::locked;
use crate::stream::CircuitStream;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, PROXY_AUTHORIZATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;

/// The longest head of a request.
const MOST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// Tor's header for isolation.
const ISOLATION: &str = "x-tor-stream-isolation";

type Answer = Response<Full<Bytes>>;

/// A stream that is open, for the connection that will be its client's once the answer is sent.
type Opened = Mutex<Option<(CircuitStream, Trial, OnUpgrade)>>;

/// Serves a connection that speaks HTTP.
pub(super) async fn serve(client: Connection, tcp: TcpStream) {
    let shared = Arc::clone(&client.shared);
    let opened = Opened::default();
    let served = {
        let answer = |request| async { Ok::<_, Infallible>(answer(&client, &opened, request).await) };
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(shared.config.greeting)
            .max_buf_size(MOST_HEAD)
            .max_headers(MOST_HEADERS)
            .serve_connection(TokioIo::new(tcp), service_fn(answer))
            .with_upgrades()
            .await
    };
    let stream = locked(&opened).take();
    match (served, stream) {
        (Ok(()), Some((stream, trial, upgrade))) => hand_over(&shared, (stream, trial), upgrade).await,
        (Err(error), _) if error.is_timeout() => shared.counters.late.add(1),
        (Err(error), _) if error.is_parse() => client.garbage("not HTTP"),
        _ => {}
    }
}

async fn hand_over(shared: &Arc<Shared>, stream: (CircuitStream, Trial), upgrade: OnUpgrade) {
    let Ok(upgraded) = upgrade.await else { return };
    if let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() {
        carry::carry(shared, parts.io.into_inner(), stream, &parts.read_buf).await;
    }
}

async fn answer(client: &Connection, opened: &Opened, mut request: Request<Incoming>) -> Answer {
    if request.method() != Method::CONNECT {
        client.garbage("an HTTP request other than CONNECT");
        let text = "this proxy only knows CONNECT; with curl, add --proxytunnel, or use --socks5-hostname";
        return plain(StatusCode::METHOD_NOT_ALLOWED, text);
    }
    let authority = request.uri().authority().cloned();
    let target = authority.as_ref().and_then(|authority| {
        let port = authority.port_u16().filter(|port| *port > 0)?;
        Some((authority.host(), port)).filter(|(host, _)| !host.is_empty() && !authority.as_str().contains('@'))
    });
    let Some((host, port)) = target else {
        client.garbage("a CONNECT without host and port");
        return plain(StatusCode::BAD_REQUEST, "expected CONNECT host:port");
    };
    client.seat.settle();
    let header = |name: &str| request.headers().get(name).map_or(&[][..], HeaderValue::as_bytes);
    let isolation = client.isolation("HTTP", &[header(PROXY_AUTHORIZATION.as_str()), header(ISOLATION)]);
    match client.shared.pool.open(isolation, host, port).await {
        Ok((stream, trial)) => {
            client.shared.counters.replied(Reply::Succeeded);
            *locked(opened) = Some((stream, trial, hyper::upgrade::on(&mut request)));
            Response::new(Full::default())
        }
        Err(trouble) => {
            client.failed(&trouble);
            plain(trouble.status(), &trouble.text())
        }
    }
}

fn plain(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::from(format!("{text}\n")));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}
