//! Fuzz bodies: plain functions of bytes, which panic if what must hold does not. The targets in `fuzz/` call them under
//! libFuzzer; `tests/fuzz_bodies.rs` calls them on stable, over the corpora and over mutations of those.

use crate::{Policy, RelayKeys, RelayList};
use std::net::IpAddr;

/// A relay list from anywhere: an error, or relays whose lines read as the same.
pub fn relay_list(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(list) = RelayList::parse(text) else { return };
    for relay in list.relays() {
        let again = RelayList::parse(&relay.to_line()).expect("what was read can be read again");
        assert_eq!(again.relays()[0].to_line(), relay.to_line());
    }
}

/// A policy from anywhere: an error, or one that prints as itself, and that permits a private address to no star and no name.
pub fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(policy) = Policy::parse(text) else { return };
    assert_eq!(Policy::parse(&policy.to_string()).as_ref(), Ok(&policy));
    let loopback: IpAddr = [127, 0, 0, 1].into();
    if !text.contains("private") && !text.contains(['/', '[']) && !text.contains("127.0.0.1") {
        assert!(!policy.permits("example.org", loopback, 80), "{policy}");
    }
}

/// A key file from anywhere: an error or keys, never a panic.
pub fn key_file(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = RelayKeys::parse(text);
    }
}

/// What a web server answers: an error or a page, never a panic, and never more body than there are bytes.
pub fn http_answer(data: &[u8]) {
    if let Ok(body) = crate::http::whole_body(data) {
        assert!(body.len() <= data.len());
    }
}
