//! The flags of the commands on files: hash, mac, key, sign, encrypt, decrypt.

use super::ListFormat;
use candor_suite::container::ContainerCipher;
use candor_suite::hash::HashAlgorithm;
use candor_suite::key::KeyKind;
use candor_suite::key_file::{Encoding, SecretForm};
use candor_suite::mac::MacAlgorithm;
use candor_suite::signing::Padding;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct HashArguments {
    /// Files to hash, or with --check lists of checksums; `-`, or none, is standard input
    pub(crate) files: Vec<PathBuf>,
    /// The hash [default: sha256; with --check, what a tagged line names]
    #[arg(long, short, value_name = "NAME", value_parser = hash())]
    pub(crate) algorithm: Option<HashAlgorithm>,
    /// Bytes of a digest of SHAKE; --check takes no fewer than 16 for shake128 and 32 for shake256 [default: 32, and 64]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) length: Option<u32>,
    /// Print lines that name the hash, such as `SHA256 (FILE) = DIGEST`
    #[arg(long)]
    pub(crate) tag: bool,
    /// Read lists of checksums and check each file that they name; --quiet leaves out the lines that say OK
    #[arg(long, short, conflicts_with_all = ["tag", "length"])]
    pub(crate) check: bool,
    /// Exit with status 1 if any line of a list is no checksum
    #[arg(long, requires = "check")]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MacArguments {
    /// Files to authenticate; `-`, or none, is standard input
    pub(crate) files: Vec<PathBuf>,
    /// The algorithm
    #[arg(long, short, value_name = "NAME", value_parser = mac(), default_value = "hmac-sha256")]
    pub(crate) algorithm: MacAlgorithm,
    /// File with the key: all of its bytes
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Compare the code of the file with this one, in hexadecimal digits, instead of printing it
    #[arg(long, value_name = "CODE")]
    pub(crate) verify: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FileKeyCommand {
    /// Make a secret key, and its public key
    #[command(after_help = "Example:\n  candor key make ed25519 -o key.pem --public key.pub")]
    Make(MakeArguments),
    /// Show what kind of key a file holds, and its fingerprint
    ///
    /// The fingerprint is SHA-256 of the public key in DER, as `openssl pkey -pubout -outform DER` writes it.
    Show {
        /// The key: PEM or DER
        key: PathBuf,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
    /// Write a key in another form
    #[command(
        after_help = "Examples:\n  candor key convert key.pem --public\n  candor key convert key.pem --encoding der -o key.der"
    )]
    Convert(ConvertArguments),
    /// Agree with the holder of another key on a secret that nobody else can compute
    ///
    /// ECDH on P-256, P-384 or secp256k1, or X25519. The secret is a coordinate of a point and not uniform: derive keys from it, by HKDF for one. `openssl pkeyutl
    /// -derive -inkey KEY -peerkey WITH` gives the same bytes.
    #[command(
        after_help = "Example:\n  candor key make x25519 -o my.pem --public my.pub\n  candor key agree --key my.pem --with their.pub -o secret"
    )]
    Agree {
        /// Your secret key, in PEM or DER
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The other's public key, of the same kind
        #[arg(long, value_name = "FILE")]
        with: PathBuf,
        /// File for the secret's bytes, which must not exist; only its owner may read it [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MakeArguments {
    /// The kind of key
    #[arg(value_parser = kind())]
    pub(crate) kind: KeyKind,
    /// File for the secret key, which must not exist; only its owner may read it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// File for the public key, which must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) public: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    /// The key: PEM or DER
    pub(crate) key: PathBuf,
    /// File for the key, which must not exist [default for a public key: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the public key of a secret one
    #[arg(long, conflicts_with = "form")]
    pub(crate) public: bool,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Debug, Args)]
