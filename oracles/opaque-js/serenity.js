/** `@serenity-kit/opaque` as a client or a server of suite `rfc9807`. It has no context, and takes passwords as text. */
import { client, ready, server } from '@serenity-kit/opaque';
import { Refused, bytes, serve } from './lines.js';

await ready;
const words = (value) => Buffer.from(value).toString('base64url');
const back = (value) => new Uint8Array(Buffer.from(value, 'base64url'));
const string = (word) => Buffer.from(word === '-' ? '' : word, 'hex').toString();
const named = (context, client, server) => {
  if (context !== '-') throw new Error('it takes no context');
  return { client: client === '-' ? undefined : string(client), server: server === '-' ? undefined : string(server) };
};
const userIdentifier = 'alice';

/** Argon2id's parameters from our encoding. @param {string} word */
function keyStretching(word) {
  const view = new DataView(bytes(word).buffer);
  if (view.getUint8(0) !== 1) throw new Error('it has no identity function');
  return { 'argon2id-custom': { memory: view.getUint32(1), iterations: view.getUint32(5), parallelism: view.getUint32(9) } };
}

/** @template T @param {() => T | undefined} step @returns {T} */
function refusing(step) {
  let done;
  try {
    done = step();
  } catch (error) {
    throw new Refused(String(error));
  }
  if (done === undefined) throw new Refused('login failed');
  return done;
}

let state = {};
let upload = null;
await serve({
  register: (password, ...parties) => {
    const started = client.startRegistration({ password: string(password) });
    state = { clientRegistrationState: started.clientRegistrationState, password: string(password), identifiers: named(...parties) };
    return [back(started.registrationRequest)];
  },
  response: (response, ksf) => {
    const given = { ...state, registrationResponse: words(bytes(response)), keyStretching: keyStretching(ksf) };
    const done = refusing(() => client.finishRegistration(given));
    return [back(done.registrationRecord), back(done.exportKey), back(done.serverStaticPublicKey), null];
  },
  login: (password, ...parties) => {
    const started = client.startLogin({ password: string(password) });
    state = { clientLoginState: started.clientLoginState, password: string(password), identifiers: named(...parties) };
    return [back(started.startLoginRequest)];
  },
  ke2: (ke2, ksf) => {
    const done = refusing(() => client.finishLogin({ ...state, loginResponse: words(bytes(ke2)), keyStretching: keyStretching(ksf) }));
    return [done.finishLoginRequest, done.exportKey, done.serverStaticPublicKey, done.sessionKey].map(back);
  },
  setup: (ksf) => {
    state = { serverSetup: server.createSetup(), ksf: bytes(ksf) };
    return [back(server.getPublicKey(state.serverSetup)), null];
  },
  request: (request) => {
    const given = { serverSetup: state.serverSetup, userIdentifier, registrationRequest: words(bytes(request)) };
    return [back(refusing(() => server.createRegistrationResponse(given)).registrationResponse), state.ksf];
  },
  upload: (sent) => [((upload = words(bytes(sent))), null)],
  ke1: (ke1, ...parties) => {
    const given = { serverSetup: state.serverSetup, userIdentifier, registrationRecord: upload, startLoginRequest: words(bytes(ke1)) };
    state.identifiers = named(...parties);
    const answer = refusing(() => server.startLogin({ ...given, identifiers: state.identifiers }));
    state.serverLoginState = answer.serverLoginState;
    return [back(answer.loginResponse), state.ksf];
  },
  ke3: (ke3) => {
    const { serverLoginState, identifiers } = state;
    return [back(refusing(() => server.finishLogin({ serverLoginState, identifiers, finishLoginRequest: words(bytes(ke3)) })).sessionKey)];
  },
});
