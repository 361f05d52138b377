//! Views and consensuses: who must have signed, and what damage does.

use candor_onion::Error;
use candor_onion::directory::{
    Authorities, Certificate, Consensus, Endorsement, InvalidDocument, Relay, SecretKey, Times, UnsignedConsensus,
    View, merge,
};

const TIMES: Times = Times { valid_after: 1_800_000_000, fresh_until: 1_800_003_600, valid_until: 1_800_010_800 };

struct Authority {
    identity: SecretKey,
    signing: SecretKey,
    certificate: Certificate,
}

fn authority(seed: u8) -> Authority {
    let identity = SecretKey::from_seeds(&[seed; 32], &[seed + 100; 32]).unwrap();
    let signing = SecretKey::from_seeds(&[seed + 50; 32], &[seed + 150; 32]).unwrap();
    let certificate =
        Certificate::issue(&identity, signing.public(), TIMES.valid_after - 100, TIMES.valid_after + 100).unwrap();
    Authority { identity, signing, certificate }
}

fn trust(authorities: &[Authority], threshold: usize) -> Authorities {
    let known = authorities.iter().map(|authority| authority.identity.public().fingerprint()).collect();
    Authorities::new(known, threshold).unwrap()
}

fn relay(number: u8) -> Relay {
    Relay {
        identity: [number; 32],
        fingerprint: [number; 32],
        x25519: [number; 32],
        kems: [None; 3],
        published: 1_799_999_000,
        keys_until: 1_802_000_000,
        bandwidth: 1000,
        handshakes: vec![3],
        addresses: vec![([192, 0, 2, number], 9001).into()],
        exit: Vec::new(),
        name: format!("relay {number}"),
    }
}

fn view(authority: &Authority, relays: &[u8]) -> Vec<u8> {
    let relays: Vec<_> = relays.iter().map(|number| (relay(*number), Vec::new())).collect();
    View::sign(TIMES, &relays, &authority.signing, &authority.certificate).unwrap()
}

fn consensus(authorities: &[Authority]) -> UnsignedConsensus {
    let trust = trust(authorities, Authorities::majority(authorities.len()));
    let views: Vec<_> =
        authorities.iter().map(|authority| View::verify(&view(authority, &[1, 2, 3]), &trust).unwrap()).collect();
    merge(TIMES, &views, trust.threshold()).unwrap()
}

fn signed(consensus: &UnsignedConsensus, by: &[&Authority]) -> Vec<u8> {
    let signatures: Vec<_> =
        by.iter().map(|authority| consensus.sign(&authority.signing, &authority.certificate).unwrap()).collect();
    consensus.signed(&signatures)
}

#[test]
fn a_consensus_needs_its_threshold_of_trusted_authorities() {
    let authorities = [1, 2, 3].map(authority);
    let [one, two, three] = &authorities;
    let stranger = authority(9);
    let (consensus, trust) = (consensus(&authorities), trust(&authorities, 2));
    let good = Consensus::verify(&signed(&consensus, &[one, three]), &trust).unwrap();
    assert_eq!((good.number(), good.relays.len(), good.signers.len()), (TIMES.valid_after, 3, 2));
    assert_eq!(good.relay(&[2; 32]).unwrap().relay, relay(2));
    assert!(good.relay(&[4; 32]).is_none());
    let all = Consensus::verify(&signed(&consensus, &[one, two, three, &stranger]), &trust).unwrap();
    assert_eq!(all.signers.len(), 3, "a stranger's signature is passed over");

    let under = |good| Error::from(InvalidDocument::UnderSigned { good, known: 3, threshold: 2 });
    for (by, count) in [(vec![one], 1), (vec![], 0), (vec![one, &stranger], 1), (vec![one, one], 1)] {
        let document = signed(&consensus, &by);
        assert_eq!(Consensus::verify(&document, &trust), Err(under(count)));
        assert_eq!(Consensus::verify_enough(&document, &trust), Err(under(count)));
    }
}

