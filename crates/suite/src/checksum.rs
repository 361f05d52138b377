//! Lines of checksums, as `sha256sum` and its kin of coreutils write and read them.
//!
//! ```text
//! e3b0…b855  empty file            a space, and a space or `*` for a file read as binary, which means the same here
//! \e3b0…b855  two\nlines           a backslash first: the name has \\, \n and \r for a backslash and the ends of lines
//! SHA256 (empty file) = e3b0…b855  with a tag; OpenSSL's form without the spaces is read as well
//! ```

use crate::hash::HashAlgorithm;
use std::fmt::Write;

/// One file of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The algorithm, if a tag names it.
    pub algorithm: Option<HashAlgorithm>,
    /// The digest.
    pub digest: Vec<u8>,
    /// The file's name, as bytes.
    pub name: Vec<u8>,
}

/// Why a line is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line is no checksum; expected `DIGEST  FILE` or `NAME (FILE) = DIGEST`")]
pub struct Malformed;

/// Reads a line, without its end. Empty lines and those that begin with `#` are for the caller to leave out.
///
/// # Errors
/// [`Malformed`].
pub fn parse(line: &[u8]) -> Result<Line, Malformed> {
    let (escaped, rest) = match line.strip_prefix(b"\\") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (algorithm, digest, name) = tagged(rest).or_else(|| untagged(rest)).ok_or(Malformed)?;
    let name = if escaped { unescaped(name)? } else { name.to_vec() };
    if name.is_empty() || name.contains(&0) {
        return Err(Malformed);
    }
    Ok(Line { algorithm, digest, name })
}

/// Writes a line, with its end. With a tag it names its algorithm.
#[must_use]
pub fn format(tag: Option<HashAlgorithm>, digest: &[u8], name: &[u8]) -> Vec<u8> {
    let mut hex = String::with_capacity(2 * digest.len());
    digest.iter().for_each(|byte| write!(hex, "{byte:02x}").expect("text grows"));
    let is_escaped = name.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r'));
    let mut line = if is_escaped { b"\\".to_vec() } else { Vec::new() };
    let mut shown = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'\\' => shown.extend_from_slice(b"\\\\"),
            b'\n' => shown.extend_from_slice(b"\\n"),
            b'\r' => shown.extend_from_slice(b"\\r"),
            other => shown.push(*other),
        }
    }
    if let Some(algorithm) = tag {
        line.extend_from_slice(algorithm.tag().as_bytes());
        if algorithm.is_extendable() {
            line.extend_from_slice(format!("-{}", 8 * digest.len()).as_bytes());
        }
        line.extend_from_slice(b" (");
        line.extend_from_slice(&shown);
        line.extend_from_slice(b") = ");
        line.extend_from_slice(hex.as_bytes());
    } else {
        line.extend_from_slice(hex.as_bytes());
        line.extend_from_slice(b"  ");
        line.extend_from_slice(&shown);
    }
    line.push(b'\n');
    line
}

type Parts<'a> = (Option<HashAlgorithm>, Vec<u8>, &'a [u8]);

fn untagged(line: &[u8]) -> Option<Parts<'_>> {
    let end = line.iter().position(|byte| *byte == b' ')?;
    let digest = from_hex(&line[..end])?;
    let name = match &line[end + 1..] {
        [b' ' | b'*', name @ ..] => name,
        _ => return None,
    };
    Some((None, digest, name))
}

fn tagged(line: &[u8]) -> Option<Parts<'_>> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let tag = str::from_utf8(&line[..open]).ok()?;
    // The name may have parentheses itself: its end is the last one.
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let name = line.get(open + 1..close)?;
    let after = line[close + 1..].trim_ascii_start().strip_prefix(b"=")?;
    let digest = from_hex(after.trim_ascii_start())?;
    let tag = tag.strip_suffix(' ').unwrap_or(tag);
    // SHAKE's tag ends with the digest's bits, which are there anyway.
    let found = HashAlgorithm::tagged(tag).or_else(|| {
        let (name, bits) = tag.rsplit_once('-')?;
        let algorithm = HashAlgorithm::tagged(name).filter(|algorithm| algorithm.is_extendable())?;
        (bits.parse() == Ok(8 * digest.len())).then_some(algorithm)
    })?;
    Some((Some(found), digest, name))
}

fn unescaped(name: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'\\') => b'\\',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                _ => return Err(Malformed),
            },
            other => *other,
        });
    }
    Ok(plain)
}

/// Bytes of hexadecimal digits, of either case; none for no digits.
fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    bytes.filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(line: &str) -> Option<(Option<HashAlgorithm>, Vec<u8>, String)> {
        let line = parse(line.as_bytes()).ok()?;
        Some((line.algorithm, line.digest, String::from_utf8(line.name).unwrap()))
    }

    #[test]
    fn the_forms_of_coreutils_and_openssl_are_read() {
        let plain = |name: &str| Some((None, vec![0xab, 1], name.to_owned()));
        assert_eq!(read("ab01  a file"), plain("a file"));
        assert_eq!(read("AB01 *a file"), plain("a file"));
        assert_eq!(read("ab01   leading"), plain(" leading"));
        assert_eq!(read("\\ab01  a\\nb\\\\c\\rd"), plain("a\nb\\c\rd"));
        assert_eq!(read("ab01  a\\nb"), plain("a\\nb"));
        let tagged = |algorithm, name: &str| Some((Some(algorithm), vec![0xab, 1], name.to_owned()));
        assert_eq!(read("SHA256 (a (b) c) = ab01"), tagged(HashAlgorithm::Sha256, "a (b) c"));
        assert_eq!(read("BLAKE2b (a) = ab01"), tagged(HashAlgorithm::Blake2b512, "a"));
        assert_eq!(read("SHA2-512(a)= ab01"), tagged(HashAlgorithm::Sha512, "a"));
        assert_eq!(read("\\SM3 (a\\nb) = ab01"), tagged(HashAlgorithm::Sm3, "a\nb"));
        assert_eq!(read("SHAKE128-16 (a) = ab01"), tagged(HashAlgorithm::Shake128, "a"));
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "",
            "ab01",
            "ab01 ",
            "ab01  ",
            "ab01 a",
            "ab0  a",
            "xy01  a",
            "  a",
            "\\ab01  a\\",
            "\\ab01  a\\t",
            "SHA256 (a) ab01",
            "SHA256 () = ab01",
            "MD5 (a) = ab01",
            "SHAKE128-24 (a) = ab01",
            "SHA256-16 (a) = ab01",
            "SHA256 )a( = ab01",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(name in proptest::collection::vec(1_u8.., 1..40), tag: bool, which in 0_usize..10) {
            let algorithm = HashAlgorithm::ALL[which];
            let digest = vec![0x5a; algorithm.size()];
            let line = format(tag.then_some(algorithm), &digest, &name);
            let (body, end) = line.split_at(line.len() - 1);
            prop_assert_eq!(end, b"\n");
            prop_assert!(!body.contains(&b'\n'));
            let expected = Line { algorithm: tag.then_some(algorithm), digest, name };
            prop_assert_eq!(parse(body), Ok(expected));
        }
    }
}
