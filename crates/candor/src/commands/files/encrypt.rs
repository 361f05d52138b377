//! `candor encrypt` and `candor decrypt`.

use super::input::{Input, PIECE};
use super::target::{Readers, Target};
use super::{key_in, secret_file, secret_key_in};
use crate::Failure;
use crate::cli::{DecryptArguments, EncryptArguments};
use crate::output::Talk;
use candor_suite::container::{CHUNK, ContainerCipher, ContainerError, Cost, Header, Opener, PREFIX, Sealer};
use candor_suite::key::{KeyKind, PublicKey, SM2_OVERHEAD, SecretKey};
use std::path::Path;
use zeroize::Zeroizing;

/// The longest message that SM2 encrypts without a container: it has to be in memory.
const LONGEST_SM2: usize = 1 << 20;

/// Whether such keys encrypt a message by themselves, into one ciphertext that OpenSSL reads.
fn is_for_messages(kind: KeyKind) -> bool {
    matches!(kind, KeyKind::Sm2 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096)
}

pub(crate) fn encrypt(arguments: &EncryptArguments, talk: Talk) -> Result<(), Failure> {
    let cipher = ContainerCipher::from(arguments.cipher);
    let recipient = match (&arguments.to, &arguments.password_file) {
        (Some(path), _) => Recipient::Key(key_in(path)?.into_public()?),
        (None, Some(path)) => Recipient::Password(password(path)?),
        (None, None) => return Err(Failure::Error("expected --to or --password-file".into())),
    };
    if let Recipient::Key(key) = &recipient
        && arguments.no_container
        && !is_for_messages(key.kind())
    {
        let title = key.kind().title();
        return Err(Failure::Error(format!(
            "--no-container: expected a key of RSA or SM2; {title} encrypts no message by itself"
        )));
    }
    let mut input = Input::open(arguments.file.as_deref().unwrap_or(Path::new("-")), talk)?;
    let mut target = Target::create(arguments.output.as_deref(), Readers::Anybody, arguments.force)?;
    target.refuse_terminal("what is encrypted")?;
    let mut out = Vec::new();
    let mut sealer = match &recipient {
        Recipient::Key(key) if arguments.no_container => {
            let most = key.longest_message().unwrap_or(LONGEST_SM2);
            target.write(&key.encrypt(&whole(&mut input, b"", most, key.kind())?)?)?;
            return target.finish();
        }
        Recipient::Key(key) => Sealer::to_key(key, cipher, &mut out)?,
        Recipient::Password(password) => Sealer::to_password(password, Cost::DEFAULT, cipher, &mut out)?,
    };
    input.each(|piece| {
        sealer.push(piece, &mut out)?;
        target.write(&out)?;
        out.clear();
        Ok(())
    })?;
    sealer.finish(&mut out)?;
    target.write(&out)?;
    target.finish()
}

/// Whom a file is encrypted to.
enum Recipient {
    Key(PublicKey),
    Password(Zeroizing<Vec<u8>>),
}

/// What opens a file.
enum Opening {
    Key(Box<SecretKey>),
    Password(Zeroizing<Vec<u8>>),
}

pub(crate) fn decrypt(arguments: &DecryptArguments, talk: Talk) -> Result<(), Failure> {
    let opening = match (&arguments.key, &arguments.password_file) {
        (Some(path), _) => Opening::Key(Box::new(secret_key_in(path)?)),
        (None, Some(path)) => Opening::Password(password(path)?),
        (None, None) => return Err(Failure::Error("expected --key or --password-file".into())),
    };
    let mut input = Input::open(arguments.file.as_deref().unwrap_or(Path::new("-")), talk)?;
    let mut target = Target::create(arguments.output.as_deref(), Readers::Owner, arguments.force)?;
    let mut prefix = vec![0; PREFIX];
    let read = input.fill(&mut prefix)?;
    prefix.truncate(read);
    let mut opener = match &opening {
        // What OpenSSL or --no-container wrote does not begin like a container, but by a chance of 1 in 2^128.
        Opening::Key(key) if is_for_messages(key.kind()) && Header::length(&prefix) == Err(ContainerError::Magic) => {
            let most = key.kind().modulus_size().unwrap_or(LONGEST_SM2 + SM2_OVERHEAD);
            target.write(&key.decrypt(&whole(&mut input, &prefix, most, key.kind())?)?)?;
            return target.finish();
        }
        Opening::Key(key) => Opener::with_key(&header(&mut input, prefix)?, key)?,
        Opening::Password(password) => Opener::with_password(&header(&mut input, prefix)?, password)?,
    };
    // With room for all that a piece gives, so that no copy is left where it has grown.
    let mut out = Zeroizing::new(Vec::with_capacity(PIECE + 2 * CHUNK));
    let unfinished = |error: ContainerError, target: &Target| match target {
        Target::Stdout(_) => Failure::Error(format!("{error}; what has been written to standard output is incomplete")),
        Target::File(_) => Failure::Error(error.to_string()),
    };
    input.each(|piece| {
        let pushed = opener.push(piece, &mut out);
        // What came before a chunk that was changed is authentic, and goes where the rest went.
        target.write(&out)?;
        out.clear();
        pushed.map_err(|error| unfinished(error, &target))
    })?;
    opener.finish(&mut out).map_err(|error| unfinished(error, &target))?;
    target.write(&out)?;
    target.finish()
}

/// The header of a container that begins with these bytes, and nothing behind it.
fn header(input: &mut Input, mut bytes: Vec<u8>) -> Result<Header, Failure> {
    let length = Header::length(&bytes)?;
    bytes.resize(length, 0);
    let more = input.fill(&mut bytes[PREFIX..])?;
    Ok(Header::parse(&bytes[..PREFIX + more])?)
}

/// All of a short input that begins with these bytes.
fn whole(input: &mut Input, begin: &[u8], most: usize, kind: KeyKind) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut bytes = Zeroizing::new(vec![0; most.max(begin.len()) + 1]);
    bytes[..begin.len()].copy_from_slice(begin);
    let length = begin.len() + input.fill(&mut bytes[begin.len()..])?;
    if length > most {
        let what = "takes no more by itself; a container holds any length";
        return Err(Failure::Error(format!("input is longer than {most} bytes: {} {what}", kind.title())));
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// The first line of a file, without its end.
fn password(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut bytes = secret_file(path)?;
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let end = if end > 0 && bytes[end - 1] == b'\r' { end - 1 } else { end };
    bytes.truncate(end);
    match bytes.is_empty() {
        true => Err(Failure::Error(format!("{}: the first line is empty; expected a password", path.display()))),
        false => Ok(bytes),
    }
}
