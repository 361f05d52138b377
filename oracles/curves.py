#!/usr/bin/env python3
"""Writes vectors/curve-edges.json: signatures whose nonce point has an x of n or more, or a small one, without our code.

The point R comes first, by its x; r, s and the digest are chosen, and the public key is the one for which the verifier arrives at R. A signature is valid
if r is what the standard makes of x, and invalid if it is x + p - n, which a verifier takes for x if it adds n to r without asking whether the sum is below p.
"""
import hashlib
import json

CURVES = {
    "P-256": (
        2**256 - 2**224 + 2**192 + 2**96 - 1, -3,
        0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
        0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
        0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
        0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    ),
    "P-384": (
        2**384 - 2**128 - 2**96 + 2**32 - 1, -3,
        0xB3312FA7E23EE7E4988E056BE3F82D19181D9C6EFE8141120314088F5013875AC656398D8A2ED19D2A85C8EDD3EC2AEF,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
        0xAA87CA22BE8B05378EB1C71EF320AD746E1D3B628BA79B9859F741E082542A385502F25DBF55296C3A545E3872760AB7,
        0x3617DE4A96262C6F5D9E98BF9292DC29F8F41DBD289A147CE9DA3113B5F0B8C00A60B1CE1D7E819D7A431D7C90EA0E5F,
    ),
    "secp256k1": (
        2**256 - 2**32 - 977, 0, 7,
        0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
        0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
        0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
    ),
    "SM2": (
        2**256 - 2**224 - 2**96 + 2**64 - 1, -3,
        0x28E9FA9E9D9F5E344D5A9E4BCF6509A7F39789F515AB8F92DDBCBD414D940E93,
        0xFFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFF7203DF6B21C6052B53BBF40939D54123,
        0x32C4AE2C1F1981195F9904466A39C9948FE30BBFF2660BE1715A4589334C74C7,
        0xBC3736A2F4F6779C59BDCEE36B692153D0A9877CC62A474002DF32E52139F0A0,
    ),
}


def plus(P, Q, p, a):
    if P is None or Q is None:
        return P or Q
    if P[0] == Q[0] and (P[1] + Q[1]) % p == 0:
        return None
    slope = (3 * P[0] ** 2 + a) * pow(2 * P[1], -1, p) if P == Q else (Q[1] - P[1]) * pow(Q[0] - P[0], -1, p)
    x = (slope**2 - P[0] - Q[0]) % p
    return x, (slope * (P[0] - x) - P[1]) % p


def times(k, P, p, a):
    total = None
    for bit in bin(k)[2:]:
        total = plus(total, total, p, a)
        if bit == "1":
            total = plus(total, P, p, a)
    return total


def opposite(P, p):
    return P[0], -P[1] % p


def vectors(name):
    p, a, b, n, gx, gy = CURVES[name]
    length = (n.bit_length() + 7) // 8
    count = 0

    def number(below):
        nonlocal count
        count += 1
        seed = hashlib.shake_256(f"{name} {count}".encode()).digest(2 * length)
        return int.from_bytes(seed, "big") % (below - 1) + 1

    def point(x):
        square = (x**3 + a * x + b) % p
        y = pow(square, (p + 1) // 4, p)
        return (x, y) if y * y % p == square else None

    def hexadecimal(value):
        return value.to_bytes(length, "big").hex()

    def vector(x, taken, valid):
        R, s = point(x), number(n)
        if name == "SM2":
            # r = e + x, and R = sG + (r + s)P.
            r = number(n)
            e, of_base, of_key = (r - taken) % n, s, (r + s) % n
        else:
            # r = x, and R = (e/s)G + (r/s)P.
            r, e = taken % n, number(2**200)
            of_base, of_key = e * pow(s, -1, n) % n, r * pow(s, -1, n) % n
        rest = plus(R, opposite(times(of_base, (gx, gy), p, a), p), p, a)
        public = times(pow(of_key, -1, n), rest, p, a)
        return {
            "curve": name, "x": hexadecimal(x), "digest": hexadecimal(e), "signature": hexadecimal(r) + hexadecimal(s),
            "public": "04" + hexadecimal(public[0]) + hexadecimal(public[1]), "valid": valid,
        }

    large = [x for x in range(n + 1, n + 60) if point(x)][:3] + [x for x in range(p - 1, p - 60, -1) if point(x)][:1]
    small = [x for x in range(1, 60) if point(x) and x + p - n < n][:3]
    valid = [vector(x, x, True) for x in large + small]
    return valid + [vector(x, x + p - n, False) for x in small]


if __name__ == "__main__":
    text = json.dumps([vector for name in CURVES for vector in vectors(name)], indent=1)
    with open("vectors/curve-edges.json", "w", encoding="ascii") as file:
        file.write(text + "\n")
