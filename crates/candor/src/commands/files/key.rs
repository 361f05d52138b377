//! `candor key`.

use super::target::{Readers, STDOUT, Target};
use super::{hex, key_in, secret_key_in};
use crate::Failure;
use crate::cli::{ConvertArguments, FileKeyCommand, KeyForm, ListFormat, MakeArguments};
use crate::output::{Talk, print};
use candor_suite::hash::HashAlgorithm;
use candor_suite::key::SecretKey;
use candor_suite::key_file::{Encoding, Key};
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(crate) fn execute(command: &FileKeyCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        FileKeyCommand::Make(arguments) => make(arguments, talk),
        FileKeyCommand::Show { key, format } => show(key, *format),
        FileKeyCommand::Convert(arguments) => convert(arguments),
        FileKeyCommand::Agree { key, with, output } => agree(key, with, output.as_deref()),
    }
}

fn make(arguments: &MakeArguments, talk: Talk) -> Result<(), Failure> {
    let encoding = Encoding::from(arguments.shape.encoding);
    let public = arguments.public.as_deref();
    if public.is_some_and(|public| is_same_place(public, &arguments.output)) {
        return Err(Failure::Error("--output and --public name the same file; expected two".into()));
    }
    refuse_stdout(&arguments.output)?;
    // Both files are opened before the key is made: if one can't be, there is no half of a pair.
    let mut secret_target = Target::create(Some(&arguments.output), Readers::Owner, false)?;
    let mut public_target = public.map(|path| Target::create(Some(path), Readers::Anybody, false)).transpose()?;
    let key = SecretKey::generate(arguments.kind)?;
    secret_target.write(&key.to_file(arguments.shape.form.into(), encoding)?)?;
    if let Some(target) = &mut public_target {
        target.write(&key.public_key()?.to_file(encoding)?)?;
    }
    // The public half first: if the secret one gets no name, nothing is lost with it.
    let is_file = matches!(public_target, Some(Target::File(_)));
    public_target.map_or(Ok(()), Target::finish)?;
    if let Err(failure) = secret_target.finish() {
        if let Some(public) = public.filter(|_| is_file) {
            let _ = std::fs::remove_file(public);
        }
        return Err(failure);
    }
    talk.say(&format!("made a secret key of {} in {}", key.kind().title(), arguments.output.display()));
    Ok(())
}

/// Whether two paths name one file, which need not exist: the same name in the same folder.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| {
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        folder.metadata().ok().map(|about| (about.dev(), about.ino()))
    };
    one.file_name() == other.file_name() && (one == other || folder(one).is_some() && folder(one) == folder(other))
}

/// A secret key on a terminal or in a pipe is soon somebody else's.
fn refuse_stdout(path: &Path) -> Result<(), Failure> {
    match path == Path::new(STDOUT) {
        true => Err(Failure::Error("a secret key goes into a file; --output is `-`, expected a name".into())),
        false => Ok(()),
    }
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
            output.map_or(Ok(()), refuse_stdout)?;
            let mut target = Target::create(output, Readers::Owner, false)?;
            target.write(&key.to_file(arguments.shape.form.into(), encoding)?)?;
            target.finish()
        }
    }
}

fn agree(ours: &Path, theirs: &Path, output: Option<&Path>) -> Result<(), Failure> {
    let (key, peer) = (secret_key_in(ours)?, key_in(theirs)?.into_public()?);
    let secret = key
        .agree(&peer)
        .map_err(|error| Failure::Error(format!("{} with {}: {error}", ours.display(), theirs.display())))?;
    let mut target = Target::create(output, Readers::Owner, false)?;
    target.refuse_terminal("a shared secret")?;
    target.write(&secret)?;
    target.finish()
}
