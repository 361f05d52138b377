//! The neutral party of the witnesses: the same handshakes on RustCrypto's ML-KEM, with everything that would be fresh taken
//! from the seed. It is never timed.
//!
//! A client's state can't cross from one subject to another, so two of them can't shake hands directly. Each shakes hands
//! with the reference instead, as client and as relay, and everyone can do the reference's side again:
//!
//! | part of the witness | made by | checked by |
//! |---|---|---|
//! | `onionskin` | the subject's client, for the seed's relay | the reference relay answers it … |
//! | `client's keys` | the subject's client, from the reference relay's reply | … and must have these keys |
//! | `reply` | the subject's relay, to the reference client's onionskin | the reference client finishes with it … |
//! | `relay's keys` | the subject's relay | … and must have these keys |

use super::super::ml_kem::{KeyPair, Level};
use super::parts;
use super::{Failed, Kind, Scheme};
use crate::ours::ntor::Ours;
use crate::peers::insecure_seed::{InsecureSeed, OurHash};
use crate::seed::Stream;
use candor_lab::{Mismatch, Witness};
use candor_onion::handshake::{Hybrid, NoStaticKem, Ntor, NtorV3, StaticKem};
use candor_primitives::dh::aws_lc::X25519;
use candor_primitives::kem::rustcrypto::{MlKem512, MlKem768, MlKem1024};
use candor_test_support::back_ends::{Draws, Twisted};

/// The long-term secrets of the seed's relay, the same for everyone.
pub(crate) struct RelaySecrets {
    /// What names it; `ntor` takes the first 20 bytes.
    pub(crate) identity: [u8; 32],
    /// Its X25519 onion key.
    pub(crate) onion_key: [u8; 32],
    /// Its static KEM key, where the handshake has one.
    pub(crate) static_kem: Option<KeyPair>,
}

impl RelaySecrets {
    /// Those of `seed`.
    pub(crate) fn new(seed: u64, kind: Kind) -> Self {
        let mut stream = Stream::new(seed, "ntor relay");
        let level = kind.level().filter(|_| kind.has_static_kem());
        Self {
            identity: stream.array(),
            onion_key: stream.array(),
            static_kem: level.map(|level| KeyPair::new(level, seed)),
        }
    }
}

/// One side of a handshake, by bytes.
trait Neutral {
    fn onionskin(&self) -> Result<Vec<u8>, Failed>;
    fn finish(&self, reply: &[u8]) -> Result<Vec<u8>, Failed>;
    fn answer(&self, onionskin: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Failed>;
}

struct Reference<S: Scheme> {
    scheme: S,
    relay: S::Relay,
}

impl<S: Scheme> Neutral for Reference<S> {
    fn onionskin(&self) -> Result<Vec<u8>, Failed> {
        Ok(self.scheme.start(&self.relay)?.1)
    }

    /// Starts once more, which gives the same state as the first time.
    fn finish(&self, reply: &[u8]) -> Result<Vec<u8>, Failed> {
        let (waiting, _) = self.scheme.start(&self.relay)?;
        Ok(self.scheme.finish(waiting, reply)?.as_ref().to_vec())
    }

    fn answer(&self, onionskin: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Failed> {
        let (reply, keys) = self.scheme.answer(&self.relay, onionskin)?;
        Ok((reply, keys.as_ref().to_vec()))
    }
}

/// The reference in a role; client and relay must not draw the same keys. In one role each draw is the same every time, so that a side can be
/// played again.
fn neutral(kind: Kind, seed: u64, role: &'static str) -> Result<Box<dyn Neutral>, Failed> {
    let draws = |what: &str| Draws(Stream::new(seed, &format!("{what} of the {role}")));
    let dh = Twisted::new(X25519, draws("x25519"));
    let secrets = RelaySecrets::new(seed, kind);
    /// The scheme over the back end of `$level`.
    macro_rules! at {
        ($level:expr, |$kem:ident| $scheme:expr) => {
            match $level {
                Level::L512 => at!(MlKem512, $kem, $scheme),
                Level::L768 => at!(MlKem768, $kem, $scheme),
                Level::L1024 => at!(MlKem1024, $kem, $scheme),
            }
        };
        ($back_end:ident, $kem:ident, $scheme:expr) => {{
            let $kem = Twisted::new($back_end, draws("kem"));
            boxed($scheme, &secrets)
        }};
    }
    match kind {
        Kind::Ntor => boxed(Ours::reference(Ntor::new(dh)), &secrets),
        Kind::NtorV3 => boxed(Ours::reference(NtorV3::new(dh)), &secrets),
        Kind::Hybrid(level) => at!(level, |kem| Ours::reference(Hybrid::new(kem, dh, NoStaticKem))),
        Kind::HybridAuth(level) => {
            at!(level, |kem| Ours::reference(Hybrid::new(kem.clone(), dh, StaticKem(kem))))
        }
        Kind::InsecureSeed(level) => at!(level, |kem| InsecureSeed::new(kem, OurHash)),
    }
}

fn boxed<S: Scheme>(scheme: S, secrets: &RelaySecrets) -> Result<Box<dyn Neutral>, Failed> {
    let relay = scheme.relay(secrets)?;
    Ok(Box::new(Reference { scheme, relay }))
}

/// What `scheme` shows for itself.
pub(super) fn witness<S: Scheme>(scheme: &S, relay: &S::Relay, kind: Kind, seed: u64) -> Result<Witness, Failed> {
    let (waiting, onionskin) = scheme.start(relay)?;
    let (answer, _) = neutral(kind, seed, "relay")?.answer(&onionskin)?;
    let client_keys = scheme.finish(waiting, &answer)?;
    let (reply, relay_keys) = scheme.answer(relay, &neutral(kind, seed, "client")?.onionskin()?)?;
    Ok(Witness::default()
        .with("scheme", kind.name())
        .with("onionskin", onionskin)
        .with("client's keys", client_keys)
        .with("reply", reply)
        .with("relay's keys", relay_keys))
}

/// Checks the witness of any subject that stands in the tasks of `kind`: of a handshake, be it another one, or of its parts.
pub(super) fn check(kind: Kind, seed: u64, witness: &Witness) -> Result<(), Mismatch> {
    let scheme = witness.part("scheme")?;
    if scheme == parts::NAME.as_bytes() {
        return parts::check(kind, seed, witness);
    }
    let theirs = Kind::all().find(|kind| kind.name().as_bytes() == scheme);
    let theirs = theirs.ok_or_else(|| Mismatch::new("it is of no handshake that is known"))?;

    let relay = neutral(theirs, seed, "relay").map_err(Mismatch::new)?;
    let (_, keys) = relay.answer(witness.part("onionskin")?).map_err(Mismatch::new)?;
    same_keys(&keys, witness.part("client's keys")?, "client")?;

    let client = neutral(theirs, seed, "client").map_err(Mismatch::new)?;
    let keys = client.finish(witness.part("reply")?).map_err(Mismatch::new)?;
    same_keys(&keys, witness.part("relay's keys")?, "relay")
}

fn same_keys(ours: &[u8], theirs: &[u8], who: &str) -> Result<(), Mismatch> {
    match ours == theirs {
        true => Ok(()),
        false => Err(Mismatch::new(format!("the {who} ends with other keys than the reference"))),
    }
}