pub(crate) struct Shape {
    /// Text or bytes
    #[arg(long, value_enum, default_value_t)]
    pub(crate) encoding: KeyEncoding,
    /// What a file of a secret key holds
    #[arg(long, value_enum, default_value_t)]
    pub(crate) form: KeyForm,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum KeyEncoding {
    /// Text
    #[default]
    Pem,
    /// Bytes
    Der,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum KeyForm {
    /// PKCS#8; of ML-KEM the seed
    #[default]
    Pkcs8,
    /// PKCS#8 with the expanded key of ML-KEM
    Expanded,
    /// PKCS#8 with seed and expanded key of ML-KEM
    Both,
    /// SEC1, of curves' keys: `BEGIN EC PRIVATE KEY`
    Sec1,
    /// PKCS#1, of RSA: `BEGIN RSA PRIVATE KEY`
    Pkcs1,
}

impl From<KeyEncoding> for Encoding {
    fn from(encoding: KeyEncoding) -> Self {
        match encoding {
            KeyEncoding::Pem => Self::Pem,
            KeyEncoding::Der => Self::Der,
        }
    }
}

impl From<KeyForm> for SecretForm {
    fn from(form: KeyForm) -> Self {
        match form {
            KeyForm::Pkcs8 => Self::Pkcs8,
            KeyForm::Expanded => Self::Expanded,
            KeyForm::Both => Self::Both,
            KeyForm::Sec1 => Self::Sec1,
            KeyForm::Pkcs1 => Self::Pkcs1,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SignArguments {
    /// The file to sign; `-`, or none, is standard input
    pub(crate) file: Option<PathBuf>,
    /// The secret key: P-256, P-384, secp256k1, SM2, Ed25519 or RSA, in PEM or DER
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// File for the signature [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of --output if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) choices: SignatureChoices,
}

/// What a signature depends on besides its key.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SignatureChoices {
    /// Hash of an ECDSA or RSA signature [default: sha256, for P-384 sha384]
    #[arg(long, value_name = "NAME", value_parser = hash())]
    pub(crate) hash: Option<HashAlgorithm>,
    /// Identity of the signer of an SM2 signature [default: 1234567812345678]
    #[arg(long, value_name = "TEXT")]
    pub(crate) id: Option<String>,
    /// Padding of an RSA signature; the salt of PSS is as long as the digest [default: pss]
    #[arg(long, value_name = "NAME", value_parser = padding())]
    pub(crate) padding: Option<Padding>,
}

#[derive(Debug, Args)]
pub(crate) struct EncryptArguments {
    /// The file to encrypt; `-`, or none, is standard input
    pub(crate) file: Option<PathBuf>,
    /// The recipient's public key, in PEM or DER: any kind but Ed25519
    #[arg(long, value_name = "KEY", required_unless_present = "password_file")]
    pub(crate) to: Option<PathBuf>,
    /// File whose first line is a password that opens the file
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    pub(crate) password_file: Option<PathBuf>,
    /// The cipher of the chunks
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cipher: CipherName,
    /// Write the bare ciphertext of a short message to RSA (OAEP with SHA-256, a few hundred bytes) or SM2 (up to 1 MiB), which `openssl pkeyutl` reads; for RSA with -pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256
    #[arg(long, requires = "to", conflicts_with_all = ["cipher", "password_file"])]
    pub(crate) no_container: bool,
    /// File for what is encrypted [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of --output if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum CipherName {
    /// AES-256-GCM
    #[default]
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    /// ChaCha20-Poly1305
    #[value(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

impl From<CipherName> for ContainerCipher {
    fn from(name: CipherName) -> Self {
        match name {
            CipherName::Aes256Gcm => Self::Aes256Gcm,
            CipherName::ChaCha20Poly1305 => Self::ChaCha20Poly1305,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DecryptArguments {
    /// The file to decrypt; `-`, or none, is standard input
    pub(crate) file: Option<PathBuf>,
    /// The secret key, in PEM or DER
    #[arg(long, value_name = "FILE", required_unless_present = "password_file")]
    pub(crate) key: Option<PathBuf>,
    /// File whose first line is the password
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub(crate) password_file: Option<PathBuf>,
    /// File for the plaintext, which is there only once all of it is authentic [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of --output if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

fn hash() -> impl TypedValueParser<Value = HashAlgorithm> {
    let names = HashAlgorithm::ALL.iter().map(|algorithm| PossibleValue::new(algorithm.name()));
    PossibleValuesParser::new(names).map(|name| HashAlgorithm::named(&name).expect("one of the names"))
}

fn padding() -> impl TypedValueParser<Value = Padding> {
    let names = Padding::ALL.iter().map(|padding| PossibleValue::new(padding.name()));
    PossibleValuesParser::new(names).map(|name| Padding::named(&name).expect("one of the names"))
}

fn mac() -> impl TypedValueParser<Value = MacAlgorithm> {
    let names = MacAlgorithm::ALL.iter().map(|algorithm| PossibleValue::new(algorithm.name()));
    PossibleValuesParser::new(names).map(|name| MacAlgorithm::named(&name).expect("one of the names"))
}

fn kind() -> impl TypedValueParser<Value = KeyKind> {
    let names = KeyKind::ALL.iter().map(|kind| PossibleValue::new(kind.name()));
    PossibleValuesParser::new(names).map(|name| KeyKind::named(&name).expect("one of the names"))
}
