//! Containers, lists of checksums, and key files.

use candor_suite::aead::TAG;
use candor_suite::checksum;
use candor_suite::container::{CHUNK, ContainerCipher, Cost, Header, Opener, Recipient, Sealer};
use candor_suite::hash::HashAlgorithm;
use candor_suite::key::SecretKey;
use candor_suite::key_file::{self, Encoding, Key, SecretForm};
use std::sync::LazyLock;

/// Keys of the kinds that containers of the corpus are encrypted to. `crates/suite/docs/container.py` has made them and those containers, by OpenSSL.
const KEYS: [&[u8]; 7] = [
    include_bytes!("../../../fuzz/corpus/suite_key_file/ml-kem-768.der"),
    include_bytes!("../../../fuzz/corpus/suite_key_file/x25519.der"),
    include_bytes!("../../../fuzz/corpus/suite_key_file/p256.der"),
    include_bytes!("../../../fuzz/corpus/suite_key_file/p384.der"),
    include_bytes!("../../../fuzz/corpus/suite_key_file/secp256k1.der"),
    include_bytes!("../../../fuzz/corpus/suite_key_file/rsa-2048.der"),
    include_bytes!("../../../fuzz/corpus/suite_key_file/sm2.der"),
];

fn keys() -> &'static [SecretKey] {
    static READ: LazyLock<Vec<SecretKey>> = LazyLock::new(|| {
        let read = |file: &&[u8]| match key_file::read(file) {
            Ok(Key::Secret(key)) => key,
            other => panic!("the corpus has secret keys there: {other:?}"),
        };
        KEYS.iter().map(read).collect()
    });
    &READ
}

/// What opens a container with this header; no password whose cost is more than what is soon done.
#[must_use]
pub fn container_opener(header: &Header) -> Option<Opener> {
    match &header.recipient {
        Recipient::Key(kind, _) => Opener::with_key(header, keys().iter().find(|key| key.kind() == *kind)?).ok(),
        Recipient::Password(Cost { memory: ..=64, passes: ..=2, .. }) => {
            Opener::with_password(header, b"password").ok()
        }
        Recipient::Password(_) => None,
    }
}

/// Bytes as a container: refused, or its header is written as the same bytes. What opens is what was sealed: if the bytes open, sealing the message
/// again gives as many bytes. And as a message with a change behind it: what was sealed opens in any pieces, and the changed container does not.
pub fn container(data: &[u8]) {
    if let Ok(length) = Header::length(data)
        && data.len() >= length
        && let Ok(header) = Header::parse(&data[..length])
    {
        assert_eq!(header.as_bytes(), &data[..length]);
        if let Some(mut opener) = container_opener(&header) {
            let mut message = Vec::new();
            let pushed = opener.push(&data[length..], &mut message);
            if pushed.and_then(|()| opener.finish(&mut message)).is_ok() {
                let chunks = message.len().div_ceil(CHUNK).max(1);
                assert_eq!(data.len() - length, message.len() + TAG * chunks, "a message has one form");
            }
        }
    }
    let [piece, change, message @ ..] = data else { return };
    let key = &keys()[usize::from(*piece) % keys().len()];
    let mut sealed = Vec::new();
    let public = key.public_key().expect("a key has a public one");
    let mut sealer = Sealer::to_key(&public, ContainerCipher::default(), &mut sealed).expect("there is randomness");
    message.chunks(usize::from(*piece) + 1).for_each(|piece| sealer.push(piece, &mut sealed).expect("it is short"));
    sealer.finish(&mut sealed).expect("it is short");
    assert_eq!(opened(&sealed, usize::from(*piece) + 7).as_deref(), Some(message));
    let at = usize::from(*change) * sealed.len() / 256;
    assert_eq!(opened(&sealed[..at], 100), None, "cut short");
    sealed[at] ^= 1;
    assert_eq!(opened(&sealed, 100), None, "changed");
}

fn opened(sealed: &[u8], piece: usize) -> Option<Vec<u8>> {
    let length = Header::length(sealed).ok()?;
    let header = Header::parse(sealed.get(..length)?).ok()?;
    let mut opener = container_opener(&header)?;
    let mut message = Vec::new();
    for piece in sealed[length..].chunks(piece) {
        opener.push(piece, &mut message).ok()?;
    }
    opener.finish(&mut message).ok()?;
    Some(message)
}

/// Bytes as a line of checksums: refused, or written and read again as the same line. As a name, which has a line that is read as that name.
pub fn checksum(data: &[u8]) {
    if let Ok(line) = checksum::parse(data)
        && line.digest.len() <= 64
    {
        let written = checksum::format(line.algorithm, &line.digest, &line.name);
        let written = written.strip_suffix(b"\n").expect("a line ends");
        assert!(!written.contains(&b'\n') && !written.contains(&b'\r'));
        assert_eq!(checksum::parse(written), Ok(line));
    }
    if !data.is_empty() && !data.contains(&0) {
        for tag in [None, Some(HashAlgorithm::Sm3)] {
            let written = checksum::format(tag, &[1; 32], data);
            let line =
                checksum::parse(written.strip_suffix(b"\n").expect("a line ends")).expect("what we write we read");
            assert_eq!((line.name.as_slice(), line.digest), (data, vec![1; 32]));
        }
    }
}

/// Bytes as a key file: refused, or a key whose own file, which may be another one, is read as the same key.
pub fn key_file(data: &[u8]) {
    let Ok(key) = key_file::read(data) else { return };
    for encoding in [Encoding::Pem, Encoding::Der] {
        let (file, bytes) = match &key {
            Key::Secret(key) => {
                let file = key.to_file(SecretForm::Pkcs8, encoding).expect("a key has a form").to_vec();
                (file, key.public_key().and_then(|public| public.to_bytes()))
            }
            Key::Public(key) => (key.to_file(encoding).expect("a key has a form"), key.to_bytes()),
        };
        let again = key_file::read(&file).expect("what we write we read");
        assert_eq!(matches!(again, Key::Secret(_)), matches!(key, Key::Secret(_)));
        assert_eq!(again.into_public().and_then(|public| public.to_bytes()), bytes);
    }
}
