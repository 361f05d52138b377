/**
 * The vectors of a file that is named: RFC 9807's of our group (`node vectors.js ../../vectors/opaque-rfc9807.json`), or candor's of the hybrids (`opaque-hybrid.json`). Says how
 * many there were.
 */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { Client, SUITES, Server } from './opaque.js';
import { concat } from './primitives.js';

const bytes = (digits) => Uint8Array.from(Buffer.from(digits, 'hex'));
const hex = (value) => Buffer.from(value).toString('hex');
/** A scalar below the group's order is its own wide reduction. */
const scalar = (digits) => concat(bytes(digits), new Uint8Array(32));

/** A generator that gives these out, one after another. @param {Uint8Array[]} all */
function script(...all) {
  return (length) => {
    const next = all.shift();
    assert.equal(next?.length, length);
    return next;
  };
}

/** One login; RFC 9807's have more to compare than candor's. @param {object} suite @param {Record<string, string>} vector @param {string} context @param {boolean} fake */
function check(suite, vector, context, fake) {
  const all = (...names) => names.filter((name) => name in vector).map((name) => bytes(vector[name]));
  const is = (value, name) => name in vector && assert.equal(hex(value), vector[name], name);
  const [client_identity = null, server_identity = null] = ['client_identity', 'server_identity'].map((name) => all(name)[0]);
  const parties = { context: bytes(context), client: client_identity, server: server_identity };
  const ksf = bytes(vector.ksf ?? '00'.repeat(13));
  const fresh = script(...all('static_seed', 'masking_nonce', 'server_nonce', 'server_keyshare_seed', 'kem_coins'));
  const server = new Server(suite, ksf, fresh, { seed: bytes(vector.oprf_seed), secretKey: bytes(vector.server_private_key) });
  is(server.publicKey, 'server_public_key');
  const id = bytes(vector.credential_identifier);
  if (fake) {
    const upload = concat(bytes(vector.client_public_key), bytes(vector.masking_key), new Uint8Array(96));
    return is(server.respond(bytes(vector.KE1), id, upload, parties), 'KE2');
  }
  const random = script(
    scalar(vector.blind_registration), bytes(vector.envelope_nonce), scalar(vector.blind_login),
    ...all('client_nonce', 'client_keyshare_seed', 'kem_seed', 'static_coins'),
  );
  const client = new Client(suite, server.kem?.publicKey, random);
  const request = client.startRegistration(bytes(vector.password), parties);
  is(request, 'registration_request');
  const response = server.register(id, request);
  is(response, 'registration_response');
  const { upload, exportKey } = client.finishRegistration(response, ksf);
  is(upload, 'registration_upload');
  is(exportKey, 'export_key');

  const ke1 = client.startLogin(bytes(vector.password), parties);
  is(ke1, 'KE1');
  const ke2 = server.respond(ke1, id, upload, parties);
  is(ke2, 'KE2');
  const done = client.finishLogin(ke2, ksf);
  is(done.ke3, 'KE3');
  is(done.sessionKey, 'session_key');
  is(done.exportKey, 'export_key');
  is(server.finish(done.ke3), 'session_key');
}

const found = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const ours = Array.isArray(found) ? found.filter(({ config }) => config.Group === 'ristretto255') : [];
for (const { config, inputs, outputs } of ours) {
  check(SUITES[1], { ...inputs, ...outputs }, config.Context, config.Fake === 'True');
}
for (const vector of found.logins ?? []) {
  const suite = Object.values(SUITES).find(({ name }) => name === vector.suite);
  assert.ok(suite, vector.suite);
  check(suite, vector, vector.context, false);
}
console.log(`${ours.length + (found.logins?.length ?? 0)} vectors agree`);
