//! Users' own tables: read from a file and installed for the process.
//!
//! The library opens no file on its own. A program that wants a user's tables calls [`load_user`] at its start.

use super::{ARMS, PlanError, Plans};
use core::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Why a table could not be installed.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The file can't be read.
    Read {
        /// The file.
        path: String,
        /// What the system said.
        why: std::io::Error,
    },
    /// The file is not a table.
    Parse {
        /// The file.
        path: String,
        /// Where and why.
        mistake: PlanError,
    },
    /// This arm has a table already. Each arm's table can be installed once.
    Late {
        /// The arm.
        arm: &'static str,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, why } => write!(f, "cannot read plan table {path}: {why}"),
            Self::Parse { path, mistake } => write!(f, "plan table {path}, {mistake}"),
            Self::Late { arm } => {
                write!(f, "a plan table for arm {arm} is already installed; install each arm's table once")
            }
        }
    }
}

impl core::error::Error for LoadError {}

static INSTALLED: [OnceLock<Plans>; ARMS.len()] = [const { OnceLock::new() }; ARMS.len()];

/// The user's table for an arm, if one was installed.
#[inline]
pub fn installed(arm: &str) -> Option<&'static Plans> {
    let index = ARMS.iter().position(|(name, _)| *name == arm)?;
    INSTALLED[index].get()
}

/// Installs a table for its arm: multipliers made from now on use it.
///
/// # Errors
/// [`LoadError::Late`] if the arm has one already.
pub fn install(plans: Plans) -> Result<(), LoadError> {
    let arm = plans.arm();
    let index = ARMS.iter().position(|(name, _)| *name == arm).expect("tables are made only for known arms");
    INSTALLED[index].set(plans).map_err(|_| LoadError::Late { arm })
}

/// Reads a table. Its text is leaked, since installed tables live as long as the process.
///
/// # Errors
/// [`LoadError::Read`], [`LoadError::Parse`].
pub fn load(path: &Path) -> Result<Plans, LoadError> {
    let shown = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Plans::parse(text.leak()).map_err(|mistake| LoadError::Parse { path: shown, mistake }),
        Err(why) => Err(LoadError::Read { path: shown, why }),
    }
}

/// Installs the user's tables: the files that `CANDOR_GF2_PLANS` lists (separated as in `PATH`; empty for none), or, when it is not
/// set, those of `gf2-ARM.plan` that exist in `$XDG_CONFIG_HOME/candor` or `~/.config/candor`. Returns the paths of those installed.
///
/// # Errors
/// A file listed in `CANDOR_GF2_PLANS` is missing, or a file is not a table. Files before it are installed.
pub fn load_user() -> Result<Vec<PathBuf>, LoadError> {
    let paths: Vec<PathBuf> = match std::env::var_os("CANDOR_GF2_PLANS") {
        Some(list) => std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => user_directory().map_or_else(Vec::new, |directory| {
            let path = |(arm, _): &(&str, usize)| directory.join(format!("gf2-{arm}.plan"));
            ARMS.iter().map(path).filter(|path| path.is_file()).collect()
        }),
    };
    for path in &paths {
        install(load(path)?)?;
    }
    Ok(paths)
}

/// The default directory of users' tables.
pub(crate) fn user_directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(base.join("candor"))
}
