//! `candor key`.

use super::target::{Readers, Target};
use super::{hex, key_in};
use crate::Failure;
use crate::cli::{ConvertArguments, FileKeyCommand, KeyForm, ListFormat, MakeArguments};
use crate::output::{Talk, print};
use candor_suite::hash::HashAlgorithm;
use candor_suite::key::SecretKey;
use candor_suite::key_file::{Encoding, Key};
use serde_json::json;
use std::path::Path;

pub(crate) fn execute(command: &FileKeyCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        FileKeyCommand::Make(arguments) => make(arguments, talk),
        FileKeyCommand::Show { key, format } => show(key, *format),
        FileKeyCommand::Convert(arguments) => convert(arguments),
    }
}

fn make(arguments: &MakeArguments, talk: Talk) -> Result<(), Failure> {
    let encoding = Encoding::from(arguments.shape.encoding);
    if arguments.public.as_ref() == Some(&arguments.output) {
        return Err(Failure::Error("--output and --public name the same file; expected two".into()));
    }
    // Both files are opened before the key is made: if one can't be, there is no half of a pair.
    let mut secret_target = Target::create(Some(&arguments.output), Readers::Owner, false)?;
    let public = arguments.public.as_deref();
    let mut public_target = public.map(|path| Target::create(Some(path), Readers::Anybody, false)).transpose()?;
    let key = SecretKey::generate(arguments.kind)?;
    secret_target.write(&key.to_file(arguments.shape.form.into(), encoding)?)?;
    if let Some(target) = &mut public_target {
        target.write(&key.public_key()?.to_file(encoding)?)?;
    }
    secret_target.finish()?;
    public_target.map_or(Ok(()), Target::finish)?;
    talk.say(&format!("made a secret key of {} in {}", key.kind().title(), arguments.output.display()));
    Ok(())
}

fn show(path: &Path, format: ListFormat) -> Result<(), Failure> {
    let key = key_in(path)?;
    let secret = matches!(key, Key::Secret(_));
    let public = key.into_public()?;
    let mut fingerprint = [0; 32];
    HashAlgorithm::Sha256.digest(&public.to_file(Encoding::Der)?, &mut fingerprint)?;
    let (kind, fingerprint, bytes) = (public.kind(), hex(&fingerprint), hex(&public.to_bytes()?));
    let part = if secret { "secret key" } else { "public key" };
    match format {
        ListFormat::Json => print(&format!(
            "{}\n",
            json!({ "kind": kind.name(), "secret": secret, "fingerprint": fingerprint, "public": bytes })
        )),
        ListFormat::Text => {
            let shown =
                if bytes.len() > 200 { format!("{}… ({} bytes)", &bytes[..64], bytes.len() / 2) } else { bytes };
            print(&format!("{part} of {}\nfingerprint  sha256 {fingerprint}\npublic       {shown}\n", kind.title()))
        }
    }
}

fn convert(arguments: &ConvertArguments) -> Result<(), Failure> {
    let encoding = Encoding::from(arguments.shape.encoding);
    let key = match key_in(&arguments.key)? {
        key if arguments.public => Key::Public(key.into_public()?),
        key => key,
    };
    let output = arguments.output.as_deref();
    match key {
        Key::Public(_) if !matches!(arguments.shape.form, KeyForm::Pkcs8) => Err(Failure::Error(format!(
            "--form: {} holds a public key; only secret keys have several forms",
            arguments.key.display()
        ))),
        Key::Public(key) => {
            let mut target = Target::create(output, Readers::Anybody, false)?;
            if matches!(encoding, Encoding::Der) {
                target.refuse_terminal("DER")?;
            }
            target.write(&key.to_file(encoding)?)?;
            target.finish()
        }
        Key::Secret(_) if output.is_none() => Err(Failure::Error(
            "a secret key goes into a file: name one with --output, or ask for the public key with --public".into(),
        )),
        Key::Secret(key) => {
            let mut target = Target::create(output, Readers::Owner, false)?;
            target.write(&key.to_file(arguments.shape.form.into(), encoding)?)?;
            target.finish()
        }
    }
}
