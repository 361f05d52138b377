#!/usr/bin/env python3
"""SHA-256 of Python's standard library as a subject of candor: candor run hash/sha256/1k --peer-program examples/programs/sha256.py"""

import hashlib
import json
import ssl
import sys

message = b""


def say(answer):
    print(json.dumps(answer, separators=(",", ":")), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    if "protocol" in request:
        if request["task"].startswith("hash/sha256/"):
            version = sys.version.split()[0]
            timed = "hashes one message that is already in memory, from start to digest, in one call of hashlib.sha256"
            say({"protocol": 1, "name": "hashlib", "version": version, "timed": timed, "build": ssl.OPENSSL_VERSION})
        else:
            say({"refused": "does SHA-256 of one message only"})
    elif "inputs" in request:
        message = bytes.fromhex(request["inputs"]["message"])
        say({"answers": {"answer": hashlib.sha256(message).hexdigest()}})
    elif "run" in request:
        for _ in range(request["run"]):
            hashlib.sha256(message).digest()
        say({"ran": request["run"]})
