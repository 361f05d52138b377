"""The suite from Python, by ctypes: python3 hello.py PATH-OF-LIBRARY"""

import ctypes
import sys

candor = ctypes.CDLL(sys.argv[1])
candor.candor_message.restype = ctypes.c_char_p
Handle, Size = ctypes.c_uint64, ctypes.c_size_t
SHA256, P256, AUTHENTICATION, BUFFER = 1, 1, 9, 6


def call(name, *arguments):
    status = getattr(candor, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name}: {candor.candor_message(status).decode()}")


def output(name, *arguments):
    """Asks for the length, then for the bytes."""
    length = Size()
    status = getattr(candor, name)(*arguments, None, Size(0), ctypes.byref(length))
    if status != BUFFER:
        raise RuntimeError(f"{name}: {candor.candor_message(status).decode()}")
    buffer = ctypes.create_string_buffer(length.value)
    call(name, *arguments, buffer, Size(len(buffer)), ctypes.byref(length))
    return buffer.raw[: length.value]


print("sha256", output("candor_hash", SHA256, b"abc", Size(3)).hex())

secret, public = Handle(), Handle()
call("candor_secret_generate", P256, ctypes.byref(secret))
call("candor_secret_public", secret, ctypes.byref(public))
message = b"a contract"
signature = output("candor_sign", secret, 0, None, Size(0), message, Size(len(message)))


def verify(message):
    return candor.candor_verify(
        public, 0, None, Size(0), message, Size(len(message)), signature, Size(len(signature))
    )


assert verify(message) == 0 and verify(b"another") == AUTHENTICATION
print("p256 verified")
print(output("candor_public_to_pem", public).decode().splitlines()[0])

call("candor_free", secret)
call("candor_free", public)
assert candor.candor_free(public) == 2, "freed twice: said, and harmless"
