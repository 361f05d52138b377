//! The X25519 and KEM operations of a handshake, one after the other: the sum of its parts.
//!
//! It is not a handshake: nothing is hashed, no message is written, nobody proves anything. Its row stands in the tables of
//! handshakes to say how much of a handshake is the arithmetic that it can't do without.

use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use candor_peers::contract::ntor::{Failed, Kind, PARTS, RelaySecrets, check};
use candor_primitives::SharedSecret;
use candor_primitives::dh::DiffieHellman;
use candor_primitives::kem::Kem;
use std::hint::black_box;

/// The entry of the parts of `kind` over two back ends; the KEM is left alone where the handshake has none.
pub(crate) fn entry<K: Kem + Clone + Send + Sync + 'static, D: DiffieHellman + Clone + Send + Sync + 'static>(
    subject: impl Into<String>,
    kind: Kind,
    kem: K,
    dh: D,
    provenance: Provenance,
) -> Entry {
    let parts =
        move || Parts { kem: kem.clone(), dh: dh.clone(), kind, seed: 0, provenance: provenance.clone(), ready: None };
    Entry::new(subject, move || Ok(parts()))
}

struct Parts<K: Kem, D: DiffieHellman> {
    kem: K,
    dh: D,
    kind: Kind,
    seed: u64,
    provenance: Provenance,
    ready: Option<Ready<K, D>>,
}

/// The relay's keys, parsed, and the memory that a caller brings.
struct Ready<K: Kem, D: DiffieHellman> {
    onion_key: D::Secret,
    onion_public: [u8; 32],
    static_kem: Option<(K::Secret, K::Public)>,
    /// The fresh KEM key's bytes, where the handshake has a KEM.
    encoded: Option<Vec<u8>>,
    ciphertext: Vec<u8>,
    static_ciphertext: Vec<u8>,
}

/// What the operations give, as far as a witness shows it.
struct Made<K: Kem> {
    x_public: [u8; 32],
    bx: SharedSecret,
    kem: Option<(K::Secret, SharedSecret)>,
    static_shared: Option<SharedSecret>,
}

/// All operations once. `lap` is called after those of each kind, and `made` is given the results before the last lap.
#[inline(always)]
fn operations<K: Kem, D: DiffieHellman>(
    kem: &K,
    dh: &D,
    ready: &mut Ready<K, D>,
    made: impl FnOnce(Made<K>),
    mut lap: impl FnMut(),
) -> Result<(), Failed> {
    let (x, x_public) = dh.generate()?;
    let (y, y_public) = dh.generate()?;
    lap();
    let bx = dh.agree(&x, black_box(&ready.onion_public))?;
    let xb = dh.agree(&ready.onion_key, black_box(&x_public))?;
    let xy = dh.agree(&y, black_box(&x_public))?;
    let yx = dh.agree(&x, black_box(&y_public))?;
    black_box((xb, xy, yx));
    drop((x, y));
    let Some(encoded) = &mut ready.encoded else {
        made(Made { x_public, bx, kem: None, static_shared: None });
        lap();
        return Ok(());
    };
    lap();
    let (secret, public) = kem.generate()?;
    kem.public_to_bytes(&public, encoded)?;
    drop(public);
    lap();
    let fresh = kem.public_from_bytes(black_box(encoded))?;
    black_box(kem.encapsulate(&fresh, &mut ready.ciphertext)?);
    let mut static_shared = None;
    if let Some((_, public)) = &ready.static_kem {
        static_shared = Some(kem.encapsulate(public, &mut ready.static_ciphertext)?);
    }
    drop(fresh);
    lap();
    let shared = kem.decapsulate(&secret, black_box(&ready.ciphertext))?;
    if let Some((secret, _)) = &ready.static_kem {
        black_box(kem.decapsulate(secret, black_box(&ready.static_ciphertext))?);
    }
    made(Made { x_public, bx, kem: Some((secret, shared)), static_shared });
    lap();
    Ok(())
}

impl<K: Kem + 'static, D: DiffieHellman + 'static> Parts<K, D> {
    fn ready(&self, seed: u64) -> Result<Ready<K, D>, Failed> {
        let secrets = RelaySecrets::new(seed, self.kind);
        let onion_key = self.dh.secret_from_bytes(&secrets.onion_key)?;
        let static_kem = match &secrets.static_kem {
            Some(pair) => Some((self.kem.secret_from_bytes(&pair.secret)?, self.kem.public_from_bytes(&pair.public)?)),
            None => None,
        };
        Ok(Ready {
            onion_public: self.dh.public_of(&onion_key)?,
            onion_key,
            static_kem,
            encoded: self.kind.level().map(|_| vec![0; K::PUBLIC]),
            ciphertext: vec![0; K::CIPHERTEXT],
            static_ciphertext: vec![0; K::CIPHERTEXT],
        })
    }

    fn witness(&mut self, seed: u64) -> Result<Witness, Failed> {
        let mut ready = self.ready(seed)?;
        let mut made = None;
        operations(&self.kem, &self.dh, &mut ready, |all| made = Some(all), || ())?;
        let made = made.expect("the operations hand over what they made");
        let mut witness = Witness::default()
            .with("scheme", PARTS)
            .with("x25519 public key", made.x_public)
            .with("x25519 secret", made.bx.as_bytes());
        if let Some((secret, shared)) = &made.kem {
            witness = witness
                .with("secret key", &*self.kem.secret_to_bytes(secret)?)
                .with("ciphertext", &ready.ciphertext)
                .with("shared secret", shared.as_bytes());
        }
        if let Some(shared) = &made.static_shared {
            let ciphertext = &ready.static_ciphertext;
            witness = witness.with("static ciphertext", ciphertext).with("static shared secret", shared.as_bytes());
        }
        self.ready = Some(ready);
        Ok(witness)
    }
}

impl<K: Kem + 'static, D: DiffieHellman + 'static> Subject for Parts<K, D> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        self.seed = seed;
        self.witness(seed).map_err(Refusal::failed)
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        check(self.kind, self.seed, other)
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_mut().expect("prepare comes before run");
        for _ in 0..iterations {
            let done = operations(&self.kem, &self.dh, ready, |made| drop(black_box(made)), || ());
            done.expect("the operations have worked before");
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        match self.kind.level() {
            None => &["x25519-keygen", "x25519-ecdh"],
            Some(_) => &["x25519-keygen", "x25519-ecdh", "kem-keygen", "kem-encaps", "kem-decaps"],
        }
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let ready = self.ready.as_mut().expect("prepare comes before run");
        let done = operations(&self.kem, &self.dh, ready, |made| drop(black_box(made)), lap);
        done.expect("the operations have worked before");
    }

    fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }
}
