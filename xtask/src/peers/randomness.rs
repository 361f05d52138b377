//! The stand-in for the sources of randomness of KEMs in C: `shims/randomness.c`.

use super::{quiet_step, write};
use crate::Failure;
use crate::stage::program;
use std::path::{Path, PathBuf};

const SHIM: &str = include_str!("shims/randomness.c");

/// Writes its source into `at`, to be compiled into a peer, and says where.
pub(super) fn source(at: &Path) -> Result<PathBuf, Failure> {
    let file = at.join("randomness.c");
    write(&file, SHIM)?;
    Ok(file)
}

/// Compiles it in `at` to a library of the name that librandombytes has.
pub(super) fn build_shared(at: &Path) -> Result<(), Failure> {
    const NAME: &str = "librandombytes-kernel.so.1";
    let mut compile = program("cc");
    compile.args(["-O2", "-shared", "-fPIC", &format!("-Wl,-soname,{NAME}"), "-o"]).arg(at.join(NAME)).arg(source(at)?);
    quiet_step("compiling the stand-in for librandombytes", compile).map(drop)
}