#[test]
fn whoever_uses_a_consensus_verifies_no_more_signatures_than_it_needs_and_no_fewer() {
    let authorities = [1, 2, 3].map(authority);
    let [one, two, three] = &authorities;
    let (consensus, trust) = (consensus(&authorities), trust(&authorities, 2));
    let good = signed(&consensus, &[one, two, three]);
    // They stand at the end of the document, each in its endorsement.
    let with_bad = |bad: &[usize]| {
        let mut document = good.clone();
        let length = document.len();
        bad.iter().for_each(|from_last| document[length - from_last * Endorsement::LENGTH - 100] ^= 1);
        document
    };
    for (bad, by_all, by_enough) in [(vec![], 3, 2), (vec![0], 2, 2), (vec![1], 2, 2), (vec![2], 2, 2)] {
        let document = with_bad(&bad);
        let all = Consensus::verify(&document, &trust).unwrap();
        let enough = Consensus::verify_enough(&document, &trust).unwrap();
        assert_eq!((all.signers.len(), enough.signers.len()), (by_all, by_enough), "{bad:?}");
        assert_eq!(Consensus { signers: Vec::new(), ..all }, Consensus { signers: Vec::new(), ..enough });
    }
    for bad in [[0, 1], [0, 2], [1, 2]] {
        let under = InvalidDocument::UnderSigned { good: 1, known: 3, threshold: 2 };
        assert_eq!(Consensus::verify_enough(&with_bad(&bad), &trust), Err(under.into()), "{bad:?}");
    }
}

#[test]
fn no_bit_of_a_consensus_can_be_changed_and_no_byte_cut() {
    let authorities = [1, 2].map(authority);
    let trust = trust(&authorities, 2);
    let good = signed(&consensus(&authorities), &[&authorities[0], &authorities[1]]);
    Consensus::verify(&good, &trust).unwrap();
    for at in (0..good.len()).step_by(23) {
        let mut damaged = good.clone();
        damaged[at] ^= 0x10;
        assert!(Consensus::verify(&damaged, &trust).is_err(), "byte {at}");
    }
    for length in (0..good.len()).step_by(29) {
        assert!(Consensus::verify(&good[..length], &trust).is_err(), "cut to {length}");
    }
    assert!(Consensus::verify(&[good.as_slice(), &[0]].concat(), &trust).is_err());
}

#[test]
fn a_key_whose_certificate_has_ended_signs_nothing_and_the_next_one_overlaps() {
    let mut authorities = [authority(1)];
    let trust = trust(&authorities, 1);
    let consensus = consensus(&authorities);
    Consensus::verify(&signed(&consensus, &[&authorities[0]]), &trust).unwrap();
    let old = Certificate::issue(
        &authorities[0].identity,
        authorities[0].signing.public(),
        TIMES.valid_after - 100,
        TIMES.valid_after,
    );
    authorities[0].certificate = old.unwrap();
    assert!(Consensus::verify(&signed(&consensus, &[&authorities[0]]), &trust).is_err());
    // A new signing key under the same identity: clients need to learn nothing.
    authorities[0].signing = SecretKey::from_seeds(&[77; 32], &[78; 32]).unwrap();
    let next = Certificate::issue(
        &authorities[0].identity,
        authorities[0].signing.public(),
        TIMES.valid_after - 10,
        TIMES.valid_after + 1000,
    );
    authorities[0].certificate = next.unwrap();
    Consensus::verify(&signed(&consensus, &[&authorities[0]]), &trust).unwrap();
}

#[test]
fn a_view_is_a_trusted_authoritys_and_in_order() {
    let authorities = [1, 2].map(authority);
    let trust = trust(&authorities, 2);
    let good = view(&authorities[0], &[1, 2]);
    assert_eq!(View::verify(&good, &trust).unwrap().relays.len(), 2);
    assert!(View::verify(&view(&authority(9), &[1, 2]), &trust).is_err(), "a stranger's");
    for at in (0..good.len()).step_by(23) {
        let mut damaged = good.clone();
        damaged[at] ^= 1;
        assert!(View::verify(&damaged, &trust).is_err(), "byte {at}");
    }
    for wrong in [[2, 1], [1, 1]] {
        let relays = wrong.map(|number| (relay(number), Vec::new()));
        let refused = View::sign(TIMES, &relays, &authorities[0].signing, &authorities[0].certificate);
        assert_eq!(refused, Err(InvalidDocument::Order { what: "the relays of a view" }.into()));
    }
}
