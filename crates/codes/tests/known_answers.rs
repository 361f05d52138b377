//! The reference implementation's known answers: 100 records a level, as digests of its response files.

use candor_codes::hqc::{Hqc, Level, Level1, Level3, Level5, Version};
use candor_cpu::Cpu;
use candor_primitives::hash::{Digest, ExtendableOutput, Sha256, Shake256, Shake256Reader, Update, XofReader};
use candor_primitives::kem::{DerandomizedKem, Kem};
use candor_test_support::vectors;
use std::fmt::Write;

#[test]
fn every_tier_gives_the_known_answers() {
    for tier in Cpu::tiers() {
        let cpu = Cpu::named(tier.name).expect("a tier that this machine lists");
        check::<Level1>(cpu, Version::Current);
    }
}

#[test]
fn the_higher_levels_give_the_known_answers() {
    check::<Level3>(Cpu::host(), Version::Current);
    check::<Level5>(Cpu::host(), Version::Current);
}

#[test]
fn release_5_0_0_gives_its_own() {
    check::<Level1>(Cpu::host(), Version::V5_0_0);
    check::<Level3>(Cpu::host(), Version::V5_0_0);
    check::<Level5>(Cpu::host(), Version::V5_0_0);
}

fn check<L: Level>(cpu: Cpu, version: Version) {
    let kem = Hqc::<L>::with_version(cpu, version);
    // The reference writes a title and an empty line at the end; liboqs neither.
    let (version, title, end) = match version {
        Version::Current => ("161cd4f", String::new(), ""),
        Version::V5_0_0 => ("5.0.0", format!("# {}\n\n", Hqc::<L>::NAME), "\n"),
    };
    let records: Vec<String> = seeds().iter().enumerate().map(|(count, seed)| record(&kem, count, seed)).collect();
    let text = format!("{title}{}{end}", records.join("\n"));
    let expected = &vectors::load("hqc.json")[version][Hqc::<L>::NAME];
    assert_eq!(vectors::hex(Sha256::digest(text)), *expected, "{kem:?}, {version}");
}

/// A record as the response file has it.
fn record<L: Level>(kem: &Hqc<L>, count: usize, seed: &[u8; 48]) -> String {
    let mut random = stream(seed);
    let mut coins = vec![0; Hqc::<L>::GENERATE_COINS];
    random.read(&mut coins);
    let (secret, public) = kem.generate_from(&coins).unwrap();
    let mut coins = vec![0; Hqc::<L>::ENCAPSULATE_COINS];
    random.read(&mut coins);
    let mut ciphertext = vec![0; Hqc::<L>::CIPHERTEXT];
    let shared = kem.encapsulate_from(&public, &coins, &mut ciphertext).unwrap();
    assert!(kem.decapsulate(&secret, &ciphertext).unwrap() == shared, "record {count}");

    let mut key = vec![0; Hqc::<L>::PUBLIC];
    kem.public_to_bytes(&public, &mut key).unwrap();
    let mut text = format!("count = {count}\n");
    let secret = kem.secret_to_bytes(&secret).unwrap();
    let parts: [(&str, &[u8]); 5] =
        [("seed", seed), ("pk", &key), ("sk", &secret), ("ct", &ciphertext), ("ss", shared.as_bytes())];
    for (name, bytes) in parts {
        writeln!(text, "{name} = {}", vectors::hex(bytes).to_uppercase()).unwrap();
    }
    text
}

fn seeds() -> Vec<[u8; 48]> {
    let mut random = stream(&std::array::from_fn(|i| i as u8));
    (0..100)
        .map(|_| {
            let mut seed = [0; 48];
            random.read(&mut seed);
            seed
        })
        .collect()
}

/// The generator of the reference's requests.
fn stream(seed: &[u8; 48]) -> Shake256Reader {
    let mut shake = Shake256::new();
    shake.update(seed);
    shake.update(&[0]);
    shake.finalize_xof()
}
