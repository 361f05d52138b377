//! Authorities of Tor's that a test has in hand: what they sign is what the test wants them to. Their keys are in the repository, and good for nothing else.

use base64ct::{Base64, Base64Unpadded, Encoding};
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPublicKey};
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// An authority. Its identity signs for it, too, unless told otherwise.
pub struct Authority {
    identity: RsaPrivateKey,
    signing: RsaPrivateKey,
}

/// A relay's entry in a consensus, which says whatever a test wants.
#[derive(Clone)]
pub struct Entry {
    /// SHA-1 of the relay's RSA identity.
    pub rsa_identity: [u8; 20],
    /// Its name.
    pub nickname: String,
    /// Where it takes links.
    pub address: String,
    /// Its port there.
    pub port: String,
    /// The lines `m` and those behind it, without the last line's end.
    pub lines: Vec<String>,
    /// What the line `m` names.
    pub microdescriptor: String,
}

impl Authority {
    /// One of three.
    pub fn new(number: usize) -> Self {
        let pem = [
            include_str!("tor/authority-0.pem"),
            include_str!("tor/authority-1.pem"),
            include_str!("tor/authority-2.pem"),
        ][number];
        Self { identity: key(pem), signing: key(pem) }
    }

    /// The same authority with a signing key of 1,024 bits.
    #[must_use]
    pub fn with_weak_key(self) -> Self {
        Self { signing: key(include_str!("tor/weak.pem")), ..self }
    }

    /// Its `v3ident`, in hexadecimal digits.
    pub fn v3ident(&self) -> String {
        hex(&fingerprint(&self.identity))
    }

    /// Its certificate, good from one time to another, in seconds since 1970.
    pub fn certificate(&self, from: u64, until: u64) -> String {
        let mut text = format!(
            "dir-key-certificate-version 3\nfingerprint {}\ndir-key-published {}\ndir-key-expires {}\n",
            self.v3ident(),
            time(from),
            time(until)
        );
        text += &(String::from("dir-identity-key\n") + &object("RSA PUBLIC KEY", &public(&self.identity)));
        text += &(String::from("dir-signing-key\n") + &object("RSA PUBLIC KEY", &public(&self.signing)));
        let cross = sign(&self.signing, &fingerprint(&self.identity));
        text += &(String::from("dir-key-crosscert\n") + &object("ID SIGNATURE", &cross));
        text += "dir-key-certification\n";
        let signature = sign(&self.identity, &Sha1::digest(&text));
        text + &object("SIGNATURE", &signature)
    }
}

impl Entry {
    /// A guard and exit of that number, at that port of 127.0.0.1.
    pub fn new(number: u8, port: u16) -> Self {
        let microdescriptor = microdescriptor(number);
        let digest = Base64Unpadded::encode_string(&Sha256::digest(&microdescriptor));
        let lines = [
            &format!("m {digest}"),
            "s Exit Fast Guard Running Stable V2Dir Valid",
            "v Tor 0.4.9.1",
            "pr FlowCtrl=1-2 Link=3-5 LinkAuth=3 Relay=2-6",
            "w Bandwidth=1000",
        ];
        Self {
            rsa_identity: [number; 20],
            nickname: format!("relay{number}"),
            address: "127.0.0.1".to_owned(),
            port: port.to_string(),
            lines: lines.map(str::to_owned).to_vec(),
            microdescriptor,
        }
    }

    /// The same with another line of that keyword.
    #[must_use]
    pub fn with(mut self, line: &str) -> Self {
        let keyword = line.split(' ').next();
        self.lines.retain(|other| other.split(' ').next() != keyword);
        self.lines.push(line.to_owned());
        self
    }

    /// The digest of its microdescriptor, as paths and lines have it.
    pub fn digest(&self) -> String {
        Base64Unpadded::encode_string(&Sha256::digest(&self.microdescriptor))
    }

    fn text(&self) -> String {
        let identity = Base64Unpadded::encode_string(&self.rsa_identity);
        let first = format!("r {} {identity} 2038-01-01 00:00:00 {} {} 0\n", self.nickname, self.address, self.port);
        first + &self.lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    }
}

/// The microdescriptor of the relay of that number.
pub fn microdescriptor(number: u8) -> String {
    let key = |kind: u8| Base64Unpadded::encode_string(&Sha256::digest([kind, number]));
    format!("onion-key\nntor-onion-key {}\np accept 1-65535\nid ed25519 {}\n", key(1), key(2))
}

/// A consensus of these relays that these authorities sign. It begins, is no longer fresh and ends at these times, in seconds since 1970.
pub fn consensus(signers: &[&Authority], [after, fresh, until]: [u64; 3], relays: &[Entry]) -> String {
    let mut text = format!(
        "network-status-version 3 microdesc\nvote-status consensus\nconsensus-method 33\nvalid-after {}\nfresh-until {}\nvalid-until {}\n",
        time(after),
        time(fresh),
        time(until)
    );
    let mut relays: Vec<_> = relays.iter().collect();
    relays.sort_by_key(|relay| relay.rsa_identity);
    relays.iter().for_each(|relay| text += &relay.text());
    text += "directory-footer\n";
    let digest = Sha256::digest(format!("{text}directory-signature "));
    for signer in signers {
        let key = hex(&fingerprint(&signer.signing));
        text += &format!("directory-signature sha256 {} {key}\n", signer.v3ident());
        text += &object("SIGNATURE", &sign(&signer.signing, &digest));
    }
    text
}

fn key(pem: &str) -> RsaPrivateKey {
    RsaPrivateKey::from_pkcs1_pem(pem).expect("a key of this folder")
}

fn public(key: &RsaPrivateKey) -> Vec<u8> {
    key.as_public_key().to_pkcs1_der().expect("a public key").as_bytes().to_vec()
}

fn fingerprint(key: &RsaPrivateKey) -> [u8; 20] {
    Sha1::digest(public(key)).into()
}

fn sign(key: &RsaPrivateKey, digest: &[u8]) -> Vec<u8> {
    key.sign(Pkcs1v15Sign::new_unprefixed(), digest).expect("a signature")
}

fn hex(bytes: &[u8]) -> String {
    base16ct::upper::encode_string(bytes)
}

fn object(label: &str, bytes: &[u8]) -> String {
    let digits = Base64::encode_string(bytes);
    let lines: Vec<_> = digits.as_bytes().chunks(64).map(|line| str::from_utf8(line).expect("digits")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// `2026-11-27 19:31:35`, by the rule for the Gregorian calendar that counts years from March.
fn time(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400 + 719_468, seconds % 86400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + 400 * era + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}
