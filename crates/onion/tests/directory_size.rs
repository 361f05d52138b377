//! A consensus of Tor's size takes a bounded amount of memory. A test of its own, since the process's memory is what it looks at.

use candor_onion::directory::{Authorities, Certificate, Consensus, Host, Relay, Rule, SecretKey, Times, View, merge};

const RELAYS: usize = 8000;

fn relay(number: usize) -> Relay {
    let mut identity = [0; 32];
    identity[..8].copy_from_slice(&(number as u64).to_be_bytes());
    Relay {
        identity,
        fingerprint: identity,
        x25519: identity,
        kems: [Some(identity); 3],
        published: 1_800_000_000,
        keys_until: 1_803_000_000,
        bandwidth: 10_000,
        handshakes: vec![2, 3, 0xff65, 0xff68, 0xff6a, 0xff75, 0xff78, 0xff7a],
        addresses: vec![
            ([10, 1, (number >> 8) as u8, number as u8], 9001).into(),
            "[2001:db8::1]:9001".parse().unwrap(),
        ],
        exit: vec![Rule { host: Host::Public, low: 80, high: 443 }; number % 5],
        name: format!("relay number {number}"),
    }
}

/// The most memory that this process has had, in bytes.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().trim_end_matches(" kB").parse::<usize>().ok()?)
}

#[test]
fn eight_thousand_relays_are_verified_in_less_than_60_mb() {
    let times = Times { valid_after: 1_800_000_000, fresh_until: 1_800_003_600, valid_until: 1_800_010_800 };
    let authorities: Vec<_> = (1..=9)
        .map(|seed| {
            let [identity, signing] =
                [seed, seed + 100].map(|seed| SecretKey::from_seeds(&[seed; 32], &[seed; 32]).unwrap());
            let certificate = Certificate::issue(&identity, signing.public(), 0, u64::MAX).unwrap();
            (identity, signing, certificate)
        })
        .collect();
    let known: Vec<_> = authorities.iter().map(|(identity, ..)| identity.public().fingerprint()).collect();
    let trust = Authorities::new(known.clone(), 5).unwrap();
    let document = {
        let view = View { authority: known[0], times, relays: (0..RELAYS).map(|n| (relay(n), Vec::new())).collect() };
        let merged = merge(times, &[view], 1).unwrap();
        let signatures: Vec<_> =
            authorities.iter().map(|(_, signing, certificate)| merged.sign(signing, certificate).unwrap()).collect();
        merged.signed(&signatures)
    };
    assert!(document.len() < 4_000_000, "{} bytes", document.len());
    // What making it took is freed; the peak begins anew where the system allows it.
    let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = peak();
    let consensus = Consensus::verify(&document, &trust).unwrap();
    assert_eq!((consensus.relays.len(), consensus.signers.len()), (RELAYS, 9));
    match (reset, before, peak()) {
        (true, Some(before), Some(after)) => {
            assert!(after - before < 60 << 20, "{} bytes", after - before);
        }
        _ => eprintln!("skipped: /proc/self/clear_refs doesn't reset the peak of memory here"),
    }
}
