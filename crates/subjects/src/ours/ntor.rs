//! candor's handshakes over their back ends, as subjects.

mod parts;

use super::gf2::best_first;
use super::insecure_seed;
use super::{AUTO_AWS_LC, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Provenance};
use candor_onion::handshake::{Client, Handshake, Hybrid, NoStaticKem, Ntor, NtorV3, Request, StaticKem};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::ml_kem::Level;
use candor_peers::contract::ntor::{self, Failed, Kind, RelaySecrets, Scheme};
use candor_peers::linked;
use candor_primitives::dh::x25519::X25519;
use candor_primitives::dh::{self, DiffieHellman};
use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
use candor_primitives::kem::{self, Kem};
use std::slice::from_ref;

/// Bytes of keys that each side expands: what the tor1 relay cryptography takes (two digests, two AES-128 keys).
const KEYS: usize = 72;

/// A handshake of ours, and where its back ends come from.
pub(crate) struct Ours<H> {
    handshake: H,
    provenance: Provenance,
}

/// A handshake that can take a relay's keys from outside.
pub(crate) trait RelayWith: Handshake {
    /// The relay with these keys.
    fn relay_with(&self, secrets: &RelaySecrets) -> Result<Self::RelaySecret, Failed>;
}

/// The onion key as the back end `$dh` parses it. A handshake does not give its back ends away; parsing is the same for all
/// values of one.
macro_rules! key {
    ($dh:ty, $secrets:expr) => {
        <$dh>::default().secret_from_bytes(&$secrets.onion_key)?
    };
}

impl<D: DiffieHellman + Clone + Default> RelayWith for Ntor<D> {
    fn relay_with(&self, secrets: &RelaySecrets) -> Result<Self::RelaySecret, Failed> {
        let identity = *secrets.identity.first_chunk().expect("32 bytes begin with 20");
        Ok(self.relay(identity, key!(D, secrets))?)
    }
}

impl<D: DiffieHellman + Clone + Default> RelayWith for NtorV3<D> {
    fn relay_with(&self, secrets: &RelaySecrets) -> Result<Self::RelaySecret, Failed> {
        Ok(self.relay(secrets.identity, key!(D, secrets))?)
    }
}

impl<K: Kem + Clone, D: DiffieHellman + Clone + Default> RelayWith for Hybrid<K, D, NoStaticKem> {
    fn relay_with(&self, secrets: &RelaySecrets) -> Result<Self::RelaySecret, Failed> {
        Ok(self.relay(secrets.identity, key!(D, secrets), ((), ()))?)
    }
}

impl<K: Kem + Clone + Default, D: DiffieHellman + Clone + Default> RelayWith for Hybrid<K, D, StaticKem<K>> {
    fn relay_with(&self, secrets: &RelaySecrets) -> Result<Self::RelaySecret, Failed> {
        let pair = secrets.static_kem.as_ref().expect("the kind has a static key");
        let kem = K::default();
        let static_kem = (kem.secret_from_bytes(&pair.secret)?, kem.public_from_bytes(&pair.public)?);
        Ok(self.relay(secrets.identity, key!(D, secrets), static_kem)?)
    }
}

impl<H: RelayWith + 'static> Scheme for Ours<H> {
    type Relay = H::RelaySecret;
    type Waiting = H::Client;
    type Keys = [u8; KEYS];

    fn relay(&self, secrets: &RelaySecrets) -> Result<H::RelaySecret, Failed> {
        self.handshake.relay_with(secrets)
    }

    fn start(&self, relay: &H::RelaySecret) -> Result<(H::Client, Vec<u8>), Failed> {
        Ok(self.handshake.start(self.handshake.public(relay), b"")?)
    }

    fn answer(&self, relay: &H::RelaySecret, onionskin: &[u8]) -> Result<(Vec<u8>, [u8; KEYS]), Failed> {
        let (reply, stream) = self.handshake.accept(from_ref(relay), onionskin)?.respond(b"")?;
        let mut keys = [0; KEYS];
        stream.expand_into(&mut keys)?;
        Ok((reply, keys))
    }

    fn finish(&self, waiting: H::Client, reply: &[u8]) -> Result<[u8; KEYS], Failed> {
        let mut keys = [0; KEYS];
        waiting.finish(reply)?.keys.expand_into(&mut keys)?;
        Ok(keys)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        said_of(timed, self.provenance.clone())
    }
}

