//! Signatures of run files: the seal says that a file is whole, a signature says whose it is.
//!
//! They are SSH signatures (OpenSSH's `PROTOCOL.sshsig`), made and verified by `ssh-keygen`, as git does it: most people who measure have such a key,
//! agents and hardware keys work, and anyone can verify a run without candor:
//!
//! ```text
//! ssh-keygen -Y check-novalidate -n candor-run -s RUN.sig < RUN
//! ```

use crate::Failure;
use candor_lab::runfile::Run;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What such a signature is for. One that was made for another purpose does not verify.
const NAMESPACE: &str = "candor-run";

/// A key that can sign.
pub(crate) struct Key(PathBuf);

impl Key {
    /// Signs a word before the measurement, so that no run is made in vain: whether a key is there does not say whether it can sign.
    pub(crate) fn find(path: &Path) -> Result<Self, Failure> {
        let mut command = ssh_keygen();
        command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(path);
        succeeded(fed(command, b"a trial"), &format!("can't sign with {}", path.display()))
            .map(|_| Self(path.to_owned()))
    }

    /// Signs a run, and verifies that. The run stays where it is if that fails.
    pub(crate) fn sign(&self, run: &Path) -> Result<PathBuf, Failure> {
        // Questions for the passphrase go to the terminal.
        let output = ssh_keygen().args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(&self.0).arg("--").arg(run).output();
        succeeded(output, &format!("can't sign {}", run.display()))?;
        match signer(run, &Run::bytes(run)?)? {
            Some(_) => Ok(beside(run)),
            None => Err(Failure::Error(format!("ssh-keygen wrote no signature of {}", run.display()))),
        }
    }
}

/// Where the signature of a run is.
pub(crate) fn beside(run: &Path) -> PathBuf {
    let mut path = OsString::from(run);
    path.push(".sig");
    path.into()
}

/// The fingerprint of the key that signed these bytes of a run. `None` without a signature; an error if it does not fit them.
pub(crate) fn signer(run: &Path, bytes: &[u8]) -> Result<Option<String>, Failure> {
    let signature = beside(run);
    match signature.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::Error(format!("can't read {}: {error}", signature.display()))),
        Ok(_) if !signature.is_file() => {
            return Err(Failure::Error(format!("{} is no file", signature.display())));
        }
        Ok(_) => {}
    }
    let mut command = ssh_keygen();
    command.args(["-Y", "check-novalidate", "-n", NAMESPACE, "-s"]).arg(&signature);
    let said =
        succeeded(fed(command, bytes), &format!("{} is no signature of {}", signature.display(), run.display()))?;
    let fingerprint = fingerprint(&said).ok_or_else(|| Failure::Error(format!("ssh-keygen names no key: {said}")))?;
    Ok(Some(fingerprint.to_owned()))
}

/// The fingerprints of the keys in a file: public keys, one a line, or a private key.
pub(crate) fn fingerprints(keys: &Path) -> Result<Vec<String>, Failure> {
    let output = ssh_keygen().args(["-l", "-f"]).arg(keys).output();
    let said = succeeded(output, &format!("can't read SSH keys from {}", keys.display()))?;
    Ok(said.lines().filter_map(fingerprint).map(str::to_owned).collect())
}

fn fingerprint(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| word.starts_with("SHA256:"))
}

fn ssh_keygen() -> Command {
    let mut command = Command::new("ssh-keygen");
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Runs it with these bytes on its stdin, all of which it reads before it prints anything long.
fn fed(mut command: Command, bytes: &[u8]) -> std::io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // If it ends early, its status says why.
    let _ = child.stdin.take().expect("piped above").write_all(bytes);
    child.wait_with_output()
}

/// What it printed, or why it failed.
fn succeeded(output: std::io::Result<Output>, what: &str) -> Result<String, Failure> {
    let output = output
        .map_err(|error| Failure::Error(format!("{what}: can't start ssh-keygen, a part of OpenSSH: {error}")))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure::Error(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}
