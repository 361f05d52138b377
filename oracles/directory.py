#!/usr/bin/env python3
"""Writes vectors/directory.json: the directory's documents up to their signatures, encoded by crates/onion/docs/directory.md alone.

A second writer, so that a mistake that candor's encoder and decoder share doesn't go unnoticed. Needs Python 3 and nothing else:

    python3 oracles/directory.py > vectors/directory.json
"""

import hashlib
import ipaddress
import json


def number(value, size):
    return value.to_bytes(size, "big")


def counted(items):
    return number(len(items), 1) + b"".join(items)


def address(text):
    ip = ipaddress.ip_address(text)
    return number(ip.version, 1) + ip.packed


def rule(host, low, high):
    if host in ("public", "private"):
        head = number(["public", "private"].index(host), 1)
    else:
        network = ipaddress.ip_network(host)
        head = address(network.network_address) + number(network.prefixlen, 1)
    return head + number(low, 2) + number(high, 2)


def relay(r):
    kems = [bytes.fromhex(k) if k else None for k in r["kems"]]
    out = bytes.fromhex(r["identity"]) + bytes.fromhex(r["fingerprint"]) + bytes.fromhex(r["x25519"])
    out += number(sum(1 << i for i, k in enumerate(kems) if k), 1) + b"".join(k for k in kems if k)
    out += number(r["published"], 8) + number(r["keys_until"], 8) + number(r["bandwidth"], 4)
    out += counted([number(h, 2) for h in r["handshakes"]])
    out += counted([address(a) + number(p, 2) for a, p in r["addresses"]])
    out += counted([rule(*x) for x in r["exit"]])
    return out + number(len(r["name"]), 1) + r["name"].encode("ascii")


def byte(value, length=32):
    return (bytes([value]) * length).hex()


ADA = {
    "identity": byte(0x11), "fingerprint": byte(0xA1), "x25519": byte(0xB1), "kems": [None, byte(0xC1), byte(0xC2)],
    "published": 1800000000, "keys_until": 1803024000, "bandwidth": 12500, "handshakes": [2, 3, 0xFF68, 0xFF78],
    "addresses": [["192.0.2.1", 9001], ["2001:db8::1", 9002]],
    "exit": [["public", 80, 443], ["private", 1, 65535], ["10.0.0.0/8", 22, 22], ["2001:db8::/32", 25, 26]], "name": "ada",
}
BOB = {
    "identity": byte(0x22), "fingerprint": byte(0xA2), "x25519": byte(0xB2), "kems": [None, None, None],
    "published": 1800000001, "keys_until": 1800000002, "bandwidth": 0xFFFFFFFF, "handshakes": [3],
    "addresses": [["2001:db8::2", 1]], "exit": [], "name": "",
}
CYD = dict(BOB, identity=byte(0x33), kems=[byte(0xC3), None, None], bandwidth=100, name="~ cyd !")
FAMILIES = [[byte(0x22)], [byte(0x11), byte(0x99)], []]
TIMES = [1800003600, 1800007200, 1800014400]

times = b"".join(number(t, 8) for t in TIMES)
view = b"candor view 1\n" + times + number(3, 4)
for r, family in zip([ADA, BOB, CYD], FAMILIES):
    view += relay(r) + counted([bytes.fromhex(f) for f in family])

# No bandwidth counts as more than four times the median.
said = [r["bandwidth"] for r in (ADA, BOB, CYD)]
total = sum(min(b, 4 * sorted(said)[1]) for b in said)
exits = min(ADA["bandwidth"], 4 * sorted(said)[1])
third = -(-total // 3)
weight = (exits - third) * 10000 // exits if exits >= third else 0
consensus = b"candor consensus 1\n" + times + number(weight, 2) + number(3, 4)
for r, group in zip([ADA, BOB, CYD], [1, 1, 0]):
    consensus += relay(r) + number(group, 2)

LABELS = ["candor relay descriptor 1", "candor authority certificate 1", "candor directory view 1", "candor consensus 1"]
seed = bytes(range(32))

print(json.dumps({
    "relays": [dict(r, encoded=relay(r).hex()) for r in (ADA, BOB, CYD)],
    "families": FAMILIES,
    "times": TIMES,
    "view_body": view.hex(),
    "consensus_body": consensus.hex(),
    "consensus_digest": hashlib.sha512(consensus).hexdigest(),
    "signed": {label: (label.encode() + b"\0" + hashlib.sha512(consensus).digest()).hex() for label in LABELS},
    "fingerprint": {"public": byte(0x55, 1984), "fingerprint": hashlib.sha256(bytes([0x55]) * 1984).hexdigest()},
    "ml_dsa_seed": {"identity": seed.hex(),
                    "seed": hashlib.sha3_256(b"candor relay ml-dsa-65 seed\0" + seed).hexdigest()},
}, indent=1))
