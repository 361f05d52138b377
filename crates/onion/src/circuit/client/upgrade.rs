//! The client's end of the in-circuit upgrade (`docs/upgrade.md`).

use super::{ClientAction, ClientCircuit};
use crate::cell::DestroyReason;
use crate::circuit::Cause;
use crate::handshake::{Chain, Upgrade, Upgraded};
use crate::relay::RelayCommand;
use crate::{Error, PeerMisbehaved};
use candor_primitives::kem::Kem;
use std::mem;
use std::time::Instant;

/// How far the upgrade of the last hop has come.
#[derive(Default)]
pub(super) enum State {
    /// The hop has agreed to none.
    #[default]
    None,
    Agreed(Chain),
    Waiting {
        finish: Finish,
        deadline: Instant,
    },
    Done,
}

/// The client's last step, with its type erased.
type Finish = Box<dyn FnOnce(&[u8]) -> Result<Upgraded, Error> + Send>;

impl State {
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Waiting { deadline, .. } => Some(*deadline),
            _ => None,
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::Waiting { .. })
    }
}

impl ClientCircuit {
    /// Whether the last hop has agreed to an upgrade that has not begun.
    pub fn can_upgrade(&self) -> bool {
        matches!(self.upgrade, State::Agreed(_)) && !self.closed
    }

    /// Whether the last hop's layer has the keys of an upgrade, in both directions.
    pub fn is_upgraded(&self) -> bool {
        matches!(self.upgrade, State::Done)
    }

    /// Begins the upgrade of the last hop: [`ClientAction::Upgraded`] follows. Streams go on meanwhile; what they carry until then is under the old keys. The
    /// circuit can't be extended before the upgrade is done, and has no second one.
    ///
    /// # Errors
    /// [`Error::NotNow`] if the hop has not agreed, the upgrade has begun, or a hop is being added; [`Error::NoNumber`] for a KEM without a suite;
    /// [`Error::Kem`].
    pub fn upgrade<K>(&mut self, kem: &K, now: Instant) -> Result<(), Error>
    where
        K: Kem + Clone + Send + 'static,
        K::Secret: Send,
    {
        self.check_open()?;
        if self.pending.is_some() {
            return Err(Error::NotNow("a hop is being added"));
        }
        if !self.can_upgrade() {
            return Err(Error::NotNow("last hop has not agreed to an upgrade, or its upgrade has begun"));
        }
        let (client, request) = Upgrade::new(kem.clone())?.start()?;
        let State::Agreed(chain) = mem::take(&mut self.upgrade) else { unreachable!("checked above") };
        let deadline = now + self.limits.build;
        self.upgrade = State::Waiting { finish: Box::new(move |reply| client.finish(chain, reply)), deadline };
        self.with_last(|conversation, send| {
            conversation.long_message(RelayCommand::UPGRADE, &request, false, 1, send).map(drop)
        })
    }

    /// Handles the last hop's UPGRADED: that was its last cell under the old keys.
    pub(super) fn on_upgraded(&mut self, reply: &[u8]) {
        let hop = self.hops.len();
        let State::Waiting { finish, .. } = mem::take(&mut self.upgrade) else {
            let command = RelayCommand::UPGRADED;
            return self.break_off(Some(hop), PeerMisbehaved::UpgradeOutOfTurn { command }.into());
        };
        match finish(reply).and_then(|upgraded| self.switch(&upgraded)) {
            Ok(()) => {
                self.upgrade = State::Done;
                self.actions.push_back(ClientAction::Upgraded { hop });
            }
            Err(Error::Randomness) => {} // the circuit is closed
            Err(error) => self.end(Some(hop), Cause::Handshake(error), Some(DestroyReason::PROTOCOL)),
        }
    }

    /// Sends UPGRADED as the last cell under the old keys.
    fn switch(&mut self, upgraded: &Upgraded) -> Result<(), Error> {
        let layer = self.onion.last().expect("there is a hop");
        let [out, back] = layer.crypto().fresh(&upgraded.keys)?;
        layer.replace(&back)?;
        let confirmation = upgraded.confirmation.as_bytes();
        self.with_last(|conversation, send| {
            conversation.long_message(RelayCommand::UPGRADED, confirmation, false, 1, send)
        })?;
        self.onion.last().expect("there is a hop").replace(&out)
    }
}
