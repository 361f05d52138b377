//! Files that operators write, and answers of web servers.

use candor_network::http::{self, Url};
use candor_network::{Policy, RelayKeys, RelayList};
use std::net::IpAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A relay list from anywhere: an error, or relays whose lines read as the same.
pub fn relay_list(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(list) = RelayList::parse(text) else { return };
    for relay in list.relays() {
        let again = RelayList::parse(&relay.to_line()).expect("what was read can be read again");
        assert_eq!(again.relays()[0].to_line(), relay.to_line());
    }
}

/// A policy from anywhere: an error, or one that prints as itself and permits no private address that it doesn't name.
pub fn policy(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(policy) = Policy::parse(text) else { return };
    assert_eq!(Policy::parse(&policy.to_string()).as_ref(), Ok(&policy));
    let loopback: IpAddr = [127, 0, 0, 1].into();
    if !text.contains("private") && !text.contains(['/', '[']) && !text.contains("127.0.0.1") {
        assert!(!policy.permits("example.org", loopback, 80), "{policy}");
    }
}

/// A key file from anywhere: an error or keys, never a panic.
pub fn key_file(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        let _ = RelayKeys::parse(text);
    }
}

/// A web server's answer: an error or a page, never a panic, and never more body than the answer has bytes.
pub fn http_answer(data: &[u8]) {
    let url = Url::parse("http://example.org/").expect("a good URL");
    let mut body = 0;
    let (stream, mut server) = tokio::io::duplex(1 << 10);
    let serve = async move {
        // The client accepts no answer before it has sent its request. If it has hung up, `get` says why.
        let _ = server.read(&mut [0; 1 << 10]).await;
        let _ = server.write_all(data).await;
    };
    let fetch = http::get(stream, &url, Duration::MAX, |bytes| {
        body += bytes.len();
        Ok(())
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime without sockets needs nothing from the system");
    let answer = runtime.block_on(async { tokio::join!(fetch, serve).0 });
    assert!(body <= data.len());
    if let Ok(answer) = answer {
        assert_eq!(answer.length, body as u64);
    }
}
