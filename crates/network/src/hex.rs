//! Bytes as hexadecimal digits, in relay lists and key files.

use zeroize::Zeroizing;

/// The digits of `bytes`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).expect("four bits are a digit"));
        }
    }
    text
}

/// The bytes that `text` stands for, if it is nothing but pairs of digits. Wiped on drop, since keys come this way.
pub(crate) fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = Zeroizing::new(Vec::with_capacity(pairs.len()));
    for [high, low] in pairs {
        bytes.push((digit(*high)? << 4 | digit(*low)?) as u8);
    }
    Some(bytes)
}

/// [`decode`] for a known length.
pub(crate) fn array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.as_slice().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_bytes_are_each_others_inverse() {
        assert_eq!(encode(&[0, 0x9f, 0xff]), "009fff");
        assert_eq!(array("009FfF"), Some([0, 0x9f, 0xff]));
        for wrong in ["0", "0g", "é", "+1"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
        assert_eq!(array::<2>("009fff"), None);
    }
}
