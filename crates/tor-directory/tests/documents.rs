//! Documents that C tor has written: read as they are, and refused when anything of them is changed.

use candor_tor_directory::{
    Authorities, AuthorityCertificate, Certificates, Consensus, Error, MOST_MICRODESCRIPTOR, Microdescriptor,
    Unverified,
};
use proptest::prelude::*;

const CONSENSUS: &str = include_str!("data/consensus-microdesc.txt");
const CERTIFICATES: &str = include_str!("data/authority-certificates.txt");
const MICRODESCRIPTORS: &str = include_str!("data/microdescriptors.txt");
/// 2026-11-27 19:32:20 and a minute later.
const VALID: std::ops::Range<u64> = 1_795_807_940..1_795_808_000;
const NOW: u64 = VALID.start + 10;
const IDENTITIES: [&str; 2] = ["F7FB9FD1811AE912462DC8982B2181338516466F", "E1DD94F0807E4CBBB5BB0B24FE9C1ED3B0A83177"];
/// An authority that has not signed.
const OTHER: &str = "0000000000000000000000000000000000000000";

fn verify(text: &str, identities: &[&str], now: u64) -> Result<Consensus, Error> {
    let (authorities, mut certificates) = (Authorities::parse(identities)?, Certificates::default());
    certificates.take(CERTIFICATES, &authorities, now)?;
    Unverified::parse(text)?.verify(&authorities, &certificates, now)
}

/// The certificates of a text, each as it is read.
fn certificates(text: &str) -> Result<Vec<AuthorityCertificate>, Error> {
    AuthorityCertificate::split(text)?.into_iter().map(AuthorityCertificate::parse).collect()
}

/// The text with the first `from` replaced.
fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn the_consensus_says_what_c_tor_wrote() {
    let consensus = verify(CONSENSUS, &IDENTITIES, NOW).unwrap();
    assert_eq!(
        (consensus.valid_after, consensus.fresh_until, consensus.valid_until),
        (VALID.start, VALID.start + 20, VALID.end)
    );
    assert_eq!(consensus.parameters["ExtendByEd25519ID"], 1);
    assert_eq!(consensus.relays[0].directory_port, Some(56485));
    let names: Vec<_> = consensus.relays.iter().map(|relay| relay.nickname.as_str()).collect();
    assert_eq!(names, ["auth1", "auth0", "relay0", "relay1"]);
    let relay = &consensus.relays[2];
    assert_eq!(relay.addresses, ["127.0.0.1:44343".parse().unwrap()]);
    assert_eq!(relay.rsa_identity[..4], [0x9b, 0xf5, 0xf3, 0x70]);
    assert!(relay.is("Exit") && relay.is("Guard") && !relay.is("Authority") && relay.directory_port.is_none());
    assert!(relay.protocols.has("Relay", 6) && !relay.protocols.has("Relay", 7));
    assert_eq!((consensus.relays[0].bandwidth, consensus.relays[0].is_measured), (3, false));
}

#[test]
fn microdescriptors_are_those_that_the_consensus_names() {
    let consensus = verify(CONSENSUS, &IDENTITIES, NOW).unwrap();
    let pieces = Microdescriptor::split(MICRODESCRIPTORS).unwrap();
    let all: Vec<_> = pieces.iter().map(|text| Microdescriptor::parse(text).unwrap()).collect();
    let digests: Vec<_> = all.iter().map(|one| one.digest).collect();
    assert_eq!(digests, consensus.relays.iter().map(|relay| relay.microdescriptor).collect::<Vec<_>>());
    assert_eq!(all[2].ports.to_string(), "accept 1-65535");
    assert!(all[0].ports.is_empty() && all.iter().all(|one| one.family.is_empty()));
    assert_eq!((all[2].ntor[..2].to_vec(), all[2].ed25519[..2].to_vec()), (vec![0xc8, 0xcc], vec![0x70, 0x87]));
    assert_eq!(Microdescriptor::split("").unwrap(), Vec::<&str>::new());
}

