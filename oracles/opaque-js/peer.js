/** The oracle as a client or a server that speaks with whoever started it. */
import { bytes, serve } from './lines.js';
import { Client, SUITES, Server } from './opaque.js';

const [role, number, kemKey] = process.argv.slice(2);
const suite = SUITES[Number(number)];
const named = (context, client, server) => ({
  context: bytes(context),
  client: client === '-' ? null : bytes(client),
  server: server === '-' ? null : bytes(server),
});
const ID = Uint8Array.of(7, 7, 7);

function clientCommands(client) {
  return {
    register: (password, ...parties) => [client.startRegistration(bytes(password), named(...parties))],
    login: (password, ...parties) => [client.startLogin(bytes(password), named(...parties))],
    response: (response, ksf) => {
      const done = client.finishRegistration(bytes(response), bytes(ksf));
      return [done.upload, done.exportKey, done.serverKey, null];
    },
    ke2: (ke2, ksf) => {
      const done = client.finishLogin(bytes(ke2), bytes(ksf));
      return [done.ke3, done.exportKey, done.serverKey, done.sessionKey];
    },
  };
}

function serverCommands() {
  let server;
  let upload = null;
  return {
    setup: (ksf) => {
      server = new Server(suite, bytes(ksf));
      return [server.publicKey, server.kem?.publicKey];
    },
    request: (request) => [server.register(ID, bytes(request)), server.ksf],
    upload: (sent) => [((upload = bytes(sent)), null)],
    ke1: (ke1, ...parties) => [server.respond(bytes(ke1), ID, upload, named(...parties)), server.ksf],
    ke3: (ke3) => [server.finish(bytes(ke3))],
  };
}

await serve(role === 'client' ? clientCommands(new Client(suite, bytes(kemKey))) : serverCommands());
