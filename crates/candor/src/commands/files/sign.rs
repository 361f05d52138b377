//! `candor sign`, and `candor verify` of a file's signature.

use super::input::Input;
use super::target::{Readers, Target};
use super::{key_in, secret_file, secret_key_in};
use crate::Failure;
use crate::cli::{SignArguments, SignatureChoices};
use crate::output::Talk;
use candor_suite::signing::{Choices, Signing, Verifying};
use std::path::Path;

fn choices(given: &SignatureChoices) -> Choices<'_> {
    Choices { hash: given.hash, id: given.id.as_deref().map(str::as_bytes), padding: given.padding }
}

pub(crate) fn execute(arguments: &SignArguments, talk: Talk) -> Result<(), Failure> {
    let key = secret_key_in(&arguments.key)?;
    let mut signing = Signing::new(&key, choices(&arguments.choices))?;
    let mut target = Target::create(arguments.output.as_deref(), Readers::Anybody, arguments.force)?;
    target.refuse_terminal("a signature")?;
    let file = arguments.file.as_deref().unwrap_or(Path::new("-"));
    Input::open(file, talk)?.each(|piece| Ok(signing.update(piece)?))?;
    target.write(&signing.finish()?)?;
    target.finish()
}

/// Whether `signature` is the key's for the file.
pub(crate) fn verify(
    file: &Path,
    signature: &Path,
    key: &Path,
    given: &SignatureChoices,
    talk: Talk,
) -> Result<(), Failure> {
    let public = key_in(key)?.into_public()?;
    let mut verifying = Verifying::new(&public, choices(given))?;
    let signature = secret_file(signature)?;
    Input::open(file, talk)?.each(|piece| Ok(verifying.update(piece)?))?;
    match verifying.finish(&signature) {
        Ok(()) => {
            talk.say(&format!("{}: signature is right", file.display()));
            Ok(())
        }
        Err(candor_suite::Error::Signature) => {
            Err(Failure::Condition(format!("{}: signature does not match this key and file", file.display())))
        }
        Err(other) => Err(other.into()),
    }
}