#[test]
fn a_majority_of_the_trusted_authorities_must_have_signed() {
    assert!(verify(CONSENSUS, &IDENTITIES, NOW).is_ok());
    assert!(verify(CONSENSUS, &IDENTITIES[..1], NOW).is_ok(), "one is all that are trusted");
    assert!(verify(CONSENSUS, &[IDENTITIES[0], IDENTITIES[1], OTHER], NOW).is_ok(), "two of three");
    let under = |text: &str, identities: &[&str]| match verify(text, identities, NOW) {
        Err(Error::UnderSigned { good, threshold, why, .. }) => (good, threshold, why),
        other => panic!("{other:?}"),
    };
    assert_eq!(under(CONSENSUS, &[IDENTITIES[0], OTHER]), (1, 2, String::new()));
    assert_eq!(under(CONSENSUS, &[OTHER]).0, 0);
    // The first signature twice, and the second not at all: one authority is one.
    let (head, tail) = CONSENSUS.split_once("directory-signature ").unwrap();
    let (first, _) = tail.split_once("directory-signature ").unwrap();
    let twice = format!("{head}directory-signature {first}directory-signature {first}");
    assert_eq!(under(&twice, &IDENTITIES).0, 1);
    assert!(verify(&twice, &[IDENTITIES[1]], NOW).is_ok(), "the signature is good");
    let (_, _, why) = under(&edited(CONSENSUS, "Running", "Runninh"), &IDENTITIES);
    assert_eq!(why.matches("wrong signature").count(), 2, "{why}");
    // A key that nobody has certified.
    let other = edited(CONSENSUS, "73BF424BA871DD938C113D5CEE0F2BFFC8A87DCE", OTHER);
    let (good, _, why) = under(&other, &IDENTITIES);
    assert!(good == 1 && why.ends_with("no certificate for its signing key"), "{why}");
}

#[test]
fn any_changed_byte_of_what_is_signed_is_noticed() {
    let signed = CONSENSUS.find("\ndirectory-signature ").unwrap();
    let mut refused = 0;
    for at in (0..signed).step_by(13) {
        let mut bytes = CONSENSUS.as_bytes().to_vec();
        bytes[at] ^= 1;
        let Ok(text) = String::from_utf8(bytes) else { continue };
        assert!(verify(&text, &IDENTITIES[..1], NOW).is_err(), "byte {at}");
        refused += 1;
    }
    assert!(refused > 100);
}

#[test]
fn a_consensus_holds_in_its_time_and_so_do_certificates() {
    let holds = |now| match verify(CONSENSUS, &IDENTITIES, now) {
        Ok(_) => true,
        Err(Error::Time { .. }) => false,
        Err(error) => panic!("{error}"),
    };
    // The keys are 49 s older than the consensus: an hour before it they hold, too, as clocks differ.
    assert_eq!([VALID.start, VALID.end - 1, VALID.end].map(holds), [true, true, false]);
    assert!(holds(VALID.start - 3600) && !holds(VALID.start - 3601));
}

#[test]
fn certificates_are_verified_as_they_are_read() {
    let all = certificates(CERTIFICATES).unwrap();
    let identities: Vec<_> = all.iter().map(|one| base16ct::upper::encode_string(one.identity())).collect();
    assert_eq!(identities, [IDENTITIES[1], IDENTITIES[0]]);
    assert_eq!(certificates("").unwrap(), []);
    let why = |from: &str, to: &str| certificates(&edited(CERTIFICATES, from, to)).unwrap_err().to_string();
    assert!(why("dir-key-expires 2027", "dir-key-expires 2028").ends_with("wrong signature `dir-key-certification`"));
    assert!(
        why("fingerprint E1", "fingerprint E2").contains("expected a fingerprint that is SHA-1 of dir-identity-key")
    );
    assert!(
        why("dir-key-certificate-version 3", "dir-key-certificate-version 4")
            .contains("expected dir-key-certificate-version 3")
    );
    assert!(
        why("\ndir-key-published", "\ndir-key-publishee").contains("wrong signature"),
        "what is missing is not signed"
    );
    assert!(
        why("dir-key-expires", "fingerprint E1DD94F0807E4CBBB5BB0B24FE9C1ED3B0A83177\ndir-key-expires")
            .contains("a second time")
    );
    let cross = CERTIFICATES.split_once("-----BEGIN ID SIGNATURE-----\n").unwrap().1.get(..8).unwrap();
    assert!(why(cross, "AAAAAAAA").ends_with("wrong signature `dir-key-crosscert`"));
    let cut = &CERTIFICATES[..CERTIFICATES.len() / 4];
    let cut = &cut[..=cut.rfind('\n').unwrap()];
    assert!(certificates(cut).is_err());
    // An authority's key of 1,024 bits: that of a relay's old onion key.
    let onion = MICRODESCRIPTORS.split_once("-----END").unwrap().0.strip_prefix("onion-key\n").unwrap();
    let identity = CERTIFICATES.split_once("dir-identity-key\n").unwrap().1.split_once("-----END").unwrap().0;
    assert!(why(identity, onion).contains("expected an RSA key of 2048 to 4096 bits"));
}

