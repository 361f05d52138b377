//! Why there is no testbed.

use std::io::ErrorKind;

/// Why there is no testbed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel does not let this process make namespaces.
    #[error(
        "can't make a network namespace: it needs CAP_SYS_ADMIN and CAP_NET_ADMIN; run as root, or in a user namespace of your own by \
         `unshare --user --map-root-user`"
    )]
    Namespace,
    /// The kernel does not let this process make TUN devices.
    #[error("can't make a TUN device: it needs CAP_NET_ADMIN and permission to open /dev/net/tun; run as root")]
    Device,
    /// There is no /dev/net/tun.
    #[error(
        "can't make a TUN device: /dev/net/tun is missing; load the kernel's module by `modprobe tun`, or make the file by \
         `mkdir -p /dev/net && mknod /dev/net/tun c 10 200`"
    )]
    NoDevice,
    /// The `ip` tool can't be run.
    #[error("can't set up a network namespace by `ip`: {0}; install iproute2, whose tool that is")]
    NoTool(std::io::Error),
    /// The `ip` tool says that something failed.
    #[error("can't set up a network namespace by `ip`, of iproute2: {0}")]
    Ip(String),
    /// Parameters of a network namespace can't be set.
    #[error(
        "can't set {parameter} of a network namespace: {why}; /proc/sys/net must be writable, which in some containers it is not"
    )]
    Parameter {
        /// Its place below /proc/sys/net.
        parameter: &'static str,
        /// What the system says.
        why: std::io::Error,
    },
    /// The topology has no way between two of its parts, or no such set.
    #[error(transparent)]
    Topology(#[from] candor_links::topology::TopologyError),
    /// Nothing carries packets any more.
    #[error("the emulator of links stopped, and no packet has arrived since: {0}")]
    Stopped(String),
    /// Something else that the system refuses.
    #[error("can't {what}: {why}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system says.
        why: std::io::Error,
    },
}

impl Error {
    /// The error of something that the system refuses.
    pub(crate) fn system(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |why| Self::System { what, why }
    }

    /// Whether this machine or this user can't have a testbed at all: tests then skip. What this crate asks for wrongly is no refusal.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Namespace | Self::Device | Self::NoDevice | Self::NoTool(_) => true,
            // By the words for EPERM, EACCES, EOPNOTSUPP and EROFS, which `ip` prints whatever the language is.
            Self::Ip(said) => REFUSALS.iter().any(|refusal| said.contains(refusal)),
            Self::Parameter { why, .. } => matches!(
                why.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::Unsupported
            ),
            Self::Topology(_) | Self::Stopped(_) | Self::System { .. } => false,
        }
    }
}

const REFUSALS: [&str; 4] =
    ["Operation not permitted", "Permission denied", "Operation not supported", "Read-only file system"];

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Error as Io;

    #[test]
    fn a_machine_that_refuses_is_told_from_a_mistake_of_ours() {
        let parameter = |number| Error::Parameter { parameter: "ipv4/x", why: Io::from_raw_os_error(number) };
        let said = |text: &str| Error::Ip(text.to_owned());
        let refusals = [
            Error::Namespace,
            Error::Device,
            Error::NoDevice,
            Error::NoTool(ErrorKind::NotFound.into()),
            said("RTNETLINK answers: Operation not permitted\nCommand failed -:1"),
            said("RTNETLINK answers: Operation not supported"),
            parameter(nix::libc::EROFS),
            parameter(nix::libc::EACCES),
            parameter(nix::libc::EPERM),
        ];
        for refusal in refusals {
            assert!(refusal.is_refusal(), "{refusal}");
        }
        let mistakes = [
            said("Error: either \"local\" is duplicate, or \"x\" is a garbage.\nCommand failed -:1"),
            said("Cannot find device \"tun7\""),
            // No such parameter, and a value that it does not take.
            parameter(nix::libc::ENOENT),
            parameter(nix::libc::EINVAL),
            Error::system("start a process")(ErrorKind::PermissionDenied.into()),
        ];
        for mistake in mistakes {
            assert!(!mistake.is_refusal(), "{mistake}");
        }
    }
}
