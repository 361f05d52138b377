/**
 * OPAQUE in four suites, written from RFC 9807 (`rfc9807`) and from crates/opaque/docs/hybrid.md (`hybrid`, `hybrid-pinned`), without a look at the code in Rust. That part of
 * `hybrid-compat` which neither says is older than the §8 that now specifies it; README.md says more.
 */
import { randomBytes } from 'node:crypto';
import { Refused } from './lines.js';
import {
  blind, concat, cut, deriveKeyPair, element, evaluate, expand, extract, finalize, hash, kem, mac, product, publicKey, same, stretch, text, vec, xor,
} from './primitives.js';

/** @typedef {import('./primitives.js').Bytes} Bytes */
/** @typedef {import('./primitives.js').Random} Random */
/** @typedef {{ context: Bytes, client: Bytes | null, server: Bytes | null }} Parties */
/** @typedef {{ name: string, ephemeral: boolean, pinned: boolean, encrypted: boolean }} Suite */

/** By their numbers. @type {Record<number, Suite>} */
export const SUITES = {
  1: { name: 'rfc9807', ephemeral: false, pinned: false, encrypted: false },
  2: { name: 'hybrid-compat', ephemeral: true, pinned: false, encrypted: false },
  3: { name: 'hybrid', ephemeral: true, pinned: false, encrypted: true },
  4: { name: 'hybrid-pinned', ephemeral: true, pinned: true, encrypted: true },
};

const NOTHING = new Uint8Array();
const EK = 1184;
const CT = 1088;

/** @type {Random} */
const system = (length) => new Uint8Array(randomBytes(length));

/** DeriveDiffieHellmanKeyPair, RFC 9807 §6.4.1. @param {Bytes} seed */
const deriveDh = (seed) => deriveKeyPair(seed, 'OPAQUE-DeriveDiffieHellmanKeyPair');

// The envelope, RFC 9807 §4.1.

/** @param {Bytes} output @param {Bytes} ksf */
const randomizedPassword = (output, ksf) => extract(NOTHING, concat(output, stretch(ksf, output)));

/** What the client derives for an envelope with this nonce. @param {Bytes} password @param {Bytes} nonce @param {Bytes} serverKey @param {Parties} parties */
function envelope(password, nonce, serverKey, parties) {
  const from = (label, length) => expand(password, concat(nonce, text(label)), length);
  const client = deriveDh(from('PrivateKey', 32));
  const credentials = concat(serverKey, vec(parties.server ?? serverKey), vec(parties.client ?? client.publicKey));
  return { client, tag: mac(from('AuthKey', 64), concat(nonce, credentials)), exportKey: from('ExportKey', 64) };
}

/** @param {Bytes} password */
const maskingKey = (password) => expand(password, text('MaskingKey'), 64);
/** @param {Bytes} key @param {Bytes} nonce */
const maskingPad = (key, nonce) => expand(key, concat(nonce, text('CredentialResponsePad')), 128);

// The key schedule, RFC 9807 §6.4.2.

/** Expand-Label for 64 bytes. @param {Bytes} secret @param {string} label @param {Bytes} context */
function expandLabel(secret, label, context) {
  const named = text(`OPAQUE-${label}`);
  const info = concat(Uint8Array.of(0, 64, named.length), named, Uint8Array.of(context.length), context);
  return expand(secret, info, 64);
}

/** Both MACs and the session key, from the secrets one after another and the transcript before the server's MAC. @param {Bytes} ikm @param {Bytes} transcript */
function schedule(ikm, transcript) {
  const prk = extract(NOTHING, ikm);
  const handshake = expandLabel(prk, 'HandshakeSecret', hash(transcript));
  const serverMac = mac(expandLabel(handshake, 'ServerMAC', NOTHING), hash(transcript));
  const clientMac = mac(expandLabel(handshake, 'ClientMAC', NOTHING), hash(concat(transcript, serverMac)));
  return { serverMac, clientMac, sessionKey: expandLabel(prk, 'SessionKey', hash(transcript)) };
}

/**
 * What both sides hash.
 * @param {Suite} suite
 * @param {{ ksf: Bytes, parties: Parties, serverKemKey: Bytes, ke1: Bytes, serverNonce: Bytes, serverShare: Bytes, ct: Bytes }} public_
 */
