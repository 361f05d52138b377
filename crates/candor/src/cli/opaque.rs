//! The flags of `candor opaque`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum OpaqueCommand {
    /// Register and log in, and show every message with its size and what an eavesdropper sees
    ///
    /// Client and server run in this process. The demo registers a user, logs in twice, tries a wrong password and a name without an
    /// account, and then says what the recorded logins are worth to an eavesdropper, today and after the curve is broken.
    #[command(after_help = "Example:\n  candor opaque demo --suite rfc9807")]
    Demo(DemoArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// The suite to log in with
    #[arg(long, value_enum, default_value_t)]
    pub(crate) suite: DemoSuite,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum DemoSuite {
    /// OPAQUE with ML-KEM-768, which also encrypts the server's answer
    #[default]
    Hybrid,
    /// OPAQUE as RFC 9807 has it
    Rfc9807,
}
