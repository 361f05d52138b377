"""The container of container.md a second time, by Python's `cryptography` (48, on OpenSSL 4.0) and the program `openssl`: it shares no code with candor.

    python3 container.py FOLDER      writes the containers and keys of fuzz/corpus/suite_container and suite_key_file

Keys of RSA and SM2 that stand there are kept. The tests of fuzz-bodies open what stands there, so that a change of the format, or a mistake that writer and reader
share, is noticed.
"""

import os
import struct
import subprocess
import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mlkem, padding, rsa, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

CHUNK = 65536
SEED = bytes([7]) * 64
LABEL = b"candor container v1"
Encoding, Public = serialization.Encoding, serialization.PublicFormat


def container(recipient, part, secret_of, cipher, message, public=b""):
    salt = os.urandom(32)
    header = b"candor container" + bytes([1, recipient, cipher, 16]) + salt + part
    both = HKDF(hashes.SHA256(), 64, salt, LABEL + header + public).derive(secret_of(salt))
    key, commitment = both[:32], both[32:]
    aead = AESGCM(key) if cipher == 1 else ChaCha20Poly1305(key)
    chunks = [message[at : at + CHUNK] for at in range(0, len(message), CHUNK)] or [b""]
    sealed = header + commitment
    for number, chunk in enumerate(chunks):
        nonce = bytes(7) + struct.pack(">I", number) + bytes([number == len(chunks) - 1])
        sealed += aead.encrypt(nonce, chunk, None)
    return sealed


def to_ml_kem(message, cipher=1):
    secret, ciphertext = mlkem.MLKEM768PrivateKey.from_seed_bytes(SEED).public_key().encapsulate()
    return container(2, ciphertext, lambda salt: secret, cipher, message)


def to_x25519(key, message, cipher=1):
    ephemeral, to = x25519.X25519PrivateKey.generate(), key.public_key()
    secret = ephemeral.exchange(to)
    return container(4, ephemeral.public_key().public_bytes_raw(), lambda salt: secret, cipher, message, to.public_bytes_raw())


def to_curve(recipient, key, message, cipher=1):
    ephemeral, to = ec.generate_private_key(key.curve), key.public_key()
    point = lambda public: public.public_bytes(Encoding.X962, Public.UncompressedPoint)
    secret = ephemeral.exchange(ec.ECDH(), to)
    return container(recipient, point(ephemeral.public_key()), lambda salt: secret, cipher, message, point(to))


def to_rsa(key, message, cipher=1):
    secret, sha256 = os.urandom(32), hashes.SHA256()
    part = key.public_key().encrypt(secret, padding.OAEP(padding.MGF1(sha256), sha256, LABEL))
    return container(8, part, lambda salt: secret, cipher, message)


def openssl(*words, data=b""):
    return subprocess.run(["openssl", *words], input=data, capture_output=True, check=True).stdout


def elements(der):
    """The contents of what a sequence in DER holds."""

    def element(at):
        length, at = der[at + 1], at + 2
        if length > 127:
            end = at + length - 128
            length, at = int.from_bytes(der[at:end], "big"), end
        return at, at + length

    at, end = element(0)
    found = []
    while at < end:
        begin, at = element(at)
        found.append(der[begin:at])
    return found


def to_sm2(path, message, cipher=1):
    secret = os.urandom(32)
    x, y, digest, encrypted = elements(openssl("pkeyutl", "-encrypt", "-pubin", "-inkey", path, "-keyform", "DER", data=secret))
    fixed = lambda number: int.from_bytes(number, "big").to_bytes(32, "big")
    return container(11, b"\x04" + fixed(x) + fixed(y) + digest + encrypted, lambda salt: secret, cipher, message)


def to_password(message, password, memory=64, passes=1, lanes=1, cipher=2):
    part = struct.pack(">III", memory, passes, lanes)
    stretch = lambda salt: Argon2id(salt=salt, length=32, iterations=passes, lanes=lanes, memory_cost=memory).derive(password)
    return container(16, part, stretch, cipher, message)