function transcript(suite, { ksf, parties, serverKemKey, ke1, serverNonce, serverShare, ct }) {
  const name = text(`candor-opaque-1/${suite.name}/ML-KEM-768`);
  const sid = suite.pinned ? hash(serverKemKey) : NOTHING;
  const first = concat(vec(name), ksf, vec(parties.context), vec(sid), ke1, serverNonce, serverShare, ct);
  return {
    /** P of docs/hybrid.md §4.2. @param {Bytes} kemSecrets */
    pad: (kemSecrets) => expand(extract(hash(first), kemSecrets), text('candor-opaque-1: credential response'), 192),
    /** The whole, up to the server's MAC. @param {Bytes} response as it travels @param {Bytes} client identity @param {Bytes} server identity */
    whole: (response, client, server) => {
      if (suite.encrypted) return concat(first, response, vec(client), vec(server));
      const preamble = concat(
        text('OPAQUEv1-'), vec(parties.context), vec(client), ke1.subarray(0, 96), vec(server), response, serverNonce, serverShare,
      );
      return concat(preamble, ke1.subarray(96), ct);
    },
  };
}

export class Client {
  /** @param {Suite} suite @param {Bytes} serverKemKey of the pinned suite @param {Random} random */
  constructor(suite, serverKemKey = NOTHING, random = system) {
    Object.assign(this, { suite, serverKemKey, random });
  }

  /** @param {Bytes} password @param {Parties} parties @returns {Bytes} the request */
  startRegistration(password, parties) {
    const { blind: scalar, blinded } = blind(password, this.random);
    this.registration = { password, parties, scalar };
    return blinded;
  }

  /** @param {Bytes} response @param {Bytes} ksf */
  finishRegistration(response, ksf) {
    const { password, parties, scalar } = this.registration;
    const [evaluated, serverKey] = cut(response, [32, 32]);
    element(serverKey);
    const randomized = randomizedPassword(finalize(password, scalar, evaluated), ksf);
    const nonce = this.random(32);
    const { client, tag, exportKey } = envelope(randomized, nonce, serverKey, parties);
    return { upload: concat(client.publicKey, maskingKey(randomized), nonce, tag), exportKey, serverKey };
  }

  /** @param {Bytes} password @param {Parties} parties @returns {Bytes} KE1 */
  startLogin(password, parties) {
    const { suite, random } = this;
    const { blind: scalar, blinded } = blind(password, random);
    const nonce = random(32);
    const share = deriveDh(random(32));
    const keys = suite.ephemeral ? kem.keygen(random(64)) : null;
    const fixed = suite.pinned ? kem.encapsulate(this.serverKemKey, random(32)) : null;
    const ke1 = concat(blinded, nonce, share.publicKey, keys?.publicKey ?? NOTHING, fixed?.cipherText ?? NOTHING);
    this.login = { password, parties, scalar, share, dk: keys?.secretKey, fixedSecret: fixed?.sharedSecret ?? NOTHING, ke1 };
    return ke1;
  }

  /** @param {Bytes} ke2 @param {Bytes} ksf */
  finishLogin(ke2, ksf) {
    const { suite } = this;
    const { password, parties, scalar, share, dk, fixedSecret, ke1 } = this.login;
    const [sent, serverNonce, serverShare, serverMac, ct] = cut(ke2, [192, 32, 32, 64, suite.ephemeral ? CT : 0]);
    element(serverShare);
    const secret = suite.ephemeral ? kem.decapsulate(ct, dk) : NOTHING;
    const said = transcript(suite, { ksf, parties, serverKemKey: this.serverKemKey, ke1, serverNonce, serverShare, ct });
    const response = suite.encrypted ? xor(sent, said.pad(concat(secret, fixedSecret))) : sent;
    const [evaluated, maskingNonce, masked] = cut(response, [32, 32, 128]);
    if (same(evaluated, ke1.subarray(0, 32))) throw new Refused('our own element');
    const randomized = randomizedPassword(finalize(password, scalar, evaluated), ksf);
    const [serverKey, nonce, tag] = cut(xor(masked, maskingPad(maskingKey(randomized), maskingNonce)), [32, 32, 64]);
    element(serverKey);
    const derived = envelope(randomized, nonce, serverKey, parties);
    if (!same(derived.tag, tag)) throw new Refused('envelope');
    const { client, exportKey } = derived;
    const dh = [[share.secretKey, serverShare], [share.secretKey, serverKey], [client.secretKey, serverShare]];
    const ikm = concat(...dh.map(([key, point]) => product(key, point)), secret, fixedSecret);
    const keys = schedule(ikm, said.whole(sent, parties.client ?? client.publicKey, parties.server ?? serverKey));
    if (!same(keys.serverMac, serverMac)) throw new Refused('server MAC');
    return { ke3: keys.clientMac, sessionKey: keys.sessionKey, exportKey, serverKey };
  }
}

