//! Documents of Tor's directory, which come from authorities and caches.

use candor_tor_directory::{Authorities, AuthorityCertificate, Certificates, Error, Microdescriptor, Unverified};

/// A time at which the corpus's consensus holds.
const NOW: u64 = 1_795_807_950;

/// A consensus from anywhere: an error, or one that nobody who is trusted has signed, and of which therefore nothing can be read.
pub fn consensus(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(read) = Unverified::parse(text) else { return };
    let nobody = Authorities::new(vec![[0; 20]]).expect("one authority");
    assert!(matches!(
        read.verify(&nobody, &Certificates::default(), NOW),
        Err(Error::UnderSigned { good: 0, .. } | Error::Time { .. })
    ));
}

/// Certificates of authorities from anywhere: pieces that are the text again, each an error or a certificate, and taken or not where their authorities are trusted.
pub fn certificates(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(pieces) = AuthorityCertificate::split(text) else { return };
    assert!(pieces.len() <= candor_tor_directory::MOST_AUTHORITIES);
    assert_eq!(pieces.concat(), text);
    let read: Vec<_> = pieces.into_iter().filter_map(|piece| AuthorityCertificate::parse(piece).ok()).collect();
    let mut known = Certificates::default();
    let trusted = read.iter().map(|certificate| *certificate.identity()).collect::<std::collections::BTreeSet<_>>();
    let Ok(trusted) = Authorities::new(trusted.into_iter().collect()) else { return };
    let _ = known.take(text, &trusted, NOW);
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
