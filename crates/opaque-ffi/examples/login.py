"""Registers an account and logs in, from Python by ctypes: python3 login.py PATH-OF-LIBRARY"""

# Python's bytes and str can't be wiped: passwords and keys stay in memory until it is used again. A program that minds uses ctypes buffers and ctypes.memset.

import ctypes
import hmac
import sys

candor = ctypes.CDLL(sys.argv[1])
candor.candor_opaque_message.restype = ctypes.c_char_p
Handle, Size = ctypes.c_uint64, ctypes.c_size_t
HYBRID, TEXT, BUFFER, LOGIN = 3, 1, 6, 9
MESSAGE, KSF, SESSION_KEY, RECORD = 1, 2, 4, 8


class Parties(ctypes.Structure):
    _fields_ = [
        (name + suffix, kind)
        for name in ("context", "client", "server")
        for suffix, kind in (("", ctypes.c_char_p), ("_length", Size))
    ]


class Refused(Exception):
    def __init__(self, status):
        super().__init__(candor.candor_opaque_message(status).decode())
        self.status = status


class Object:
    """What a step makes; freed with its last reference."""

    def __init__(self, step, *arguments):
        self.handle = Handle()
        status = getattr(candor, "candor_opaque_" + step)(*passed(arguments), ctypes.byref(self.handle))
        if status != 0:
            raise Refused(status)

    def __getitem__(self, part):
        length = Size()
        status = candor.candor_opaque_bytes(self.handle, part, None, Size(0), ctypes.byref(length))
        if status != BUFFER:
            raise Refused(status)
        buffer = ctypes.create_string_buffer(length.value)
        status = candor.candor_opaque_bytes(self.handle, part, buffer, length, ctypes.byref(length))
        if status != 0:
            raise Refused(status)
        return buffer.raw

    def __del__(self):
        candor.candor_opaque_free(self.handle)


def passed(arguments):
    """Bytes are a pointer and a length, None is no bytes."""
    for argument in arguments:
        if argument is None or isinstance(argument, bytes):
            yield argument
            yield Size(0 if argument is None else len(argument))
        elif isinstance(argument, Object):
            yield argument.handle
        elif isinstance(argument, Parties):
            yield ctypes.byref(argument)
        else:
            yield argument


context = b"example.org login 1"
parties = Parties(context=context, context_length=len(context))
server = Object("server_generate", HYBRID, None)
client = Object("client_new", HYBRID, None, ctypes.c_void_p())

# Once: the client's upload becomes the record that the server stores.
asked = Object("client_start_registration", client, TEXT, "correct horse".encode())
answered = Object("server_start_registration", server, asked[MESSAGE])
registered = Object("client_finish_registration", asked, answered[MESSAGE], answered[KSF], parties)
change = Object("server_finish_registration", answered, registered[MESSAGE])
record = change[RECORD]
print(f"registered: a record of {len(record)} bytes")


def login(password):
    """At every login: KE1, KE2, KE3."""
    started = Object("client_start_login", client, TEXT, password.encode())
    answer = Object("server_start_login", server, started[MESSAGE], b"alice", record, parties)
    done = Object("client_finish_login", started, answer[MESSAGE], answer[KSF], parties)
    session = Object("server_finish_login", answer, done[MESSAGE], record)
    return hmac.compare_digest(done[SESSION_KEY], session[SESSION_KEY])


assert login("correct horse")
print("logged in: both sides have the same key")
try:
    login("wrong horse")
    raise SystemExit("a wrong password was taken")
except Refused as refused:
    assert refused.status == LOGIN
    print(refused)
