//! Forges run files of the lab.

use base16ct::lower;
use sha2::{Digest, Sha256};

/// Replaces the last line of a run file by a seal that fits the others, to reach the checks behind the seal.
#[must_use]
pub fn reseal(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let kept = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let sha256 = lower::encode_string(&Sha256::digest(&bytes[..kept]));
    let seal = format!("{{\"kind\":\"seal\",\"sha256\":\"{sha256}\"}}\n");
    [&bytes[..kept], seal.as_bytes()].concat()
}
