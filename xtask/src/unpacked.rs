//! Other people's programs as Debian packages them, unpacked below `target/unpacked` for the tests: C tor, gf2x, NTL and Slurm.
//!
//! Nothing is installed: no package script runs, so tor's service never starts, and the system's own libraries stay as they are.

use crate::Failure;
use crate::install;
use crate::peers::debian::{Apt, entries};
use crate::peers::{make_directory, quiet_step, write, write_provenance};
use crate::stage::program;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// C tor, behind a script that tells the loader where its libraries are, with another of the kind for its `tor-gencert` beside it. The path of the first.
///
/// # Errors
/// Why there is no tor to test against here.
pub(crate) fn tor(target: &Path) -> Result<PathBuf, Failure> {
    let at = folder(target, "tor")?;
    let apt = Apt::at(&at)?;
    let root = at.join("root");
    let version = apt.unpack_with_libraries("tor", &root)?;
    let folders: Vec<String> = library_folders(&root).iter().map(|folder| quoted(folder)).collect();
    for name in ["tor", "tor-gencert"] {
        let script = at.join(name);
        let text = format!(
            "#!/bin/sh\nLD_LIBRARY_PATH={}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} exec {} \"$@\"\n",
            folders.join(":"),
            quoted(&root.join("usr/bin").join(name))
        );
        write(&script, &text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
            .map_err(|error| format!("cannot make {} executable: {error}", script.display()))?;
    }
    let script = at.join("tor");
    let mut asked = program(&script);
    asked.arg("--version");
    let said = quiet_step("starting tor", asked)?;
    println!("tor {version}: {}", said.lines().next().unwrap_or_default());
    Ok(script)
}

/// Debian's gf2x, and Debian's NTL behind the same shim as the tuned one: folders for `CANDOR_PEERS`.
///
/// # Errors
/// Why there is nothing to compare with here.
pub(crate) fn gf2(target: &Path) -> Result<[PathBuf; 2], Failure> {
    install::packages(&["g++"])?;
    let at = folder(target, "gf2")?;
    let apt = Apt::at(&at)?;
    let root = at.join("root");
    let gf2x_version = apt.unpack_with_libraries("libgf2x3", &root)?;
    let ntl_version = apt.unpack_with_libraries("libntl-dev", &root)?;
    let library = |name: &str| {
        let folders = library_folders(&root);
        let mut found = folders.iter().map(|folder| folder.join(name)).filter(|path| path.exists());
        found.next().ok_or_else(|| format!("Debian's packages hold no {name}"))
    };

    let (gf2x, ntl) = (at.join("gf2x"), at.join("ntl"));
    make_directory(&gf2x)?;
    make_directory(&ntl)?;
    let from = library("libgf2x.so.3")?;
    fs::copy(&from, gf2x.join("libgf2x.so.3")).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    let field = |version: &str| format!("Debian's own package, {version}");
    write_provenance(&gf2x, &[("variant", "debian"), ("build", &field(&gf2x_version))])?;

    let shim = at.join("ntl.cpp");
    write(&shim, include_str!("peers/shims/ntl.cpp"))?;
    let mut compile = program("c++");
    compile.args(["-O1", "-shared", "-fPIC", "-o"]).arg(ntl.join("libcandor-ntl.so.1")).arg(&shim);
    compile.arg("-I").arg(root.join("usr/include")).arg(library("libntl.so")?);
    // DT_RPATH and not DT_RUNPATH: it also serves the libraries that NTL itself wants.
    compile.arg("-Wl,--disable-new-dtags");
    for folder in library_folders(&root) {
        compile.arg(format!("-Wl,-rpath,{0},-rpath-link,{0}", folder.display()));
    }
    quiet_step("compiling the shim over Debian's NTL", compile)?;
    write_provenance(&ntl, &[("variant", "debian"), ("build", &field(&ntl_version))])?;
    Ok([gf2x, ntl])
}

/// Slurm, for `CANDOR_SLURM`: a folder with its programs, and those of MUNGE, which it needs.
///
/// # Errors
/// Why there is no Slurm to test under here.
pub(crate) fn slurm(target: &Path) -> Result<PathBuf, Failure> {
    let at = folder(target, "slurm")?;
    let apt = Apt::at(&at)?;
    let root = at.join("root");
    for package in ["munge", "slurm-wlm-basic-plugins", "slurm-client", "slurmctld", "slurmd"] {
        let version = apt.unpack_with_libraries(package, &root)?;
        println!("{package} {version}");
    }
    Ok(root)
}

/// An empty folder of its own.
fn folder(target: &Path, name: &str) -> Result<PathBuf, Failure> {
    let at = target.join("unpacked").join(name);
    let _ = fs::remove_dir_all(&at);
    make_directory(&at)?;
    at.canonicalize().map_err(|error| format!("{}: {error}", at.display()))
}

/// The folders below `root` that hold shared objects.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    let below = |folder: &str| entries(&root.join(folder), |name| name.ends_with("-linux-gnu")).unwrap_or_default();
    [below("usr/lib"), below("lib")].concat()
}

/// The path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        let path = Path::new("/a b/it's $HOME");
        let mut echo = program("sh");
        echo.args(["-c", &format!("printf %s {}", quoted(path))]);
        assert_eq!(String::from_utf8(echo.output().unwrap().stdout).unwrap(), path.display().to_string());
    }
}
