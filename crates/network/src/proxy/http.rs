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
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::Ipv6Addr;
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
    let Some((host, port)) = request.uri().authority().and_then(|authority| connect_target(authority.as_str())) else {
        client.garbage("a CONNECT without host and port");
        return plain(StatusCode::BAD_REQUEST, "expected CONNECT host:port");
    };
    client.seat.settle();
    let header = |name: &str| request.headers().get(name).map_or(&[][..], HeaderValue::as_bytes);
    let isolation = client.isolation("HTTP", &[header(PROXY_AUTHORIZATION.as_str()), header(ISOLATION)]);
    match client.shared.pool.open(isolation, &host, port).await {
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

/// The host and port that a client of HTTP CONNECT names; an IPv6 address is in brackets, as in a SOCKS [`Request`](super::socks::Request). `None` if it
/// names none, names one that is longer than SOCKS can say, or says anything else.
pub fn connect_target(authority: &str) -> Option<(String, u16)> {
    let parsed: Authority = authority.parse().ok()?;
    let port = parsed.port_u16().filter(|port| *port > 0)?;
    // The parser ends the host where it finds a bracket or a user's name, and passes over what it has no use for.
    let (host, digits) = authority.rsplit_once(':')?;
    let is_host = match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => (1..=LONGEST_HOST).contains(&host.len()) && !host.contains(['[', ']', '@', ':']),
    };
    let is_fit = is_host && parsed.host() == host && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_fit.then(|| (host.to_owned(), port))
}

/// The longest host that SOCKS can name, in bytes; a longer one fits into no relay message.
const LONGEST_HOST: usize = 255;

fn plain(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::from(format!("{text}\n")));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_target_is_the_host_and_the_port_that_were_named(
            host in prop_oneof![
                "[a-zA-Z0-9][a-zA-Z0-9.-]{0,250}",
                any::<std::net::Ipv4Addr>().prop_map(|address| address.to_string()),
                any::<Ipv6Addr>().prop_map(|address| format!("[{address}]")),
            ],
            port in any::<u16>(),
            user in "[a-z]{1,8}",
        ) {
            let expected = (port > 0).then(|| (host.clone(), port));
            prop_assert_eq!(connect_target(&format!("{host}:{port}")), expected);
            prop_assert_eq!(connect_target(&host), None);
            prop_assert_eq!(connect_target(&format!("{user}@{host}:{port}")), None);
            prop_assert_eq!(connect_target(&format!("{host}:{}", u32::from(port) + 65_536)), None);
            prop_assert_eq!(connect_target(&format!(":{port}")), None);
        }
    }

    #[test]
    fn what_stands_beside_host_and_port_is_refused_and_so_is_a_host_that_fits_nowhere() {
        for text in ["[::1]x:80", "x[::1]:80", "[]:80", "[zz]:80", "h:+80", "h:", "::1:80", "h:80/x"] {
            assert_eq!(connect_target(text), None, "{text}");
        }
        assert_eq!(connect_target("[::1]:80"), Some(("[::1]".to_owned(), 80)));
        assert!(connect_target(&format!("{}:80", "a".repeat(255))).is_some());
        assert_eq!(connect_target(&format!("{}:80", "a".repeat(256))), None);
    }
}
