//! One connection: TLS, HTTP/1.1, and its end.

use super::seats::Seat;
use super::{Stop, address};
use crate::config::BodyLimits;
use crate::http::{ClientAddress, Service};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

/// The longest head of a request; hyper takes no smaller buffer than 8 KiB.
const MOST_HEAD: usize = 16 << 10;

/// What all connections share.
pub(super) struct Serving {
    pub(super) router: Router,
    pub(super) service: Arc<Service>,
    pub(super) acceptor: Option<TlsAcceptor>,
    pub(super) stop: watch::Receiver<Stop>,
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
    let _ = tcp.set_nodelay(true);
    let mut tcp = TimeoutStream::new(tcp);
    tcp.set_write_timeout(Some(limits.write));
    let tcp = Box::pin(tcp);
    match &serving.acceptor {
        None => speak(serving, tcp, peer, seat).await,
        Some(acceptor) => {
            if let Ok(Ok(tls)) = timeout(limits.head, acceptor.accept(tcp)).await {
                speak(serving, tls, peer, seat).await;
            }
        }
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

/// Marks the seat as busy while a request is being answered.
struct Busy(Arc<Seat>);

impl Drop for Busy {
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
    seat.busy();
    let _busy = Busy(seat);
    let config = &serving.service.config;
    let client = address::client(peer, request.headers(), &config.proxies);
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ClientAddress(client));
    request.extensions_mut().insert(BodyLimits::from(config.limits));
    // A router is always ready.
    serving.router.clone().call(request).await
}
