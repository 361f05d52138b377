//! Files that operators and proxies write, answers of web servers, what roles say of themselves, and what a proxy's clients say.

use candor_network::directory::{AuthorityKeys, DirectoryAddress};
use candor_network::http::{self, Url};
use candor_network::metrics;
use candor_network::paths::{GuardRules, Guards};
use candor_network::proxy::socks::{self, Handshake, Reply, Step};
use candor_network::proxy::{CircuitReading, connect_target};
use candor_network::tor::TorAuthority;
use candor_network::{NetworkFile, Policy, RelayKeys, RelayList, Watched};
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

/// An authority's key file from anywhere: an error or keys, and the same ones when it is read again.
pub fn authority_keys(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(keys) = AuthorityKeys::parse(text) else { return };
    let again = AuthorityKeys::parse(text).expect("what was read can be read again");
    assert_eq!(again.fingerprint(), keys.fingerprint());
}

/// A directory's address from anywhere, or that of an authority of Tor's: an error, or one that prints as itself.
pub fn directory_address(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(authority) = text.parse::<TorAuthority>() {
        assert_eq!(authority.to_string().parse(), Ok(authority));
    }
    let Ok(address) = text.parse::<DirectoryAddress>() else { return };
    assert_eq!(address.to_string().parse(), Ok(address));
}

/// A role's metrics from anywhere, and a role to watch: an error, or samples with names, no more than there are lines.
pub fn role_metrics(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(samples) = metrics::parse(text) {
        assert!(samples.len() <= text.lines().count().min(metrics::MOST_SAMPLES));
        for sample in samples {
            assert!(!sample.name.is_empty());
            assert!(sample.labels.iter().all(|(label, _)| sample.label(label).is_some()));
        }
    }
    if let Ok(watched) = text.parse::<Watched>() {
        assert_eq!(format!("{}={}", watched.name, watched.url).parse(), Ok(watched));
    }
}

/// A network file from anywhere: an error, or roles that are a command with flags behind it, or say what is wrong with a role.
pub fn network_file(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(file) = NetworkFile::parse(text) else { return };
    for name in file.names(None).unwrap_or_default() {
        match file.words(&name) {
            Ok(words) => {
                assert!(NetworkFile::COMMANDS.contains(&words[0].as_str()), "{words:?}");
                assert!(words[1..].iter().all(|word| word.starts_with("--")), "{words:?}");
            }
            Err(why) => assert!(why.starts_with("role `"), "{why}"),
        }
    }
}

/// A list of guards from anywhere: an error, or guards whose text reads as the same.
pub fn guards(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(guards) = Guards::parse(text, GuardRules::default()) else { return };
    let again = Guards::parse(&guards.text(), GuardRules::default()).expect("what was written can be read");
    assert_eq!(again.text(), guards.text());
}

/// A proxy's circuits from anywhere: an error, or as many as a page shows.
pub fn circuits(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(circuits) = CircuitReading::parse(text) {
        assert!(circuits.len() <= 1024 && circuits.iter().all(|circuit| circuit.path.len() <= 8));
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

/// The target that a client of HTTP CONNECT names: none, or one that reads as the same.
pub fn connect(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Some((host, port)) = connect_target(text) else { return };
    assert!(port > 0 && !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic()), "{host}");
    assert_eq!(connect_target(&format!("{host}:{port}")), Some((host, port)));
}

/// What a client of SOCKS says: it ends the same whether it comes whole or byte by byte, and no message is longer than the longest.
pub fn socks(data: &[u8]) {
    let (whole, said) = negotiate(data, data.len().max(1));
    let (by_byte, also_said) = negotiate(data, 1);
    assert_eq!((&whole, said), (&by_byte, also_said));
    if let Some(Step::Ask(_, request)) = whole {
        assert!(!request.host.is_empty() && request.host.is_ascii());
        for reply in Reply::ALL {
            assert!([8, 10].contains(&request.reply(reply).len()));
        }
    }
}

/// How a handshake ends, and all that was answered; `None` if it wants more.
fn negotiate(data: &[u8], piece: usize) -> (Option<Step>, Vec<u8>) {
    let (mut handshake, mut said) = (Handshake::default(), Vec::new());
    let (mut start, mut end) = (0, 0);
    loop {
        match handshake.advance(&data[start..end]) {
            Step::More => {
                assert!(end - start < socks::MOST, "a whole message is there");
                if end == data.len() {
                    return (None, said);
                }
                end = data.len().min(end + piece);
                if end - start > socks::MOST {
                    end = start + socks::MOST;
                }
            }
            Step::Answer(used, answer) => {
                start += used;
                said.extend(answer);
            }
            last => return (Some(last), said),
        }
    }
}
