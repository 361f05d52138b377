//! Containers, lists of checksums, and key files.

use candor_suite::aead::TAG;
use candor_suite::checksum;
use candor_suite::container::{CHUNK, ContainerCipher, Cost, Header, Opener, Recipient, Sealer};
use candor_suite::hash::HashAlgorithm;
use candor_suite::key::{KeyKind, SecretKey};
use candor_suite::key_file::{self, Encoding, Key, SecretForm};

/// The key that the container's body encrypts to.
///
/// # Panics
/// Never: any 64 bytes are a key.
#[must_use]
pub fn container_key() -> SecretKey {
    SecretKey::from_bytes(KeyKind::MlKem768, &[7; 64]).expect("a seed is a key")
}

/// Bytes as a container: refused, or its header is written as the same bytes. What opens is what was sealed: if the bytes open, sealing the message
/// again gives as many bytes. And as a message with a change behind it: what was sealed opens in any pieces, and the changed container does not.
pub fn container(data: &[u8]) {
    let key = container_key();
    if let Ok(length) = Header::length(data)
        && data.len() >= length
        && let Ok(header) = Header::parse(&data[..length])
    {
        assert_eq!(header.as_bytes(), &data[..length]);
        // A password's cost is up to the file; here only what is soon done.
        let opener = match header.recipient {
            Recipient::Key(..) => Opener::with_key(&header, &key),
            Recipient::Password(Cost { memory: ..=64, passes: ..=2, .. }) => {
                Opener::with_password(&header, b"password")
            }
            Recipient::Password(_) => return,
        };
        if let Ok(mut opener) = opener {
            let mut message = Vec::new();
            let pushed = opener.push(&data[length..], &mut message);
            if pushed.and_then(|()| opener.finish(&mut message)).is_ok() {
                let chunks = message.len().div_ceil(CHUNK).max(1);
                assert_eq!(data.len() - length, message.len() + TAG * chunks, "a message has one form");
            }
        }
    }
    let [piece, change, message @ ..] = data else { return };
    let mut sealed = Vec::new();
    let public = key.public_key().expect("a key has a public one");
    let mut sealer = Sealer::to_key(&public, ContainerCipher::default(), &mut sealed).expect("there is randomness");
    message.chunks(usize::from(*piece) + 1).for_each(|piece| sealer.push(piece, &mut sealed).expect("it is short"));
    sealer.finish(&mut sealed).expect("it is short");
    assert_eq!(opened(&sealed, &key, usize::from(*piece) + 7).as_deref(), Some(message));
    let at = usize::from(*change) * sealed.len() / 256;
    assert_eq!(opened(&sealed[..at], &key, 100), None, "cut short");
    sealed[at] ^= 1;
    assert_eq!(opened(&sealed, &key, 100), None, "changed");
}

fn opened(sealed: &[u8], key: &SecretKey, piece: usize) -> Option<Vec<u8>> {
    let length = Header::length(sealed).ok()?;
    let header = Header::parse(sealed.get(..length)?).ok()?;
    let mut opener = Opener::with_key(&header, key).ok()?;
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
        let algorithm = line.algorithm.unwrap_or(HashAlgorithm::Sha256);
        let written = checksum::format(algorithm, &line.digest, &line.name, line.algorithm.is_some());
        let written = written.strip_suffix(b"\n").expect("a line ends");
        assert!(!written.contains(&b'\n') && !written.contains(&b'\r'));
        assert_eq!(checksum::parse(written), Ok(line));
    }
    if !data.is_empty() && !data.contains(&0) {
        for tag in [false, true] {
            let written = checksum::format(HashAlgorithm::Sm3, &[1; 32], data, tag);
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
