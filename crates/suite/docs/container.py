"""The container of container.md a second time, by Python's `cryptography` (48, on OpenSSL 4.0): it shares no code with candor.

    python3 container.py FOLDER      writes the containers and keys of fuzz/corpus/suite_container and suite_key_file

The tests of fuzz-bodies open what stands there, so that a change of the format, or a mistake that writer and reader share, is noticed.
"""

import os
import struct
import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mlkem, rsa, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

CHUNK = 65536
SEED = bytes([7]) * 64


def container(recipient, part, secret_of, cipher, message):
    salt = os.urandom(32)
    header = b"candor container" + bytes([1, recipient, cipher, 16]) + salt + part
    both = HKDF(hashes.SHA256(), 64, salt, b"candor container v1" + header).derive(secret_of(salt))
    key, commitment = both[:32], both[32:]
    aead = AESGCM(key) if cipher == 1 else ChaCha20Poly1305(key)
    chunks = [message[at : at + CHUNK] for at in range(0, len(message), CHUNK)] or [b""]
    sealed = header + commitment
    for number, chunk in enumerate(chunks):
        nonce = bytes(7) + struct.pack(">I", number) + bytes([number == len(chunks) - 1])
        sealed += aead.encrypt(nonce, chunk, None)
    return sealed


def to_key(message, cipher=1):
    secret, ciphertext = mlkem.MLKEM768PrivateKey.from_seed_bytes(SEED).public_key().encapsulate()
    return container(2, ciphertext, lambda salt: secret, cipher, message)


def to_password(message, password, memory=64, passes=1, lanes=1, cipher=2):
    part = struct.pack(">III", memory, passes, lanes)
    stretch = lambda salt: Argon2id(salt=salt, length=32, iterations=passes, lanes=lanes, memory_cost=memory).derive(password)
    return container(16, part, stretch, cipher, message)


def keys():
    scalar = int.from_bytes(bytes([7]) * 32, "big")
    yield "p256", ec.derive_private_key(scalar, ec.SECP256R1())
    yield "p384", ec.derive_private_key(scalar, ec.SECP384R1())
    yield "secp256k1", ec.derive_private_key(scalar, ec.SECP256K1())
    yield "ed25519", ed25519.Ed25519PrivateKey.from_private_bytes(SEED[:32])
    yield "x25519", x25519.X25519PrivateKey.from_private_bytes(SEED[:32])
    yield "ml-kem-768", mlkem.MLKEM768PrivateKey.from_seed_bytes(SEED)
    yield "ml-kem-1024", mlkem.MLKEM1024PrivateKey.from_seed_bytes(SEED)
    yield "rsa-2048", rsa.generate_private_key(65537, 2048)


def main(folder):
    def write(target, name, data):
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        with open(os.path.join(folder, target, name), "wb") as file:
            file.write(data)

    for name, message in [("empty", b""), ("short", b"a message"), ("two-chunks", bytes([5]) * 70000)]:
        write("suite_container", name, to_key(message))
    write("suite_container", "whole-chunk-chacha20", to_key(bytes([6]) * CHUNK, 2))
    write("suite_container", "password", to_password(b"a message", b"password"))
    none = serialization.NoEncryption()
    for name, key in keys():
        for encoding, ending in [(serialization.Encoding.DER, "der"), (serialization.Encoding.PEM, "pem")]:
            write("suite_key_file", f"{name}.{ending}", key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, none))
        public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        write("suite_key_file", f"{name}.pub", public)
        own = {"p256": "sec1.pem", "rsa-2048": "pkcs1.pem"}.get(name)
        if own:
            form = serialization.PrivateFormat.TraditionalOpenSSL
            write("suite_key_file", own, key.private_bytes(serialization.Encoding.PEM, form, none))
        if name == "rsa-2048":
            public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.PKCS1)
            write("suite_key_file", "pkcs1.pub", public)


main(sys.argv[1])
