//! What a consensus that nobody has signed takes of memory, counted by an allocator.

use candor_test_support::counting::{Counting, most_held};
use candor_test_support::tor::{Authority, Entry, consensus};
use candor_tor_directory::{Authorities, Certificates, MOST_CONSENSUS, Unverified};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn an_unsigned_consensus_of_the_greatest_length_is_refused_with_little_memory() {
    let (stranger, trusted) = (Authority::new(0), Authority::new(1));
    let trusted = Authorities::parse(&[trusted.v3ident()]).unwrap();
    let known = Certificates::default();
    // As many flags and subprotocols as a relay may have, none of which anybody else has.
    let list = |number: u32, value: &str| (0..60).map(|index| format!(" X{number}x{index}{value}")).collect::<String>();
    let mut relays = Vec::new();
    let mut length = 0;
    for number in 0_u32.. {
        let mut entry =
            Entry::new(1, 9001).with(&format!("s{}", list(number, ""))).with(&format!("pr{}", list(number, "=1")));
        entry.rsa_identity[..4].copy_from_slice(&number.to_be_bytes());
        length += entry.lines.iter().map(String::len).sum::<usize>() + 120;
        if length > MOST_CONSENSUS - 4096 {
            break;
        }
        relays.push(entry);
    }
    let text = consensus(&[&stranger], [1_000_000, 1_000_600, 1_001_800], &relays);
    assert!((MOST_CONSENSUS / 10 * 9..=MOST_CONSENSUS).contains(&text.len()), "{}", text.len());
    drop(relays);
    let (most, verified) =
        most_held(|| Unverified::parse(&text).and_then(|read| read.verify(&trusted, &known, 1_000_100)));
    let error = verified.unwrap_err().to_string();
    assert!(error.starts_with("0 of 1 trusted authorities have signed"), "{error}");
    assert!(most < 64 << 10, "{most} bytes for a consensus of {}", text.len());
    // The twin: a signed one is read, and takes no more than its own length.
    let mut known = Certificates::default();
    let stranger_is_trusted = Authorities::parse(&[stranger.v3ident()]).unwrap();
    known.take(&stranger.certificate(900_000, 2_000_000), &stranger_is_trusted, 1_000_100).unwrap();
    let (most, verified) =
        most_held(|| Unverified::parse(&text).and_then(|read| read.verify(&stranger_is_trusted, &known, 1_000_100)));
    assert!(verified.unwrap().relays.len() > 5000 && most < text.len(), "{most} bytes");
}
