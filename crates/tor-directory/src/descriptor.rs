//! A relay's descriptor, as it publishes it to Tor's authorities (dir-spec, "Server descriptor format").

use crate::{Error, RelayKey, time};
use base64ct::{Base64, Base64Unpadded, Encoding};
use candor_onion::link::RelayIdentity;
use candor_primitives::hash::Sha256;
use digest::Digest;
use sha1::Sha1;
use std::net::SocketAddrV4;

/// Subprotocols that our relays speak (tor-spec, "Subprotocol versioning"); directory requests are passed on to a directory of C tor's, which speaks these. Onion services, conflux and padding machines are
/// missing.
const PROTOCOLS: &str = "FlowCtrl=1-2 Link=4-5 LinkAuth=3 Relay=2-6";
const DIRECTORY_PROTOCOLS: &str = "Cons=1-2 Desc=1-4 DirCache=2 Microdesc=1-3 ";
/// The most characters of the contact.
const MOST_CONTACT: usize = 400;

/// What a relay says of itself to Tor's authorities.
pub struct RouterDescriptor<'a> {
    /// 1 to 19 letters and digits.
    pub nickname: &'a str,
    /// Where it takes links.
    pub address: SocketAddrV4,
    /// Its Ed25519 identity, whose signing key signs.
    pub identity: &'a RelayIdentity,
    /// Its RSA identity.
    pub rsa: &'a RelayKey,
    /// The X25519 onion key, for `ntor` and `ntor-v3`.
    pub ntor: [u8; 32],
    /// The certificate that the onion key issues for the Ed25519 identity, and the sign of the point that it does so by
    /// ([`onion_key_certificate`](candor_onion::directory::onion_key_certificate)).
    pub ntor_certificate: (u8, &'a [u8]),
    /// In seconds since 1970.
    pub published: u64,
    /// For how many seconds it has run.
    pub uptime: u64,
    /// What it carries, in kB/s.
    pub bandwidth: u32,
    /// The exit policy's lines, such as `accept 192.0.2.0/24:80-90`; what none of them accepts is rejected.
    pub policy: &'a [String],
    /// Whether it answers directory requests over circuits.
    pub has_directory: bool,
    /// RSA identities of relays that the same people run.
    pub family: &'a [[u8; 20]],
    /// How to reach those people.
    pub contact: Option<&'a str>,
}

impl RouterDescriptor<'_> {
    /// Writes and signs the descriptor.
    ///
    /// # Errors
    /// [`Error::Descriptor`] if a name is not one; [`Error::Key`] if there is no randomness for the signature.
    pub fn sign(&self) -> Result<String, Error> {
        let mut text = self.unsigned()?;
        text.push_str("router-sig-ed25519 ");
        let digest = Sha256::new().chain_update(b"Tor router descriptor signature v1").chain_update(&text).finalize();
        text.push_str(&Base64Unpadded::encode_string(&self.identity.sign(&digest)));
        text.push_str("\nrouter-signature\n");
        let signature = self.rsa.sign(&Sha1::digest(&text))?;
        put_object(&mut text, "SIGNATURE", &signature);
        Ok(text)
    }

    fn unsigned(&self) -> Result<String, Error> {
        let is_name =
            (1..=19).contains(&self.nickname.len()) && self.nickname.bytes().all(|c| c.is_ascii_alphanumeric());
        if !is_name {
            return Err(Error::Descriptor("nickname is not 1 to 19 letters and digits"));
        }
        let is_line = |text: &str| text.len() <= MOST_CONTACT && !text.contains(char::is_control);
        if !self.contact.is_none_or(is_line) || !self.policy.iter().all(|line| is_line(line)) {
            return Err(Error::Descriptor(
                "contact, or a line of the policy, is longer than 400 bytes or has control characters",
            ));
        }
        let mut text = String::new();
        let (address, port) = (self.address.ip().to_string(), self.address.port().to_string());
        put(&mut text, &["router", self.nickname, &address, &port, "0", "0"]);
        put(&mut text, &["identity-ed25519"]);
        put_object(&mut text, "ED25519 CERT", self.identity.signing_certificate());
        put(&mut text, &["master-key-ed25519", &Base64Unpadded::encode_string(self.identity.id())]);
        put(&mut text, &["platform candor", env!("CARGO_PKG_VERSION"), "on", std::env::consts::OS]);
        let protocols =
            if self.has_directory { [DIRECTORY_PROTOCOLS, PROTOCOLS].concat() } else { PROTOCOLS.to_owned() };
        put(&mut text, &["proto", &protocols]);
        put(&mut text, &["published", &time::print(self.published)]);
        put(&mut text, &["fingerprint", &spaced(&self.rsa.fingerprint())]);
        put(&mut text, &["uptime", &self.uptime.to_string()]);
        // C tor takes no more than 31 bits.
        let bandwidth = (u64::from(self.bandwidth) * 1000).min(i32::MAX as u64).to_string();
        put(&mut text, &["bandwidth", &bandwidth, &bandwidth, &bandwidth]);
        let (tap, certificate) = self.rsa.tap(self.identity.id())?;
        put(&mut text, &["onion-key"]);
        put_object(&mut text, "RSA PUBLIC KEY", &tap);
        put(&mut text, &["onion-key-crosscert"]);
        put_object(&mut text, "CROSSCERT", &certificate);
        put(&mut text, &["signing-key"]);
        put_object(&mut text, "RSA PUBLIC KEY", self.rsa.public());
        let (sign, certificate) = self.ntor_certificate;
        put(&mut text, &["ntor-onion-key-crosscert", &sign.to_string()]);
        put_object(&mut text, "ED25519 CERT", certificate);
        put(&mut text, &["ntor-onion-key", &Base64Unpadded::encode_string(&self.ntor)]);
        if !self.family.is_empty() {
            let members = self.family.iter().map(|member| format!("${}", base16ct::upper::encode_string(member)));
            put(&mut text, &["family", &members.collect::<Vec<_>>().join(" ")]);
        }
        if let Some(contact) = self.contact {
            put(&mut text, &["contact", contact]);
        }
        if self.has_directory {
            put(&mut text, &["tunnelled-dir-server"]);
        }
        self.policy.iter().for_each(|rule| put(&mut text, &[rule]));
        put(&mut text, &["reject *:*"]);
        Ok(text)
    }
}

/// Hexadecimal digits, four to a word.
fn spaced(fingerprint: &[u8; 20]) -> String {
    let words: Vec<_> = fingerprint.chunks(2).map(base16ct::upper::encode_string).collect();
    words.join(" ")
}

fn put(text: &mut String, words: &[&str]) {
    text.push_str(&words.join(" "));
    text.push('\n');
}

fn put_object(text: &mut String, label: &str, bytes: &[u8]) {
    put(text, &[&format!("-----BEGIN {label}-----")]);
    let digits = Base64::encode_string(bytes);
    for start in (0..digits.len()).step_by(64) {
        put(text, &[&digits[start..(start + 64).min(digits.len())]]);
    }
    put(text, &[&format!("-----END {label}-----")]);
}
