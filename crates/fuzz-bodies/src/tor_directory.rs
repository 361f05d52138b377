//! Documents of Tor's directory, which come from authorities and caches.

use candor_tor_directory::{Authorities, AuthorityCertificate, Error, Microdescriptor, Unverified};

/// A time at which the corpus's consensus holds.
const NOW: u64 = 1_795_807_950;

/// A consensus from anywhere: an error, or one that nobody who is trusted has signed, and of which therefore nothing can be read.
pub fn consensus(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(read) = Unverified::parse(text) else { return };
    let nobody = Authorities::new(vec![[0; 20]]).expect("one authority");
    assert!(matches!(read.verify(&nobody, &[], NOW), Err(Error::UnderSigned { good: 0, .. } | Error::Time { .. })));
}

/// Certificates of authorities from anywhere: an error, or some that read as the same one by one.
pub fn certificates(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(all) = AuthorityCertificate::parse_all(text) else { return };
    assert!(all.len() <= candor_tor_directory::MOST_AUTHORITIES);
    let twice = AuthorityCertificate::parse_all(&text.repeat(2)).map(|twice| twice.len());
    assert!(twice.is_err() || twice == Ok(2 * all.len()));
}

/// Microdescriptors from anywhere: pieces that are the text again, and each an error or one whose digest is its text's.
pub fn microdescriptors(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(pieces) = Microdescriptor::split(text) else { return };
    assert_eq!(pieces.concat(), text);
    for piece in pieces {
        let Ok(read) = Microdescriptor::parse(piece) else { continue };
        // What is skipped changes the digest and nothing else.
        let more = Microdescriptor::parse(&format!("{piece}x-unknown\n"));
        assert!(more.is_err() || more.is_ok_and(|more| more.digest != read.digest && more.ed25519 == read.ed25519));
    }
}
