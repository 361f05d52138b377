//! Documents that authorities have signed, and that are odd all the same: what one relay or one authority can spoil costs no other its own.

use candor_test_support::tor::{Authority, Entry, consensus};
use candor_tor_directory::{Authorities, Certificates, Consensus, Error, Unverified};
use proptest::prelude::*;

const NOW: u64 = 1_800_000_000;
const DAY: u64 = 86_400;
const TIMES: [u64; 3] = [NOW - 60, NOW + 600, NOW + 1800];

/// What comes of a text and certificates by these authorities.
fn verify(text: &str, known: &Certificates, authorities: &[&Authority]) -> Result<Consensus, Error> {
    Unverified::parse(text)?.verify(&trusted(authorities), known, NOW)
}

fn trusted(authorities: &[&Authority]) -> Authorities {
    Authorities::parse(&authorities.iter().map(|authority| authority.v3ident()).collect::<Vec<_>>()).unwrap()
}

/// A consensus of these relays that a sole authority has signed.
fn signed(relays: &[Entry]) -> Consensus {
    let authority = Authority::new(0);
    let mut known = Certificates::default();
    known.take(&authority.certificate(NOW - DAY, NOW + DAY), &trusted(&[&authority]), NOW).unwrap();
    verify(&consensus(&[&authority], TIMES, relays), &known, &[&authority]).unwrap()
}

fn names(consensus: &Consensus) -> Vec<&str> {
    consensus.relays.iter().map(|relay| relay.nickname.as_str()).collect()
}

#[test]
fn a_relay_whose_entry_is_odd_is_left_out_and_costs_no_other_its_own() {
    let entry = |number| Entry::new(number, 9000 + u16::from(number));
    let honest = [entry(1), entry(2), entry(4)];
    let all = ["relay1", "relay2", "relay4"];
    let with = |odd: Entry| signed(&[&honest[..], &[odd]].concat());
    let line = |line: &str| with(entry(3).with(line));
    let many = |name: &str, count: usize| {
        (0..count)
            .fold(name.to_owned(), |line, number| format!("{line} X{number}{}", if name == "s" { "" } else { "=1" }))
    };
    let addresses = |count: usize| {
        let mut odd = entry(3);
        odd.lines.extend((0..count).map(|_| "a [::1]:9".to_owned()));
        odd
    };
    let twice = |line: &str| {
        let mut odd = entry(3);
        odd.lines.push(line.to_owned());
        odd
    };
    for odd in [
        line("pr Link"),
        line("pr Link=5-4"),
        line("pr Link=64"),
        line("pr Link=1 nonsense Relay=2"),
        line(&many("pr", 65)),
        line(&format!("pr X={}", "1,".repeat(30_000))),
        line("pr Link=4\r"),
        line(&many("s", 65)),
        line("a nowhere"),
        with(addresses(9)),
        line("w Bandwidth=x"),
        line("w Bandwidth=4294967296"),
        line("w Unmeasured=1"),
        line("m AAAA"),
        with(twice("s Running")),
        with(Entry { port: "0".to_owned(), ..entry(3) }),
        with(Entry { address: "::1".to_owned(), ..entry(3) }),
        with(Entry { nickname: "a_b".to_owned(), ..entry(3) }),
    ] {
        assert_eq!((names(&odd).as_slice(), odd.left_out), (&all[..], 1));
    }
    // The twins: what is unusual, and allowed.
    let all = ["relay1", "relay2", "relay3", "relay4"];
    for good in [
        with(entry(3)),
        line("pr "),
        line("pr Link=1-3 Link=4-5 Relay=2 Relay=3-6"),
        line(&many("pr", 64)),
        line(&many("s", 64)),
        with(addresses(8)),
        line("w Bandwidth=4294967295 Odd=x"),
        line("odd line"),
    ] {
        assert_eq!((names(&good).as_slice(), good.left_out), (&all[..], 0));
    }
    let merged = line("pr Link=1-3 Link=4-5 Relay=2 Relay=3-6");
    assert!(merged.relays[2].protocols.has("Link", 2) && merged.relays[2].protocols.has("Link", 5));
    // An odd one at the end, and odd ones alone.
    assert_eq!(names(&signed(&[entry(1), entry(5).with("pr Link")])), ["relay1"]);
    let none = signed(&[entry(1).with("pr Link"), entry(2).with("w x")]);
    assert_eq!((none.relays.len(), none.left_out), (0, 2));
}

