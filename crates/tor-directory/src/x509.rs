//! The X.509 certificate that an RSA identity issues for itself (tor-spec, CERTS type 2): the least of RFC 5280 that a reader wants.

use crate::time;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const NULL: &[u8] = &[0x05, 0];
const UTF8: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// `[0]`, around the version.
const VERSION: u8 = 0xa0;
/// 2.5.4.3, commonName.
const COMMON_NAME: &[u8] = &[6, 3, 0x55, 4, 3];
/// 1.2.840.113549.1.1.1, rsaEncryption.
const RSA_ENCRYPTION: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
/// 1.2.840.113549.1.1.11, sha256WithRSAEncryption.
const SHA256_WITH_RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
/// Before a digest of SHA-256 in what PKCS#1 v1.5 signs: SEQUENCE { SEQUENCE { 2.16.840.1.101.3.4.2.1, NULL }, OCTET STRING }.
pub(crate) const DIGEST_INFO: &[u8] = &[0x30, 49, 0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 32];

/// What is signed: a key (PKCS#1), named `candor`, from one time to another, in seconds since 1970 and before 2050.
pub(crate) fn unsigned(key: &[u8], serial: u32, from: u64, until: u64) -> Vec<u8> {
    let name = der(SEQUENCE, &[&der(SET, &[&der(SEQUENCE, &[COMMON_NAME, &der(UTF8, &[b"candor"])])])]);
    let times = [from, until].map(|time| der(UTC_TIME, &[utc(time).as_bytes()]));
    // A number of two's complement that must not be negative.
    let serial = [&[0][..], &serial.max(1 << 24).to_be_bytes()].concat();
    let serial = if serial[1] < 0x80 { &serial[1..] } else { &serial[..] };
    der(
        SEQUENCE,
        &[
            &der(VERSION, &[&der(INTEGER, &[&[2]])]),
            &der(INTEGER, &[serial]),
            &der(SEQUENCE, &[SHA256_WITH_RSA, NULL]),
            &name,
            &der(SEQUENCE, &[&times[0], &times[1]]),
            &name,
            &der(SEQUENCE, &[&der(SEQUENCE, &[RSA_ENCRYPTION, NULL]), &der(BIT_STRING, &[&[0], key])]),
        ],
    )
}

/// The certificate.
pub(crate) fn signed(unsigned: &[u8], signature: &[u8]) -> Vec<u8> {
    der(SEQUENCE, &[unsigned, &der(SEQUENCE, &[SHA256_WITH_RSA, NULL]), &der(BIT_STRING, &[&[0], signature])])
}

/// `261127193135Z` for 2026-11-27 19:31:35.
fn utc(seconds: u64) -> String {
    let digits: String = time::print(seconds).chars().filter(char::is_ascii_digit).collect();
    format!("{}Z", &digits[2..])
}

/// An element of DER with these parts, of fewer than 65,536 bytes.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len();
    let mut bytes = vec![tag];
    match length {
        ..0x80 => bytes.push(length as u8),
        0x80..0x100 => bytes.extend([0x81, length as u8]),
        _ => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    bytes.extend(content);
    bytes
}
