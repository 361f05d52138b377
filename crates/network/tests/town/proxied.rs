//! A proxy in front of a [`Town`], and clients that speak to it.

use super::{Town, local};
use candor_network::{Proxy, ProxyConfig, RelayList};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long anything may take that has to come about.
const DEADLINE: Duration = Duration::from_secs(60);

/// A list of the town's relays.
pub(crate) fn list_of(town: &Town) -> RelayList {
    let lines: Vec<_> = town.path().iter().map(|relay| relay.to_line()).collect();
    RelayList::parse(&lines.join("\n")).unwrap()
}

/// A proxy that builds no circuit before it is asked for.
pub(crate) async fn proxy(town: &Town, change: impl FnOnce(&mut ProxyConfig)) -> Proxy {
    let mut config = ProxyConfig::new(vec![local()]);
    config.test_network = true;
    config.expected = Vec::new();
    config.spare = 0;
    change(&mut config);
    Proxy::start(config, list_of(town)).await.unwrap()
}

/// What a client of SOCKS 5 sends, without waiting for any answer: user name and password, and CONNECT to a name or an address.
pub(crate) fn connect(login: Option<(&str, &str)>, host: &str, port: u16) -> Vec<u8> {
    let mut bytes = match login {
        None => vec![5, 1, 0],
        Some((user, password)) => {
            let login = [&[1, user.len() as u8], user.as_bytes(), &[password.len() as u8], password.as_bytes()];
            [&[5, 1, 2][..], &login.concat()].concat()
        }
    };
    bytes.extend([5, 1, 0, 3, host.len() as u8]);
    bytes.extend(host.as_bytes());
    bytes.extend(port.to_be_bytes());
    bytes
}

/// Says these bytes and reads the answers to a greeting and a request; the connection, and the reply's code.
pub(crate) async fn ask(at: SocketAddr, login: Option<(&str, &str)>, host: &str, port: u16) -> (TcpStream, u8) {
    ask_over(TcpStream::connect(at).await.unwrap(), login, host, port).await
}

/// The same, over a connection that is there.
pub(crate) async fn ask_over(
    mut tcp: TcpStream,
    login: Option<(&str, &str)>,
    host: &str,
    port: u16,
) -> (TcpStream, u8) {
    tcp.write_all(&connect(login, host, port)).await.unwrap();
    let mut answers = vec![0; 2 + if login.is_some() { 2 } else { 0 } + 10];
    timeout(DEADLINE, tcp.read_exact(&mut answers)).await.expect("the proxy answers in time").unwrap();
    let reply = answers[answers.len() - 9];
    (tcp, reply)
}

/// Fetches so many bytes of the target's over an open connection.
pub(crate) async fn page(mut tcp: TcpStream, length: u64) -> std::io::Result<Vec<u8>> {
    tcp.write_all(format!("GET /bytes/{length} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    timeout(DEADLINE, tcp.read_to_end(&mut answer)).await.expect("the page comes in time")?;
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("an answer has a head") + 4;
    Ok(answer.split_off(head))
}

/// Whether a client is served: it fetches a page and looks at every byte.
pub(crate) async fn serves(town: &Town, at: SocketAddr, login: Option<(&str, &str)>) {
    let (tcp, reply) = ask(at, login, "127.0.0.1", town.target.address().port()).await;
    assert_eq!(reply, 0, "the stream is opened");
    let wanted: Vec<u8> = candor_network::Target::bytes(50_000).flatten().collect();
    assert!(page(tcp, 50_000).await.unwrap() == wanted, "every byte is right");
}

/// Waits until it is so.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, waiting).await.expect("it comes about in time");
}