#[test]
fn an_authority_whose_certificate_can_not_be_used_costs_its_own_signature_and_no_other() {
    let [one, two, three] = [0, 1, 2].map(Authority::new);
    let three = three.with_weak_key();
    let authorities = trusted(&[&one, &two, &three]);
    let text = consensus(&[&one, &two, &three], TIMES, &[Entry::new(1, 9001)]);
    let [first, second, weak] = [&one, &two, &three].map(|authority| authority.certificate(NOW - DAY, NOW + DAY));
    for texts in [[&weak, &first, &second], [&first, &weak, &second], [&first, &second, &weak]] {
        let mut known = Certificates::default();
        known.take(&texts.map(String::as_str).concat(), &authorities, NOW).unwrap();
        assert_eq!(names(&verify(&text, &known, &[&one, &two, &three]).unwrap()), ["relay1"]);
    }
    // Without a majority the reason is told, of each.
    let mut known = Certificates::default();
    known.take(&(first + &weak), &authorities, NOW).unwrap();
    known.refuse(identity(&two), "the server is silent".to_owned());
    let error = verify(&text, &known, &[&one, &two, &three]).unwrap_err().to_string();
    assert!(
        error.starts_with("1 of 3 trusted authorities") && error.contains("expected an RSA key of 2048"),
        "{error}"
    );
    assert!(error.contains("no certificate for its signing key: the server is silent"), "{error}");
}

fn identity(authority: &Authority) -> [u8; 20] {
    base16ct::upper::decode_vec(authority.v3ident()).unwrap().try_into().unwrap()
}

#[test]
fn a_certificate_that_has_ended_gives_way_to_a_later_one_of_the_same_key() {
    let authority = Authority::new(0);
    let authorities = trusted(&[&authority]);
    let text = consensus(&[&authority], TIMES, &[Entry::new(1, 9001)]);
    let unverified = Unverified::parse(&text).unwrap();
    let signature = &unverified.signatures()[0];
    let (old, new) = (authority.certificate(NOW - 9 * DAY, NOW - DAY), authority.certificate(NOW - DAY, NOW + DAY));
    let mut known = Certificates::default();
    known.take(&old, &authorities, NOW - 2 * DAY).unwrap();
    assert!(known.has(signature, NOW - 2 * DAY) && !known.has(signature, NOW));
    let error = verify(&text, &known, &[&authority]).unwrap_err().to_string();
    assert!(error.ends_with("the certificate of its signing key does not hold now"), "{error}");
    known.forget_ended(NOW);
    assert!(!known.has(signature, NOW - 2 * DAY), "it is forgotten");
    known.take(&new, &authorities, NOW).unwrap();
    assert!(verify(&text, &known, &[&authority]).is_ok());
    // The old one does not come back, whoever serves it, and whatever the order.
    known.take(&old, &authorities, NOW).unwrap();
    assert!(verify(&text, &known, &[&authority]).is_ok());
    let mut both = Certificates::default();
    both.take(&(new + &old), &authorities, NOW - 2 * DAY + 1).unwrap();
    assert!(verify(&text, &known, &[&authority]).is_ok());
    // One that was made in an hour holds; clocks differ.
    let early = |by: u64| {
        let mut known = Certificates::default();
        known.take(&authority.certificate(NOW + by, NOW + DAY), &authorities, NOW).unwrap();
        verify(&text, &known, &[&authority])
    };
    assert!(early(3600).is_ok() && early(3601).is_err());
}

#[test]
fn an_authority_has_a_bounded_number_of_certificates() {
    // Of one key there is one, the one that holds longest.
    let authority = Authority::new(0);
    let authorities = trusted(&[&authority]);
    let mut known = Certificates::default();
    for day in 1..=20 {
        known.take(&authority.certificate(NOW - DAY, NOW + day * DAY), &authorities, NOW).unwrap();
    }
    assert_eq!(format!("{known:?}").matches("expires").count(), 1);
    // Nobody else's is kept.
    known.take(&Authority::new(1).certificate(NOW - DAY, NOW + DAY), &authorities, NOW).unwrap();
    assert_eq!(format!("{known:?}").matches("expires").count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever stands in one entry, the others are there.
    #[test]
    fn no_line_of_an_entry_costs_another_relay_its_own(line in "(pr|s|a|w|m|v|x) [ -~\t\r]{0,40}") {
        let relays = [Entry::new(1, 9001), Entry::new(2, 9002).with(&line), Entry::new(3, 9003)];
        let consensus = signed(&relays);
        prop_assert_eq!(consensus.relays.len() + consensus.left_out, 3);
        prop_assert!(names(&consensus).contains(&"relay1") && names(&consensus).contains(&"relay3"));
    }
}
