//! Signatures of run files: the seal says that a file is whole, a signature says whose it is.
//!
//! They are SSH signatures (OpenSSH's `PROTOCOL.sshsig`), made and verified by `ssh-keygen`, as git does it: most people who measure have such a key,
//! agents and hardware keys work, and anyone can verify a run without candor:
//!
//! ```text
//! ssh-keygen -Y check-novalidate -n candor-run -s RUN.sig < RUN
//! ```

use crate::Failure;
use crate::output::Talk;
use candor_lab::lint::Lint;
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

/// What stands beside a run.
pub(crate) enum Signature {
    /// Nothing.
    None,
    /// A signature of these bytes: the fingerprint of the key.
    By(String),
    /// Something that is no signature of these bytes, and why.
    Wrong(String),
    /// Something that can't be checked here, and why.
    Unchecked(String),
}

/// What stands beside these bytes of a run.
pub(crate) fn look(run: &Path, bytes: &[u8]) -> Signature {
    let path = beside(run);
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Signature::None,
        Err(error) => return Signature::Unchecked(format!("can't read {}: {error}", path.display())),
        Ok(_) if !path.is_file() => return Signature::Wrong(format!("{} is no file", path.display())),
        Ok(_) => {}
    }
    let mut command = ssh_keygen();
    command.args(["-Y", "check-novalidate", "-n", NAMESPACE, "-s"]).arg(&path);
    let output = match fed(command, bytes) {
        Ok(output) => output,
        Err(error) => return Signature::Unchecked(format!("can't check {}: {}", path.display(), not_started(&error))),
    };
    match succeeded(Ok(output), &format!("{} is no signature of {}", path.display(), run.display())) {
        Err(Failure::Error(why) | Failure::Condition(why) | Failure::CantTell(why)) => Signature::Wrong(why),
        Ok(said) => match fingerprint(&said) {
            Some(fingerprint) => Signature::By(fingerprint.to_owned()),
            None => Signature::Unchecked(format!("ssh-keygen names no key: {said}")),
        },
    }
}

/// The fingerprint of the key that signed these bytes of a run. `None` without a signature; an error if it does not fit them.
pub(crate) fn signer(run: &Path, bytes: &[u8]) -> Result<Option<String>, Failure> {
    match look(run, bytes) {
        Signature::None => Ok(None),
        Signature::By(signer) => Ok(Some(signer)),
        Signature::Wrong(why) | Signature::Unchecked(why) => Err(Failure::Error(why)),
    }
}

/// What a reader of a report must know of the signature beside a run, which reports show nothing else of: that it is wrong. That it can't be checked here is said.
pub(crate) fn lint(run: &Path, bytes: &[u8], talk: Talk) -> Option<Lint> {
    match look(run, bytes) {
        Signature::None | Signature::By(_) => None,
        Signature::Wrong(text) => {
            Some(Lint { name: "bad-signature", task: String::new(), subject: String::new(), text })
        }
        Signature::Unchecked(why) => {
            talk.say(&why);
            None
        }
    }
}

/// Why ssh-keygen did not start.
fn not_started(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "ssh-keygen, a part of OpenSSH, is not installed".into(),
        _ => format!("can't start ssh-keygen, a part of OpenSSH: {error}"),
    }
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
    let output = output.map_err(|error| Failure::Error(format!("{what}: {}", not_started(&error))))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure::Error(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}
