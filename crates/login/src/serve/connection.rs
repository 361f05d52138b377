//! One connection: TLS, HTTP/1.1, and its end.

use super::seats::Seat;
use super::{Stop, address};
use crate::config::BodyLimits;
use crate::http::{ClientAddress, PassedOn, Service};
use crate::problem::Problem;
use crate::throttle::{Places, network};
use crate::turns::Turns;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::server::Acceptor;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::LazyConfigAcceptor;
use tower_service::Service as _;

/// The longest head of a request; hyper takes no smaller buffer than 8 KiB.
const MOST_HEAD: usize = 16 << 10;

/// What all connections share.
pub(super) struct Serving {
    pub(super) router: Router,
    pub(super) service: Arc<Service>,
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// Where TLS handshakes wait whose first message has come.
    pub(super) handshakes: Turns,
    /// Requests that came through proxies, counted by their clients' networks: the proxy's own connections say nothing about those.
    pub(super) forwarded: Arc<Places>,
    /// Where those wait who ask too often or may not guess at the moment.
    pub(super) turns: Turns,
    pub(super) stop: watch::Receiver<Stop>,
}

impl Serving {
    /// Counts something that came from that address; if too much did, waits until others have had their turn.
    async fn let_others_go_first(&self, from: IpAddr) {
        if self.service.throttle.comes_last(from) {
            self.turns.after_others().await;
        }
    }
}

/// Serves a connection until it ends or has to go. What goes wrong concerns the client only, and it finds out.
pub(super) async fn serve(serving: Arc<Serving>, tcp: TcpStream, peer: IpAddr, seat: Seat) {
    let gauge = serving.service.metrics.connections.clone();
    gauge.inc();
    let seat = Arc::new(seat);
    tokio::select! {
        () = seat.evicted() => {}
        () = handshake(&serving, tcp, peer, &seat) => {}
    }
    gauge.dec();
}

async fn handshake(serving: &Arc<Serving>, tcp: TcpStream, peer: IpAddr, seat: &Arc<Seat>) {
    let limits = &serving.service.config.limits;
    // A proxy's connections are many clients'; their requests are counted by client.
    let is_proxy = address::is_proxy(peer, &serving.service.config.proxies);
    if !is_proxy {
        serving.let_others_go_first(peer).await;
    }
    let _ = tcp.set_nodelay(true);
    let mut tcp = TimeoutStream::new(tcp);
    tcp.set_write_timeout(Some(limits.write));
    let tcp = Box::pin(tcp);
    let Some(config) = &serving.tls else { return speak(serving, tcp, peer, seat).await };
    let tls = async {
        let begun = LazyConfigAcceptor::new(Acceptor::default(), tcp).await?;
        // Connections that were let in one by one can still send their first messages at once; they would hold up everybody for all of them together.
        if !is_proxy {
            serving.let_others_go_first(peer).await;
        }
        serving.handshakes.after_others().await;
        begun.into_stream(Arc::clone(config)).await
    };
    if let Ok(Ok(tls)) = timeout(limits.head, tls).await {
        speak(serving, tls, peer, seat).await;
    }
}

async fn speak(serving: &Arc<Serving>, stream: impl AsyncRead + AsyncWrite + Unpin, peer: IpAddr, seat: &Arc<Seat>) {
    let answer = service_fn(|request| answer(Arc::clone(serving), Arc::clone(seat), peer, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(serving.service.config.limits.head)
        .max_buf_size(MOST_HEAD)
        .max_headers(64)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    let mut stop = serving.stop.clone();
    tokio::select! {
        _ = connection.as_mut() => {}
        () = async { drop(stop.wait_for(|stop| *stop != Stop::No).await) } => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// A request's body. Once all of it has come, the seat is busy: until then whoever sends it slowly may have to go.
struct Coming {
    body: Incoming,
    seat: Arc<Seat>,
}

impl HttpBody for Coming {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.seat.busy();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Marks the seat as idle when a request has been answered.
struct Answered(Arc<Seat>);

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.idle();
    }
}

async fn answer(
    serving: Arc<Serving>,
    seat: Arc<Seat>,
    peer: IpAddr,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let config = &serving.service.config;
    let client = address::client(peer, request.headers(), &config.proxies);
    serving.let_others_go_first(client).await;
    if request.body().is_end_stream() {
        seat.busy();
    }
    let _answered = Answered(Arc::clone(&seat));
    let mut place = None;
    if address::is_proxy(peer, &config.proxies) {
        place = serving.forwarded.enter(network(client));
        if place.is_none() {
            serving.service.metrics.refused.inc();
            return Ok(Problem::Busy.into_response());
        }
    }
    // With a length as well, a proxy may take it for another request than the server does (RFC 9112 §6.3): nothing that comes after it is believed.
    let is_last = request.headers().contains_key(TRANSFER_ENCODING);
    let passed_on = address::is_passed_on(peer, request.headers(), &config.proxies);
    let mut request = request.map(|body| Body::new(Coming { body, seat }));
    request.extensions_mut().insert(ClientAddress(client));
    if passed_on {
        request.extensions_mut().insert(PassedOn);
    }
    request.extensions_mut().insert(BodyLimits::from(config.limits));
    // A router is always ready.
    let mut answer = serving.router.clone().call(request).await;
    if let (true, Ok(answer)) = (is_last, &mut answer) {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    drop(place);
    answer
}
