//! Records for users that don't exist, so that nobody can tell (RFC 9807 §10.9).
//!
//! A record is made up for every login, whether there is a real one or not, and one of the two is chosen without a branch; after
//! that the work is the same.

use super::Record;
use crate::Error;
use crate::group::{Base, derive_key, encode_products};
use crate::kdf::{Mac, Prk};
use crate::ksf::KsfParams;
use crate::messages::UPLOAD;
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::secret;
use subtle::{Choice, ConditionallySelectable, ConstantTimeLess};
use zeroize::Zeroizing;

/// The info from which the keys here come. OPRF keys come from infos that end in `OprfKey`; this one does not.
const INFO: &[u8] = b"candor-opaque-1: unknown users";

/// What makes up records.
pub(super) struct Unknown {
    mac: Mac,
    /// A public key to which nobody has the secret.
    client_public: [u8; 32],
    choices: Vec<(KsfParams, u32)>,
    total: u64,
}

impl Unknown {
    /// From the OPRF seed, so that there is no further secret to keep.
    pub(super) fn new(oprf_prk: &Prk) -> Self {
        let key = oprf_prk.expand(&[INFO]);
        let seed: Zeroizing<[u8; 32]> = Prk::new(&key).expand(&[b"client's public key"]);
        let [client_public] = *encode_products([(&*derive_key(&seed, INFO), Base::Generator)]);
        secret::declassify(&client_public, "public-key");
        Self { mac: Mac::new(key.as_slice()), client_public, choices: vec![(KsfParams::BROWSER, 1)], total: 1 }
    }

    pub(super) fn set_choices(&mut self, choices: &[(KsfParams, u32)]) -> Result<(), Error> {
        let total = choices.iter().map(|&(_, weight)| u64::from(weight)).sum();
        if total == 0 {
            return Err(Error::Ksf(crate::error::KsfError::Parameters));
        }
        (self.choices, self.total) = (choices.to_vec(), total);
        Ok(())
    }

    /// The real record if there is one, otherwise one made up; the same work either way.
    pub(super) fn or_real(&self, real: Option<&Record>, credential_id: &[u8]) -> Record {
        let mut chosen = self.record(credential_id);
        let there = Choice::from(u8::from(real.is_some()));
        // Somebody's bytes have to be there to be not chosen.
        let other = real.cloned().unwrap_or_else(|| chosen.clone());
        for (byte, real) in chosen.bytes_mut().iter_mut().zip(other.to_bytes()) {
            byte.conditional_assign(real, there);
        }
        chosen
    }

    /// The made-up record: always the same for the same identifier.
    fn record(&self, credential_id: &[u8]) -> Record {
        let masking_key = self.mac.of(&[b"masking key", credential_id]);
        let mut upload = Zeroizing::new([0; UPLOAD]);
        crate::write(&mut upload[..96], &[&self.client_public, masking_key.as_slice()]);
        Record::assemble(&upload, &self.ksf(credential_id))
    }

    /// The parameters that this identifier draws.
    fn ksf(&self, credential_id: &[u8]) -> KsfParams {
        let drawn = self.mac.of(&[b"key stretching", credential_id]);
        let number = drawn.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        // From 0 to total - 1, evenly but for total / 2^64. A division would take a time that depends on the number.
        let point = ((u128::from(number) * u128::from(self.total)) >> 64) as u64;
        // All of them are looked at, so that the time does not tell which it was.
        let (mut chosen, mut sum) = ([0; KsfParams::LENGTH], 0);
        for (params, weight) in &self.choices {
            let before = sum;
            sum += u64::from(*weight);
            let here = !point.ct_lt(&before) & point.ct_lt(&sum);
            for (byte, param) in chosen.iter_mut().zip(params.to_bytes()) {
                byte.conditional_assign(&param, here);
            }
        }
        // They are sent to whoever asks.
        secret::declassify(&chosen, "opaque-ksf-params");
        KsfParams::from_bytes(&chosen).unwrap_or(KsfParams::BROWSER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown() -> Unknown {
        Unknown::new(&Prk::new(&[7; 64]))
    }

    #[test]
    fn an_unknown_user_is_always_told_the_same() {
        let mut unknown = unknown();
        unknown.set_choices(&[(KsfParams::BROWSER, 1), (KsfParams::NATIVE, 1)]).unwrap();
        for id in [&b"alice"[..], b"bob", b""] {
            assert_eq!(unknown.record(id).to_bytes(), unknown.record(id).to_bytes());
        }
        assert_ne!(unknown.record(b"alice").to_bytes()[32..96], unknown.record(b"bob").to_bytes()[32..96]);
    }

    #[test]
    fn parameters_are_drawn_in_proportion_to_their_weights() {
        let mut unknown = unknown();
        unknown.set_choices(&[(KsfParams::Identity, 0), (KsfParams::BROWSER, 3), (KsfParams::NATIVE, 1)]).unwrap();
        let drawn = |params| (0..4000u32).filter(|id| unknown.ksf(&id.to_be_bytes()) == params).count();
        assert_eq!(drawn(KsfParams::Identity), 0);
        // 3000 expected, standard deviation 27; the draws are the same in every run.
        assert!((2850..3150).contains(&drawn(KsfParams::BROWSER)));
        assert_eq!(drawn(KsfParams::BROWSER) + drawn(KsfParams::NATIVE), 4000);
        assert!(unknown.set_choices(&[(KsfParams::NATIVE, 0)]).is_err());
        assert!(unknown.set_choices(&[]).is_err());
    }

    #[test]
    fn a_real_record_is_chosen_whole() {
        let unknown = unknown();
        let real = Record::assemble(&[9; UPLOAD], &KsfParams::NATIVE);
        assert_eq!(unknown.or_real(Some(&real), b"alice").to_bytes(), real.to_bytes());
        assert_eq!(unknown.or_real(None, b"alice").to_bytes(), unknown.record(b"alice").to_bytes());
    }
}