#[test]
fn documents_out_of_form_are_refused_with_their_line() {
    assert!(Unverified::parse(CONSENSUS).is_ok());
    for (from, to, why) in [
        (
            "version 3 microdesc",
            "version 3",
            "consensus, line 1: expected network-status-version 3 microdesc; found `network-status-version 3`",
        ),
        (
            "vote-status consensus",
            "vote-status vote",
            "consensus, line 2: expected vote-status consensus; found `vote-status vote`",
        ),
        (
            "valid-until 2026-11-27",
            "valid-until 2026-11-31",
            "consensus, line 6: expected a time such as 2026-11-27 19:31:35; found `valid-until 2026-11-31 19:33:20`",
        ),
        ("fresh-until", "valid-after", "consensus, line 5: `valid-after` stands there a second time; expected it once"),
        ("fresh-until", "fresh-unti", "consensus has no line `fresh-until`"),
        (
            "ExtendByEd25519ID=1",
            "ExtendByEd25519ID=x",
            "consensus, line 15: expected params with entries such as name=1; found `params AuthDirMaxServersPerAddr=0 ExtendByEd25519ID=x`",
        ),
        (
            "r auth1 MU",
            "r auth1 zU",
            "consensus, line 28: expected relays in ascending order of their RSA identities, each once; found `auth0`",
        ),
        (
            "r auth1 MU",
            "r auth1 M",
            "consensus, line 22: expected r with a nickname, an identity, a time, an IPv4 address and two ports; found `r auth1 MajusAj6MpuPzT777xOi25Ii4k 2038-01-01 00:00:00 127.0…`",
        ),
        (
            "directory-footer\n",
            "",
            "consensus, line 47: expected directory-footer before the signatures; found `directory-signature sha256 E1DD94F0807E4CBBB5BB0B24FE9C1ED3B…`",
        ),
        (
            "sha256 E1DD",
            "sha256 X1DD",
            "consensus, line 48: expected directory-signature with an algorithm and two digests of 40 hexadecimal digits; found `directory-signature sha256 X1DD94F0807E4CBBB5BB0B24FE9C1ED3B…`",
        ),
    ] {
        assert_eq!(Unverified::parse(&edited(CONSENSUS, from, to)).unwrap_err().to_string(), why, "{from}");
    }
    let behind = format!("{CONSENSUS}contact me\n");
    assert!(Unverified::parse(&behind).unwrap_err().to_string().contains("directory-signature, or the end"));
    let without = CONSENSUS.split_once("directory-signature").unwrap().0;
    assert_eq!(Unverified::parse(without).unwrap_err().to_string(), "consensus has no line `directory-signature`");
    assert_eq!(Unverified::parse("").unwrap_err().to_string(), "consensus has no line `network-status-version`");
}

