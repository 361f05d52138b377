//! Why there is no testbed.

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
    /// The `ip` tool is missing or refuses.
    #[error("can't set up a network namespace by `ip`, of iproute2: {0}")]
    Ip(String),
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

    /// Whether this machine or this user can't have a testbed at all: tests then skip.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Namespace | Self::Device | Self::NoDevice)
    }
}
