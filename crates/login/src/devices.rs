//! Known devices: those from which an account's owner has logged in before.
//!
//! A device gets a proof: its identifier and 32 random bytes, of which the database has a hash. It becomes known together with a session, or neither is stored. A login that
//! begins with the proof does not wait when strangers guess at the account. That is all it is good for; whoever steals it still needs the password, and may not guess faster
//! than [`GuessLimits::device`](crate::throttle::GuessLimits::device) says.

use crate::ids::{AccountId, DeviceId, NoRandomness, Purpose, TokenHash, random};
use crate::store::{Account, NewDevice, Store, StoreError};
use crate::time::UnixTime;
use zeroize::Zeroizing;

/// Bytes of a proof.
pub(crate) const PROOF: usize = 16 + SECRET;
const SECRET: usize = 32;
/// Seconds for which a device's last use is not written down again.
const USE_STEP: i64 = 24 * 3600;

/// The device of `account` that this proves to be, if it does. Where there is no account or no such device, the same look-up finds nothing.
pub(crate) async fn known(
    store: &Store,
    account: Option<&Account>,
    proof: Option<&[u8; PROOF]>,
) -> Result<Option<DeviceId>, StoreError> {
    let Some((id, secret)) = proof.and_then(|proof| proof.split_first_chunk::<16>()) else { return Ok(None) };
    let owner = account.map_or(AccountId([0; 16]), |account| account.id);
    let device = store.device(owner, DeviceId(*id)).await?;
    let hash = TokenHash::of(Purpose::Device, secret);
    Ok(device.filter(|device| device.proof == hash).map(|device| device.id))
}

/// A device to make known, and its proof.
pub(crate) fn fresh() -> Result<(NewDevice, Zeroizing<[u8; PROOF]>), NoRandomness> {
    let (id, secret) = (DeviceId::generate()?, Zeroizing::new(random::<SECRET>()?));
    let mut proof = Zeroizing::new([0; PROOF]);
    proof[..16].copy_from_slice(&id.0);
    proof[16..].copy_from_slice(secret.as_slice());
    Ok((NewDevice { id, proof: TokenHash::of(Purpose::Device, secret.as_slice()) }, proof))
}

/// Notes that a device was used, once a day.
pub(crate) async fn used(store: &Store, account: AccountId, device: DeviceId, now: UnixTime) -> Result<(), StoreError> {
    match store.device(account, device).await? {
        Some(device) if device.used.plus(USE_STEP) <= now => store.mark_device_used(device.id, now).await,
        _ => Ok(()),
    }
}