#[test]
fn microdescriptors_out_of_form_are_refused() {
    let good = *Microdescriptor::split(MICRODESCRIPTORS).unwrap().last().unwrap();
    assert!(Microdescriptor::parse(good).is_ok());
    for (from, to, why) in [
        ("ntor-onion-key s", "ntor-onion-key ", "expected ntor-onion-key with 32 bytes in Base64"),
        ("ntor-onion-key", "ntor-onion-kez", "microdescriptor has no line `ntor-onion-key`"),
        ("id ed25519", "id rsa", "microdescriptor has no line `id ed25519`"),
        ("p accept", "p allow", "expected p with accept or reject and ports"),
        ("p accept 1-65535", "p accept 1\np accept 2", "`p` stands there a second time"),
        ("onion-key\n", "", "expected a keyword"),
    ] {
        let error = Microdescriptor::parse(&edited(good, from, to)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(Microdescriptor::split("id ed25519 x\n").is_err());
    let family = |count: usize| {
        let members = format!(" ${}=name", "ab".repeat(20)).repeat(count);
        let lines =
            members.as_bytes().chunks(47 * 300).map(|line| format!("family{}\n", str::from_utf8(line).unwrap()));
        Microdescriptor::parse(&format!("{good}{}", lines.collect::<String>()))
    };
    assert_eq!(family(3).unwrap().family, [[0xab; 20]; 3]);
    assert!(family(MOST_MICRODESCRIPTOR / 47).is_err());
    let long = |length: usize| format!("{good}{}", "x\n".repeat((length - good.len()) / 2));
    assert!(Microdescriptor::parse(&long(MOST_MICRODESCRIPTOR)).is_ok());
    assert!(matches!(Microdescriptor::parse(&long(MOST_MICRODESCRIPTOR + 2)), Err(Error::TooLong { .. })));
}

#[test]
fn too_many_of_anything_is_refused() {
    let many = |from: &str, piece: &str, count: usize| {
        Unverified::parse(&edited(CONSENSUS, from, &format!("{from}{}", piece.repeat(count)))).map(drop)
    };
    let parameters =
        |count: usize| many("params", &(0..count).map(|number| format!(" p{number}=1")).collect::<String>(), 1);
    assert!(parameters(900).is_ok());
    assert!(matches!(parameters(1000), Err(Error::TooMany { what: "parameters", .. })));
    let (_, tail) = CONSENSUS.split_once("directory-signature ").unwrap();
    let (first, _) = tail.split_once("directory-signature ").unwrap();
    let signatures = |count| {
        Unverified::parse(&format!("{CONSENSUS}{}", format!("directory-signature {first}").repeat(count))).map(drop)
    };
    assert!(signatures(30).is_ok());
    assert!(matches!(signatures(31), Err(Error::TooMany { what: "signatures", .. })));
    let repeated = CERTIFICATES.repeat(17);
    let certificates = |count: usize| AuthorityCertificate::split(&repeated[..CERTIFICATES.len() * count]);
    assert_eq!(certificates(16).unwrap().len(), 32);
    assert!(matches!(certificates(17), Err(Error::TooMany { what: "certificates", .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_change_of_a_document_makes_its_reader_panic(
        which in 0..3_usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, "[ -~\n]{0,20}"), 1..6),
    ) {
        let mut text = [CONSENSUS, CERTIFICATES, MICRODESCRIPTORS][which].to_owned();
        for (at, length, with) in edits {
            let at = at.index(text.len() + 1);
            text.replace_range(at..(at + length).min(text.len()), &with);
        }
        // Whatever comes of it, nothing but the original is a consensus.
        if let Ok(read) = verify(&text, &IDENTITIES, NOW) {
            prop_assert_eq!(read, verify(CONSENSUS, &IDENTITIES, NOW).unwrap());
        }
        let _ = certificates(&text);
        if let Ok(pieces) = Microdescriptor::split(&text) {
            prop_assert_eq!(pieces.concat(), text.clone());
            pieces.iter().for_each(|piece| drop(Microdescriptor::parse(piece)));
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "((r|m|s|w|p|pr|params|onion-key|id|family|fingerprint|directory-signature)?[ -~\n]{0,30}\n){0,8}") {
        let _ = Unverified::parse(&text);
        let _ = certificates(&text);
        let _ = Microdescriptor::parse(&text);
    }
}