export class Server {
  /** @param {Suite} suite @param {Bytes} ksf @param {Random} random @param {{ seed: Bytes, secretKey: Bytes }} keys */
  constructor(suite, ksf, random = system, keys = { seed: random(64), secretKey: deriveDh(random(32)).secretKey }) {
    Object.assign(this, { suite, ksf, random, ...keys, publicKey: publicKey(keys.secretKey) });
    this.kem = suite.pinned ? kem.keygen(random(64)) : null;
  }

  /** @param {Bytes} id */
  oprfKey(id) {
    return deriveKeyPair(expand(this.seed, concat(id, text('OprfKey')), 32), 'OPAQUE-DeriveKeyPair').secretKey;
  }

  /** @param {Bytes} id @param {Bytes} request @returns {Bytes} the response */
  register(id, request) {
    return concat(evaluate(this.oprfKey(id), cut(request, [32])[0]), this.publicKey);
  }

  /** What is answered for a name without an account, RFC 9807 §6.3.2.2. @returns {Bytes} */
  fakeUpload() {
    return concat(deriveDh(this.random(32)).publicKey, this.random(64), new Uint8Array(96));
  }

  /** @param {Bytes} ke1 @param {Bytes} id @param {Bytes | null} upload @param {Parties} parties @returns {Bytes} KE2 */
  respond(ke1, id, upload, parties) {
    const { suite, random } = this;
    const [blinded, , clientShare, ek, fixedCt] = cut(ke1, [32, 32, 32, suite.ephemeral ? EK : 0, suite.pinned ? CT : 0]);
    element(clientShare);
    const [clientKey, masking, stored] = cut(upload ?? this.fakeUpload(), [32, 64, 96]);
    const evaluated = evaluate(this.oprfKey(id), blinded);
    const maskingNonce = random(32);
    const response = concat(evaluated, maskingNonce, xor(maskingPad(masking, maskingNonce), concat(this.publicKey, stored)));
    const serverNonce = random(32);
    const share = deriveDh(random(32));
    const fixed = suite.pinned ? kem.decapsulate(fixedCt, this.kem.secretKey) : NOTHING;
    const { cipherText: ct, sharedSecret } = suite.ephemeral ? kem.encapsulate(ek, random(32)) : { cipherText: NOTHING, sharedSecret: NOTHING };
    const serverKemKey = this.kem?.publicKey ?? NOTHING;
    const said = transcript(suite, { ksf: this.ksf, parties, serverKemKey, ke1, serverNonce, serverShare: share.publicKey, ct });
    const sent = suite.encrypted ? xor(response, said.pad(concat(sharedSecret, fixed))) : response;
    const dh = [[share.secretKey, clientShare], [this.secretKey, clientShare], [share.secretKey, clientKey]];
    const ikm = concat(...dh.map(([key, point]) => product(key, point)), sharedSecret, fixed);
    const keys = schedule(ikm, said.whole(sent, parties.client ?? clientKey, parties.server ?? this.publicKey));
    this.login = { expected: keys.clientMac, sessionKey: keys.sessionKey, known: upload !== null };
    return concat(sent, serverNonce, share.publicKey, keys.serverMac, ct);
  }

  /** @param {Bytes} ke3 @returns {Bytes} the session key */
  finish(ke3) {
    const { expected, sessionKey, known } = this.login;
    this.login = { expected: NOTHING, sessionKey: NOTHING, known: false };
    if (!same(expected, ke3) || !known) throw new Refused('client MAC');
    return sessionKey;
  }
}
