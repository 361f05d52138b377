//! `candor mac`.

use super::input::Input;
use super::{each_file, secret_file, shown};
use crate::Failure;
use crate::cli::MacArguments;
use crate::output::Talk;
use candor_suite::checksum;
use candor_suite::mac::Authenticator;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(crate) fn execute(arguments: &MacArguments, talk: Talk) -> Result<(), Failure> {
    let key = secret_file(&arguments.key)?;
    // HMAC would take it, and anybody could make its codes.
    if key.is_empty() {
        return Err(Failure::Error(format!("{} is empty; expected a key", arguments.key.display())));
    }
    let start = Authenticator::new(arguments.algorithm, &key)
        .map_err(|error| Failure::Error(format!("{}: {error}", arguments.key.display())))?;
    let of = |path: &Path| {
        let mut state = start.clone();
        Input::open(path, talk)?.each(|piece| {
            state.update(piece);
            Ok(())
        })?;
        Ok::<_, Failure>(state)
    };
    let Some(code) = &arguments.verify else {
        let line = |path: &Path| Ok(checksum::format(None, &of(path)?.finish(), path.as_os_str().as_bytes()));
        return each_file(&arguments.files, line);
    };
    let file = match &arguments.files[..] {
        [] => Path::new("-"),
        [file] => file,
        several => return Err(Failure::Error(format!("--verify: {} files were given; expected one", several.len()))),
    };
    let code =
        from_hex(code).ok_or_else(|| Failure::Error("--verify: expected hexadecimal digits, two a byte".into()))?;
    let verified = of(file)?.verify(&code);
    verified.map_err(|error| Failure::Condition(format!("{}: {error}", shown(file))))?;
    talk.say(&format!("{}: code is right", shown(file)));
    Ok(())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()).collect()
}