/// `$value`, where `$name` is ML-KEM of `$level` from the back end `$kem`.
macro_rules! ml_kem {
    ($level:expr, $kem:ident, |$name:ident| $value:expr) => {
        match $level {
            Level::L512 => ml_kem!($name = kem::$kem::MlKem512, $value),
            Level::L768 => ml_kem!($name = kem::$kem::MlKem768, $value),
            Level::L1024 => ml_kem!($name = kem::$kem::MlKem1024, $value),
        }
    };
    ($name:ident = $kem:expr, $value:expr) => {{
        let $name = $kem;
        $value
    }};
}

/// Bytes of the onionskin and of the reply.
pub(crate) fn sizes(kind: Kind) -> (usize, usize) {
    fn of<H: Handshake>(_: &H) -> (usize, usize) {
        (H::ONIONSKIN, H::REPLY)
    }
    let dh = dh::aws_lc::X25519;
    match kind {
        Kind::Ntor => of(&Ntor::new(dh)),
        Kind::NtorV3 => of(&NtorV3::new(dh)),
        Kind::Hybrid(level) => ml_kem!(level, aws_lc, |kem| of(&Hybrid::new(kem, dh, NoStaticKem))),
        Kind::HybridAuth(level) => ml_kem!(level, aws_lc, |kem| of(&Hybrid::new(kem, dh, StaticKem(kem)))),
        Kind::InsecureSeed(level) => ml_kem!(level, aws_lc, |kem| candor_peers::insecure_seed::sizes(&kem)),
    }
}

/// Cells that EXTEND2 takes with this handshake.
pub(crate) fn extension_cells(kind: Kind) -> usize {
    ntor::cells(ntor::EXTEND2 + sizes(kind).0)
}

/// What the arms of a handshake are called after: X25519's, or where that is plain Rust ML-KEM's. The best one first.
pub(crate) fn arms(kind: Kind) -> Vec<(&'static str, Cpu)> {
    best_first(|cpu| match (X25519::with_cpu(cpu).arm(), MlKem768::with_cpu(cpu).arm()) {
        ("portable", arm) if kind.level().is_some() => arm,
        (arm, _) => arm,
    })
}

/// `$value`, where `$handshake` is one of `$kind` on our own back ends with `$cpu`, and `$provenance` makes what is said of it.
macro_rules! on_arm {
    ($kind:expr, $cpu:expr, |$handshake:ident, $provenance:ident| $value:expr) => {{
        use candor_onion::handshake::{Hybrid, NoStaticKem, Ntor, NtorV3, StaticKem};
        use candor_peers::contract::ml_kem::Level;
        use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
        let dh = || candor_primitives::dh::x25519::X25519::with_cpu($cpu);
        macro_rules! value {
            ($made:expr, $arms:expr) => {{
                let ($handshake, $provenance) = ($made, crate::ours::ntor::on_own(&$arms));
                $value
            }};
        }
        macro_rules! hybrid {
            ($kem:ident, |$fixed:ident| $static_key:expr) => {{
                let $fixed = $kem::with_cpu($cpu);
                let arms = format!("ML-KEM: {}; X25519: {}", $fixed.arm(), dh().arm());
                value!(Hybrid::new($fixed, dh(), $static_key), arms)
            }};
        }
        match $kind {
            Kind::Ntor => value!(Ntor::new(dh()), format!("X25519: {}", dh().arm())),
            Kind::NtorV3 => value!(NtorV3::new(dh()), format!("X25519: {}", dh().arm())),
            Kind::Hybrid(Level::L512) => hybrid!(MlKem512, |kem| NoStaticKem),
            Kind::Hybrid(Level::L768) => hybrid!(MlKem768, |kem| NoStaticKem),
            Kind::Hybrid(Level::L1024) => hybrid!(MlKem1024, |kem| NoStaticKem),
            Kind::HybridAuth(Level::L512) => hybrid!(MlKem512, |kem| StaticKem(kem)),
            Kind::HybridAuth(Level::L768) => hybrid!(MlKem768, |kem| StaticKem(kem)),
            Kind::HybridAuth(Level::L1024) => hybrid!(MlKem1024, |kem| StaticKem(kem)),
            Kind::InsecureSeed(_) => unreachable!("it has no back end of ours"),
        }
    }};
}
pub(crate) use on_arm;

