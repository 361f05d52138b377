//! AWS-LC's ML-KEM-768 behind opaque-ke's own trait for KEMs.

use candor_primitives::kem::aws_lc::MlKem768;
use candor_primitives::kem::{Kem, KemError};
use opaque_ke::errors::ProtocolError;
use opaque_ke::generic_array::GenericArray;
use opaque_ke::generic_array::typenum::{Sum, U32, U64, U96, U128, U256, U1024, U2048};
use opaque_ke::key_exchange::tripledh_kem::KemCoreWrapper;
use opaque_ke::rand::{CryptoRng, RngCore};
use std::sync::Arc;
use zeroize::ZeroizeOnDrop;

/// The KEM. AWS-LC takes its randomness from its own generator, not from the one that opaque-ke hands over.
pub(super) struct AwsLc;

/// Shared: opaque-ke clones keys.
#[derive(Clone)]
pub(super) struct Public(Arc<<MlKem768 as Kem>::Public>);

#[derive(Clone)]
pub(super) struct Secret(Arc<<MlKem768 as Kem>::Secret>);

// AWS-LC wipes a key when it frees it.
impl ZeroizeOnDrop for Secret {}

type EncapsulationKeyLen = Sum<U1024, Sum<U128, U32>>;
type DecapsulationKeyLen = Sum<U2048, Sum<U256, U96>>;
type CiphertextLen = Sum<U1024, U64>;

fn failed(_: KemError) -> ProtocolError {
    ProtocolError::SerializationError
}

impl KemCoreWrapper for AwsLc {
    type EncapsulationKey = Public;
    type DecapsulationKey = Secret;
    type EncapsulationKeyLen = EncapsulationKeyLen;
    type DecapsulationKeyLen = DecapsulationKeyLen;
    type CiphertextLen = CiphertextLen;
    type SharedSecretLen = U32;

    fn generate<R: RngCore + CryptoRng>(_: &mut R) -> Result<(Secret, Public), ProtocolError> {
        let (secret, public) = MlKem768.generate().map_err(failed)?;
        Ok((Secret(Arc::new(secret)), Public(Arc::new(public))))
    }

    fn serialize_encapsulation_key(key: &Public) -> GenericArray<u8, EncapsulationKeyLen> {
        let mut bytes = GenericArray::default();
        MlKem768.public_to_bytes(&key.0, &mut bytes).expect("1184 bytes");
        bytes
    }

    fn deserialize_encapsulation_key(input: &mut &[u8]) -> Result<Public, ProtocolError> {
        let (bytes, rest) = input.split_at_checked(MlKem768::PUBLIC).ok_or(ProtocolError::SerializationError)?;
        *input = rest;
        Ok(Public(Arc::new(MlKem768.public_from_bytes(bytes).map_err(failed)?)))
    }

    fn serialize_decapsulation_key(key: &Secret) -> GenericArray<u8, DecapsulationKeyLen> {
        GenericArray::clone_from_slice(&MlKem768.secret_to_bytes(&key.0).expect("AWS-LC exports keys"))
    }

    fn deserialize_decapsulation_key(input: &mut &[u8]) -> Result<Secret, ProtocolError> {
        let (bytes, rest) = input.split_at_checked(MlKem768::SECRET).ok_or(ProtocolError::SerializationError)?;
        *input = rest;
        Ok(Secret(Arc::new(MlKem768.secret_from_bytes(bytes).map_err(failed)?)))
    }

    fn encapsulate<R: RngCore + CryptoRng>(
        key: &Public,
        _: &mut R,
    ) -> Result<(GenericArray<u8, CiphertextLen>, GenericArray<u8, U32>), ProtocolError> {
        let mut ciphertext = GenericArray::default();
        let shared = MlKem768.encapsulate(&key.0, &mut ciphertext).map_err(failed)?;
        Ok((ciphertext, GenericArray::clone_from_slice(shared.as_bytes())))
    }

    fn decapsulate(
        key: &Secret,
        ciphertext: &GenericArray<u8, CiphertextLen>,
    ) -> Result<GenericArray<u8, U32>, ProtocolError> {
        let shared = MlKem768.decapsulate(&key.0, ciphertext).map_err(failed)?;
        Ok(GenericArray::clone_from_slice(shared.as_bytes()))
    }
}
