//! Records for names without an account, so that nobody can tell (RFC 9807 §10.9).
//!
//! A record is made up for every login, whether there is a real one or not, and one of the two is chosen without a branch; after
//! that the work is the same.

use super::Record;
use super::history::KsfHistory;
use super::record::FIXED;
use crate::credential::CredentialId;
use crate::group::{Base, derive_key, encode_products};
use crate::kdf::{Mac, Prk};
use crate::lengths::UPLOAD;
use crate::suite::SuiteId;
use candor_cpu::secret;
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

/// The info from which the keys here come. OPRF keys come from infos that end in `OprfKey`; this one does not.
const INFO: &[u8] = b"candor-opaque-1: unknown users";

/// What makes up records.
pub(super) struct Unknown {
    mac: Mac,
    /// A public key to which nobody has the secret.
    client_public: [u8; 32],
}

impl Unknown {
    /// Derived from the OPRF seed, so that there is no further secret to keep.
    pub(super) fn new(oprf_prk: &Prk) -> Self {
        let key = oprf_prk.expand(&[INFO]);
        let seed: Zeroizing<[u8; 32]> = Prk::new(&key).expand(&[b"client's public key"]);
        let [client_public] = *encode_products([(&*derive_key(&seed, INFO), Base::Generator)]);
        secret::declassify(&client_public, "public-key");
        Self { mac: Mac::new(key.as_slice()), client_public }
    }

    /// The real record if there is one, otherwise one made up; the same work either way.
    ///
    /// `masked` puts the made-up upload into the real record, so that no password opens the answer. Its identifier and parameters stay: a server
    /// of a stronger suite answers with them, and whoever asks both must not see a difference that a name without an account does not have.
    pub(super) fn or_real(&self, real: Option<&Record>, masked: bool, name: &[u8], history: &KsfHistory) -> Record {
        let made_up = self.record(name, history);
        let there = Choice::from(u8::from(real.is_some()));
        let mut fixed = Zeroizing::new(*made_up.fixed());
        let other = real.unwrap_or(&made_up);
        let shown = there & Choice::from(u8::from(!masked));
        let (head, upload) = fixed.split_at_mut(FIXED - UPLOAD);
        let (real_head, real_upload) = other.fixed().split_at(FIXED - UPLOAD);
        head.iter_mut().zip(real_head).for_each(|(byte, real)| byte.conditional_assign(real, there));
        upload.iter_mut().zip(real_upload).for_each(|(byte, real)| byte.conditional_assign(real, shown));
        Record::with_fixed(fixed, other.credential_id().clone())
    }

    /// The made-up record: always the same for the same name, as long as the history is.
    fn record(&self, name: &[u8], history: &KsfHistory) -> Record {
        let masking_key = self.mac.of(&[b"masking key", name]);
        let id = self.mac.of(&[b"credential identifier", name]);
        let id = CredentialId::imported(&id[..CredentialId::LENGTH]).expect("32 bytes are short");
        let mut upload = Zeroizing::new([0; UPLOAD]);
        crate::write(&mut upload[..96], &[&self.client_public, masking_key.as_slice()]);
        let ksf = history.draw(|version| {
            let drawn = self.mac.of(&[b"key stretching", &[version], name]);
            drawn.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
        });
        Record::assemble(&upload, &ksf, id, SuiteId::Rfc9807)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ksf::KsfParams;
    use alloc::vec::Vec;

    fn unknown() -> Unknown {
        Unknown::new(&Prk::new(&[7; 64]))
    }

    #[test]
    fn an_unknown_user_is_always_told_the_same() {
        let (unknown, mut history) = (unknown(), KsfHistory::new(KsfParams::BROWSER));
        history.adopt(KsfParams::NATIVE, 500).unwrap();
        let record = |name: &[u8]| unknown.record(name, &history).to_bytes();
        for name in [&b"alice"[..], b"bob", b""] {
            assert_eq!(record(name), record(name));
        }
        assert_ne!(record(b"alice")[47..111], record(b"bob")[47..111]);
        assert_ne!(record(b"alice")[207..], record(b"bob")[207..]);
    }

    #[test]
    fn as_many_unknown_users_move_to_new_parameters_as_the_server_says() {
        let (unknown, mut history) = (unknown(), KsfHistory::new(KsfParams::BROWSER));
        let moved = |history: &KsfHistory| -> Vec<u32> {
            (0..4000u32)
                .filter(|name| unknown.record(&name.to_be_bytes(), history).ksf() == KsfParams::NATIVE)
                .collect()
        };
        assert_eq!(moved(&history), []);
        history.adopt(KsfParams::NATIVE, 250).unwrap();
        let first = moved(&history);
        // 1000 expected, standard deviation 27; the draws are the same in every run.
        assert!((850..1150).contains(&first.len()), "{}", first.len());
        // Whoever has moved stays.
        history.adopt(KsfParams::NATIVE, 600).unwrap();
        let second = moved(&history);
        assert!((2250..2550).contains(&second.len()) && first.iter().all(|name| second.contains(name)));
        history.adopt(KsfParams::NATIVE, 1000).unwrap();
        assert_eq!(moved(&history).len(), 4000);
    }

    #[test]
    fn a_real_record_is_chosen_whole() {
        let (unknown, history) = (unknown(), KsfHistory::new(KsfParams::BROWSER));
        let id = CredentialId::imported(b"an id of another length").unwrap();
        let real = Record::assemble(&[9; UPLOAD], &KsfParams::NATIVE, id, SuiteId::Hybrid);
        assert_eq!(unknown.or_real(Some(&real), false, b"alice", &history).to_bytes(), real.to_bytes());
        let made_up = unknown.record(b"alice", &history);
        assert_eq!(unknown.or_real(None, false, b"alice", &history).to_bytes(), made_up.to_bytes());
        let masked = unknown.or_real(Some(&real), true, b"alice", &history);
        assert_eq!((masked.credential_id(), masked.ksf()), (real.credential_id(), real.ksf()));
        assert_eq!(masked.upload(), made_up.upload());
    }
}
