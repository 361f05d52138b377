//! Recovery codes.

use candor_primitives::kdf::HkdfSha256;
use getrandom::{SysRng, rand_core::TryRng};
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// The digits: Crockford's base 32, which has none of I, L, O and U.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Digits of a code: 16 bytes.
const LENGTH: usize = 26;

/// What an owner who has forgotten the password gets back in with: 16 random bytes, to be written down.
///
/// The server is never told the code, only what is derived from it for that purpose. So the code also serves to keep data from the server
/// ([`Self::wrapping_key`]). It is wiped on drop; [`Display`](fmt::Display) writes it for its owner.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCode(Zeroizing<[u8; 16]>);

impl RecoveryCode {
    pub(crate) fn generate() -> Result<Self, crate::Error> {
        let mut code = Zeroizing::new([0; 16]);
        SysRng.try_fill_bytes(code.as_mut_slice()).map_err(|error| crate::Error::Internal(error.to_string()))?;
        Ok(Self(code))
    }

    /// What the server is told.
    pub(crate) fn for_server(&self) -> Zeroizing<[u8; 32]> {
        self.derive(b"candor-login-1: recovery")
    }

    /// A key that only the owner of the code has, for AES-256-GCM or the like. Encrypt the application's data key under it as well as under the
    /// export key: the export key is lost with the password.
    #[must_use]
    pub fn wrapping_key(&self) -> Zeroizing<[u8; 32]> {
        self.derive(b"candor-login-1: wrapping key")
    }

    fn derive(&self, label: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        HkdfSha256::new(None, self.0.as_slice()).expand(label, key.as_mut_slice()).expect("HKDF gives 32 bytes");
        key
    }
}

impl fmt::Display for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 128 bits and two zeros behind them, five at a time.
        let bits = u128::from_be_bytes(*self.0);
        for digit in 0..LENGTH {
            if digit > 0 && digit % 5 == 0 && digit < 25 {
                f.write_str("-")?;
            }
            let value = if digit == LENGTH - 1 { bits << 2 } else { bits >> (123 - 5 * digit) };
            write!(f, "{}", char::from(DIGITS[(value & 31) as usize]))?;
        }
        Ok(())
    }
}

impl FromStr for RecoveryCode {
    type Err = NoRecoveryCode;

    /// Reads a code as its owner types it: in upper or lower case, with or without hyphens and spaces, I and L for 1, O for 0.
    fn from_str(text: &str) -> Result<Self, NoRecoveryCode> {
        let mut values = Zeroizing::new(Vec::with_capacity(LENGTH + 1));
        for character in text.chars().filter(|c| !c.is_whitespace() && *c != '-') {
            let digit = match character.to_ascii_uppercase() {
                'I' | 'L' => '1',
                'O' => '0',
                digit => digit,
            };
            let value = DIGITS.iter().position(|other| char::from(*other) == digit).ok_or(NoRecoveryCode)?;
            if values.len() == LENGTH {
                return Err(NoRecoveryCode);
            }
            values.push(value as u128);
        }
        let (&last, first) = values.split_last().ok_or(NoRecoveryCode)?;
        if first.len() != LENGTH - 1 || last & 3 != 0 {
            return Err(NoRecoveryCode);
        }
        let bits = first.iter().fold(0, |bits: u128, value| bits << 5 | value) << 3 | last >> 2;
        Ok(Self(Zeroizing::new(bits.to_be_bytes())))
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode(..)")
    }
}

/// A text that is no recovery code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a recovery code has 26 letters and digits; check it for typing mistakes")]
pub struct NoRecoveryCode;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_comes_back_as_its_owner_types_it() {
        let code = RecoveryCode::generate().unwrap();
        let text = code.to_string();
        assert_eq!(text.parse(), Ok(code.clone()));
        assert_eq!(text.to_lowercase().replace('-', " ").replace('1', "l").replace('0', "o").parse(), Ok(code));
        for bytes in [[0; 16], [255; 16], [1; 16], core::array::from_fn(|n| n as u8 * 17)] {
            let code = RecoveryCode(Zeroizing::new(bytes));
            assert_eq!(code.to_string().parse(), Ok(code.clone()));
        }
        assert_eq!(RecoveryCode(Zeroizing::new([255; 16])).to_string(), "ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZW");
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for wrong in [
            "",
            "ZZZZZ",
            "ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZZ",
            "ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZWW",
            "UZZZZ-ZZZZZ-ZZZZZ-ZZZZZ-ZZZZZW",
        ] {
            assert_eq!(wrong.parse::<RecoveryCode>(), Err(NoRecoveryCode), "{wrong}");
        }
    }

    #[test]
    fn what_the_server_is_told_is_neither_the_code_nor_the_wrapping_key() {
        let code = RecoveryCode(Zeroizing::new([7; 16]));
        assert_ne!(code.for_server(), code.wrapping_key());
        assert_ne!(code.for_server()[..16], [7; 16]);
        assert!(!format!("{code:?}").contains('7'));
    }
}