/// The same on AWS-LC.
macro_rules! on_aws_lc {
    ($kind:expr, |$handshake:ident, $provenance:ident| $value:expr) => {{
        use candor_onion::handshake::{Hybrid, NoStaticKem, Ntor, NtorV3, StaticKem};
        use candor_peers::contract::ml_kem::Level;
        use candor_primitives::dh::aws_lc::X25519;
        use candor_primitives::kem::aws_lc::{MlKem512, MlKem768, MlKem1024};
        macro_rules! value {
            ($made:expr) => {{
                let ($handshake, $provenance) = ($made, crate::ours::ntor::by_aws_lc());
                $value
            }};
        }
        match $kind {
            Kind::Ntor => value!(Ntor::new(X25519)),
            Kind::NtorV3 => value!(NtorV3::new(X25519)),
            Kind::Hybrid(Level::L512) => value!(Hybrid::new(MlKem512, X25519, NoStaticKem)),
            Kind::Hybrid(Level::L768) => value!(Hybrid::new(MlKem768, X25519, NoStaticKem)),
            Kind::Hybrid(Level::L1024) => value!(Hybrid::new(MlKem1024, X25519, NoStaticKem)),
            Kind::HybridAuth(Level::L512) => value!(Hybrid::new(MlKem512, X25519, StaticKem(MlKem512))),
            Kind::HybridAuth(Level::L768) => value!(Hybrid::new(MlKem768, X25519, StaticKem(MlKem768))),
            Kind::HybridAuth(Level::L1024) => value!(Hybrid::new(MlKem1024, X25519, StaticKem(MlKem1024))),
            Kind::InsecureSeed(_) => unreachable!("it has a file of its own"),
        }
    }};
}
pub(crate) use on_aws_lc;

/// The whole handshake on our own back ends, the first of which is the baseline, on AWS-LC, and on a further back end.
pub(crate) fn handshake(kind: Kind) -> Vec<Entry> {
    if let Kind::InsecureSeed(level) = kind {
        return vec![insecure_seed::entry(level)];
    }
    let own = arms(kind)
        .into_iter()
        .map(|(arm, cpu)| on_arm!(kind, cpu, |handshake, by| on(&format!("candor@{arm}"), kind, handshake, by)));
    let aws_lc = on_aws_lc!(kind, |handshake, by| on(AUTO_AWS_LC, kind, handshake, by));
    own.chain(std::iter::once(aws_lc)).chain(second_back_end(kind)).collect()
}

fn on<H: RelayWith + Clone + Send + Sync + 'static>(
    subject: &str,
    kind: Kind,
    handshake: H,
    provenance: Provenance,
) -> Entry {
    ntor::entry(subject, kind, move || Ok(Ours { handshake: handshake.clone(), provenance: provenance.clone() }))
}

/// The same handshake on other libraries: what the baseline's messages are checked against.
fn second_back_end(kind: Kind) -> Option<Entry> {
    match kind {
        #[cfg(feature = "peers")]
        Kind::Ntor => Some(on(DALEK, kind, Ntor::new(dh::dalek::X25519), by_dalek())),
        #[cfg(feature = "peers")]
        Kind::NtorV3 => Some(on(DALEK, kind, NtorV3::new(dh::dalek::X25519), by_dalek())),
        #[cfg(feature = "peers")]
        Kind::Hybrid(level) => {
            let dh = dh::aws_lc::X25519;
            Some(ml_kem!(level, libcrux, |kem| on(LIBCRUX, kind, Hybrid::new(kem, dh, NoStaticKem), by_libcrux())))
        }
        #[cfg(feature = "peers")]
        Kind::HybridAuth(level) => {
            let dh = dh::aws_lc::X25519;
            Some(ml_kem!(level, libcrux, |kem| on(LIBCRUX, kind, Hybrid::new(kem, dh, StaticKem(kem)), by_libcrux())))
        }
        _ => None,
    }
}

#[cfg(feature = "peers")]
const DALEK: &str = "candor+dalek@auto";
#[cfg(feature = "peers")]
const LIBCRUX: &str = "candor+libcrux@auto";

/// The parts of a handshake, as a row in its table.
pub(crate) fn parts_beside(kind: Kind) -> Entry {
    parts_on_arm("parts@auto", kind, Cpu::default(), |provenance| {
        provenance.different_operation = Some(format!(
            "not a handshake but the operations in it alone, one by one ({}): no hashing, no MACs, no key derivation, no messages",
            kind.operations()
        ));
    })
}

/// The parts of a handshake in a table of their own, on our back ends and on others.
pub(crate) fn parts(kind: Kind) -> Vec<Entry> {
    let own = arms(kind).into_iter().map(|(arm, cpu)| parts_on_arm(&format!("candor@{arm}"), kind, cpu, |_| ()));
    own.chain(std::iter::once(parts_on_aws_lc(kind))).chain(parts_on_second_back_end(kind)).collect()
}