def keys(kept_rsa):
    scalar = int.from_bytes(bytes([7]) * 32, "big")
    yield "p256", ec.derive_private_key(scalar, ec.SECP256R1())
    yield "p384", ec.derive_private_key(scalar, ec.SECP384R1())
    yield "secp256k1", ec.derive_private_key(scalar, ec.SECP256K1())
    yield "ed25519", ed25519.Ed25519PrivateKey.from_private_bytes(SEED[:32])
    yield "x25519", x25519.X25519PrivateKey.from_private_bytes(SEED[:32])
    yield "ml-kem-768", mlkem.MLKEM768PrivateKey.from_seed_bytes(SEED)
    yield "ml-kem-1024", mlkem.MLKEM1024PrivateKey.from_seed_bytes(SEED)
    yield "rsa-2048", kept_rsa


def main(folder):
    place = lambda target, name: os.path.join(folder, target, name)
    os.makedirs(place("suite_container", ""), exist_ok=True)
    os.makedirs(place("suite_key_file", ""), exist_ok=True)

    def write(target, name, data):
        with open(place(target, name), "wb") as file:
            file.write(data)

    def read(target, name):
        with open(place(target, name), "rb") as file:
            return file.read()

    none = serialization.NoEncryption()
    if os.path.exists(place("suite_key_file", "rsa-2048.der")):
        kept_rsa = serialization.load_der_private_key(read("suite_key_file", "rsa-2048.der"), None)
    else:
        kept_rsa = rsa.generate_private_key(65537, 2048)
    named = dict(keys(kept_rsa))
    for name, key in named.items():
        for encoding, ending in [(Encoding.DER, "der"), (Encoding.PEM, "pem")]:
            write("suite_key_file", f"{name}.{ending}", key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, none))
        write("suite_key_file", f"{name}.pub", key.public_key().public_bytes(Encoding.DER, Public.SubjectPublicKeyInfo))
        own = {"p256": "sec1.pem", "rsa-2048": "pkcs1.pem"}.get(name)
        if own:
            form = serialization.PrivateFormat.TraditionalOpenSSL
            write("suite_key_file", own, key.private_bytes(Encoding.PEM, form, none))
        if name == "rsa-2048":
            write("suite_key_file", "pkcs1.pub", key.public_key().public_bytes(Encoding.DER, Public.PKCS1))
    # `cryptography` has no SM2.
    if not os.path.exists(place("suite_key_file", "sm2.pem")):
        write("suite_key_file", "sm2.pem", openssl("genpkey", "-algorithm", "SM2"))
    secret = read("suite_key_file", "sm2.pem")
    write("suite_key_file", "sm2.der", openssl("pkey", "-outform", "DER", data=secret))
    write("suite_key_file", "sm2.pub", openssl("pkey", "-pubout", "-outform", "DER", data=secret))

    for name, message in [("empty", b""), ("short", b"a message"), ("two-chunks", bytes([5]) * 70000)]:
        write("suite_container", name, to_ml_kem(message))
    write("suite_container", "whole-chunk-chacha20", to_ml_kem(bytes([6]) * CHUNK, 2))
    write("suite_container", "password", to_password(b"a message", b"password"))
    write("suite_container", "x25519", to_x25519(named["x25519"], b"a message to X25519"))
    for recipient, name in [(5, "p256"), (6, "p384"), (7, "secp256k1")]:
        write("suite_container", name, to_curve(recipient, named[name], b"a message to " + name.encode(), 2))
    write("suite_container", "rsa-2048", to_rsa(named["rsa-2048"], b"a message to RSA"))
    write("suite_container", "sm2", to_sm2(place("suite_key_file", "sm2.pub"), b"a message to SM2"))


main(sys.argv[1])
