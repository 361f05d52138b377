//! The connection to a server: one, kept open between requests.

use crate::Error;
use crate::wire::{Bytes, Problem};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes as Body;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take. The server holds answers back for a while when strangers guess at an account.
const ANSWER: Duration = Duration::from_secs(60);
/// The longest answer: an account has at most 64 sessions.
const MOST: usize = 128 << 10;
/// What to wait for where the server does not say.
const WAIT: Duration = Duration::from_secs(5);

/// Where the server is, and the connection to it.
pub(crate) struct Connection {
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    open: Mutex<Option<SendRequest<Full<Body>>>>,
}

impl Connection {
    /// For `https://host:port`, checked against `roots`, those of this machine if there are none; or `http://` and a loopback address.
    pub(crate) fn new(url: &str, roots: Option<Vec<CertificateDer<'static>>>) -> Result<Self, Error> {
        let wrong = |why| Error::Url { url: url.to_owned(), why };
        let uri: Uri = url.parse().map_err(|_| wrong("not a URL; expected https://HOST[:PORT]"))?;
        let authority = uri.authority().ok_or(wrong("no host in it; expected https://HOST[:PORT]"))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() || authority.as_str().contains('@') {
            return Err(wrong("expected https://HOST[:PORT] and nothing else"));
        }
        let host = authority.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let (port, tls) = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => {
                let name = ServerName::try_from(bare.to_owned()).map_err(|_| wrong("host has no valid name"))?;
                (443, Some((connector(roots)?, name)))
            }
            Some(scheme) if *scheme == Scheme::HTTP => {
                let is_loopback =
                    bare == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback());
                if !is_loopback {
                    return Err(wrong("http:// is for loopback addresses only; expected https://"));
                }
                (80, None)
            }
            _ => return Err(wrong("expected https://")),
        };
        let port = authority.port_u16().unwrap_or(port);
        Ok(Self { host: bare.to_owned(), port, tls, open: Mutex::new(None) })
    }

    /// Sends a request and reads the answer.
    pub(crate) async fn call<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        token: Option<&Bytes>,
        body: Option<&impl Serialize>,
    ) -> Result<A, Error> {
        let body = self.send(method, path, token, body).await?;
        // An answer without a body reads as `null`.
        let body = if body.is_empty() { Body::from_static(b"null") } else { body };
        serde_json::from_slice(&body).map_err(|error| self.no_answer(error))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        token: Option<&Bytes>,
        body: Option<&impl Serialize>,
    ) -> Result<Body, Error> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, self.authority());
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {}", *token.text())).map(|mut value| {
                value.set_sensitive(true);
                value
            });
            request = request.header(AUTHORIZATION, value.map_err(|error| Error::Internal(error.to_string()))?);
        }
        let body = match body {
            Some(body) => {
                request = request.header(CONTENT_TYPE, "application/json");
                serde_json::to_vec(body).map_err(|error| Error::Internal(error.to_string()))?
            }
            None => Vec::new(),
        };
        let request = request.body(Full::new(body.into())).map_err(|error| Error::Internal(error.to_string()))?;
        let exchange = async {
            let response = self.exchange(request).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, MOST).collect().await.map_err(|error| self.no_answer(error))?;
            Ok::<_, Error>((head, body.to_bytes()))
        };
        let late = |_| Error::Timeout { host: self.host.clone(), after: ANSWER };
        let (head, body) = timeout(ANSWER, exchange).await.map_err(late)??;
        if head.status.is_success() {
            return Ok(body);
        }
        let retry = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry = retry.map_or(WAIT, Duration::from_secs);
        let problem: Problem = serde_json::from_slice(&body).map_err(|error| self.no_answer(error))?;
        let kind = problem.kind.strip_prefix("urn:candor:login:").unwrap_or(&problem.kind);
        Err(match kind {
            "login-failed" => Error::LoginFailed,
            "throttled" => Error::Throttled(retry),
            "no-session" | "refresh-reused" => Error::NoSession,
            "name-taken" => Error::NameTaken,
            "registration-token" => Error::RegistrationToken,
            "busy" | "unavailable" => Error::Unavailable(retry),
            kind => Error::Problem {
                status: head.status.as_u16(),
                kind: kind.to_owned(),
                title: problem.title,
                detail: problem.detail,
            },
        })
    }

    /// Sends over the open connection, or over a new one if there is none or the server has closed it meanwhile.
    async fn exchange(&self, request: Request<Full<Body>>) -> Result<Response<hyper::body::Incoming>, Error> {
        let mut open = self.open.lock().await;
        let mut request = request;
        if let Some(mut kept) = open.take()
            && kept.ready().await.is_ok()
        {
            match kept.try_send_request(request).await {
                Ok(response) => {
                    *open = Some(kept);
                    return Ok(response);
                }
                // What the connection has not taken was not sent.
                Err(mut error) => request = error.take_message().ok_or_else(|| self.no_answer(error.into_error()))?,
            }
        }
        let late = |_| Error::Timeout { host: self.host.clone(), after: CONNECT };
        let mut fresh = timeout(CONNECT, self.connect()).await.map_err(late)??;
        let response = fresh.send_request(request).await.map_err(|error| self.no_answer(error))?;
        *open = Some(fresh);
        Ok(response)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Body>>, Error> {
        let failed = |why: String| Error::Connect { host: self.host.clone(), why };
        let tcp =
            TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| failed(error.to_string()))?;
        let _ = tcp.set_nodelay(true);
        match &self.tls {
            None => self.speak(tcp).await,
            Some((connector, name)) => {
                let tls = connector.connect(name.clone(), tcp).await.map_err(|error| failed(error.to_string()))?;
                self.speak(tls).await
            }
        }
    }

    async fn speak(
        &self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    ) -> Result<SendRequest<Full<Body>>, Error> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| self.no_answer(error))?;
        // It ends with the sender; whoever waits for an answer hears of errors.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }

    pub(crate) fn no_answer(&self, why: impl std::fmt::Display) -> Error {
        Error::Answer { host: self.host.clone(), why: why.to_string() }
    }
}

fn connector(roots: Option<Vec<CertificateDer<'static>>>) -> Result<TlsConnector, Error> {
    let mut store = RootCertStore::empty();
    // Certificates that can't be read are skipped, as other programs do; without any, no server is trusted.
    store.add_parsable_certificates(roots.unwrap_or_else(|| rustls_native_certs::load_native_certs().certs));
    // With its feature `prefer-post-quantum` rustls has X25519MLKEM768 first.
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| Error::Internal(error.to_string()))?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_leaves_this_machine() {
        let refused = |url: &str| Connection::new(url, Some(Vec::new())).is_err();
        for good in [
            "https://login.example.org",
            "https://192.0.2.1:8443/",
            "http://127.0.0.1:80",
            "http://[::1]:8470",
            "http://localhost",
        ] {
            assert!(!refused(good), "{good}");
        }
        for wrong in [
            "",
            "login.example.org",
            "http://login.example.org",
            "http://192.0.2.1",
            "http://127.0.0.1.example.org",
            "ftp://127.0.0.1",
            "https://login.example.org/v1",
            "https://login.example.org/?x",
            "https://me@login.example.org",
        ] {
            assert!(refused(wrong), "{wrong}");
        }
    }
}