fn parts_on_second_back_end(kind: Kind) -> Option<Entry> {
    match kind.level() {
        #[cfg(feature = "peers")]
        None => {
            let provenance = parts_provenance(kind, by_dalek());
            Some(parts::entry(DALEK, kind, kem::aws_lc::MlKem512, dh::dalek::X25519, provenance))
        }
        #[cfg(feature = "peers")]
        Some(level) => {
            let provenance = parts_provenance(kind, by_libcrux());
            let dh = dh::aws_lc::X25519;
            Some(ml_kem!(level, libcrux, |kem| parts::entry(LIBCRUX, kind, kem, dh, provenance)))
        }
        #[cfg(not(feature = "peers"))]
        _ => None,
    }
}

fn parts_on_arm(subject: &str, kind: Kind, cpu: Cpu, also: impl FnOnce(&mut Provenance)) -> Entry {
    let dh = X25519::with_cpu(cpu);
    macro_rules! on {
        ($kem:ident) => {{
            let kem = $kem::with_cpu(cpu);
            let arms = match kind.level() {
                Some(_) => format!("ML-KEM: {}; X25519: {}", kem.arm(), dh.arm()),
                None => format!("X25519: {}", dh.arm()),
            };
            let mut provenance = parts_provenance(kind, on_own(&arms));
            also(&mut provenance);
            parts::entry(subject, kind, kem, dh, provenance)
        }};
    }
    // A handshake without a KEM leaves the KEM alone.
    match kind.level().unwrap_or(Level::L512) {
        Level::L512 => on!(MlKem512),
        Level::L768 => on!(MlKem768),
        Level::L1024 => on!(MlKem1024),
    }
}

fn parts_on_aws_lc(kind: Kind) -> Entry {
    let (dh, provenance) = (dh::aws_lc::X25519, parts_provenance(kind, by_aws_lc()));
    let level = kind.level().unwrap_or(Level::L512);
    ml_kem!(level, aws_lc, |kem| parts::entry(AUTO_AWS_LC, kind, kem, dh, provenance))
}

fn parts_provenance(kind: Kind, by: Provenance) -> Provenance {
    said_of(&format!("one after the other, from and to memory that is there: {}", kind.operations()), by)
}

/// `by` says whose code it is, and how it is reached; that goes behind what the timed call does.
pub(crate) fn said_of(timed: &str, by: Provenance) -> Provenance {
    Provenance { timed: format!("{timed}{}", by.timed), ..by }
}

const TRAITS: &str = "candor_onion::handshake and candor_primitives::{kem::Kem, dh::DiffieHellman}";

/// On our own back ends, on these arms.
pub(crate) fn on_own(arms: &str) -> Provenance {
    let told = ours(&format!(" (through {TRAITS}, our own implementations)"));
    Provenance { arm: Some(arms.to_owned()), ..told.telling([BY_SYSTEM_CALL]) }
}

pub(crate) fn by_aws_lc() -> Provenance {
    let mut provenance = super::on_aws_lc(TRAITS, "");
    provenance.arm =
        Some(format!("ML-KEM: {}; X25519: chosen by AWS-LC, which does not tell", linked::aws_lc_ml_kem_arm()));
    provenance
}

#[cfg(feature = "peers")]
fn by_libcrux() -> Provenance {
    let mut provenance = by_aws_lc();
    let (version, checksum) = linked::package("libcrux-ml-kem");
    let id = linked::package_id("libcrux-ml-kem", version, checksum);
    provenance.commit = provenance.commit.map(|aws_lc| format!("{id} for ML-KEM; {aws_lc} for X25519"));
    provenance.timed = format!(" (through the same traits; ML-KEM from libcrux-ml-kem {version}, X25519 from AWS-LC)");
    provenance.arm = Some("chosen by libcrux and by AWS-LC at run time".into());
    provenance.telling([(BY_SYSTEM_CALL.0, "randomness for ML-KEM by a system call")])
}

#[cfg(feature = "peers")]
fn by_dalek() -> Provenance {
    let (version, checksum) = linked::package("x25519-dalek");
    let told = ours(&format!(" (through the same traits; X25519 from x25519-dalek {version})"));
    Provenance {
        commit: Some(linked::package_id("x25519-dalek", version, checksum)),
        arm: Some("chosen by curve25519-dalek at run time".into()),
        ..told.telling([BY_SYSTEM_CALL])
    }
}
