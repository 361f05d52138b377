// What a client makes of answers that no login server gives: each field of each answer, damaged one at a time.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, it } from "node:test";
import { LoginClient, LoginError } from "@candor/opaque";
import { newRecoveryCode } from "../dist/recovery.js";

const transcript = JSON.parse(readFileSync(new URL("transcript.json", import.meta.url), "utf8"));
const base64url = (hex) => Buffer.from(hex, "hex").toString("base64url");

const started = { state: "AAAA", response: base64url(transcript.response), ksf: base64url("00".repeat(13)) };
const opened = { session: "s", access_token: "a", refresh_token: "r", access_until: 2e9, ends: 2e9, device: "d" };
const shown = { session: "s", name: "n", scope: "full", label: "", created: 1, used: 1, ends: 2e9, current: true };
const good = {
  "GET /v1/config": { suite: "hybrid", context: "candor-login-1", ksf: "", registration: "open" },
  "POST /v1/register/start": started,
  "POST /v1/register/finish": opened,
  "POST /v1/recovery/session": { session: "s", access_token: "a", ends: 2e9 },
  "POST /v1/recovery/start": started,
  "POST /v1/recovery/finish": opened,
  "POST /v1/login/start": { state: "AAAA", ke2: base64url(transcript.ke2), ksf: started.ksf },
  "GET /v1/session": shown,
  "GET /v1/sessions": { sessions: [shown] },
  "GET /v1/recovery/codes": { left: 3 },
  "POST /v1/session/refresh": opened,
};

const limits = { identity: true, leastMemoryKib: 0, leastWork: 0 };
const clients = [];
/** A client of a server that answers well, except where `damaged` has something else. */
function client(damaged = {}) {
  const fetch = async (url, { method }) => {
    const asked = `${method} ${new URL(url).pathname}`;
    return new Response(JSON.stringify(asked in damaged ? damaged[asked] : good[asked]));
  };
  const made = new LoginClient("https://login.example.org", { fetch, limits });
  clients.push(made);
  return made;
}
after(() => clients.forEach((one) => one.close()));

const resumed = (client) => client.resume({ id: "s", token: "a", refreshToken: "r", accessUntil: 2e9, ends: 2e9 });
const code = newRecoveryCode();
const calls = [
  ["config", (client) => client.config(), ["GET /v1/config"]],
  ["register", (client) => client.register("n", "pw"), ["POST /v1/register/start", "POST /v1/register/finish"]],
  [
    "recover",
    (client) => client.recover(code, "n", "pw"),
    ["POST /v1/recovery/session", "POST /v1/recovery/start", "POST /v1/recovery/finish"],
    // Nobody asks for them.
    { "POST /v1/recovery/session": ["session", "ends"] },
  ],
  ["login", (client) => client.login("n", "pw"), ["POST /v1/login/start"]],
  ["info", (client) => resumed(client).info(), ["GET /v1/session"]],
  ["sessions", (client) => resumed(client).sessions(), ["GET /v1/sessions"]],
  ["codesLeft", (client) => resumed(client).codesLeft(), ["GET /v1/recovery/codes"]],
  ["refresh", (client) => resumed(client).refresh(), ["POST /v1/session/refresh"]],
];

/** Values that are not of the same type, nor of that of any other field. */
function damages(answer, ignored) {
  const wholes = [null, 1, "", [], {}];
  const fields = Object.keys(answer).filter((field) => !ignored.includes(field));
  return [...wholes, ...fields.flatMap((field) => [{ ...answer, [field]: {} }, { ...answer, [field]: -1 }])];
}

describe("an answer that no login server gives", () => {
  for (const [name, call, asked, ignored = {}] of calls) {
    it(`is refused: ${name}`, async () => {
      // The undamaged twins are read; that KE2 belongs to another login is found later.
      if (name === "login") await assert.rejects(call(client()), { type: "login-failed" });
      else await call(client());
      for (const one of asked) {
        for (const damaged of damages(good[one], ignored[one] ?? [])) {
          const text = JSON.stringify(damaged);
          const refused = (error) => error instanceof LoginError && error.type === "answer";
          await assert.rejects(call(client({ [one]: damaged })), refused, `${one}: ${text}`);
        }
      }
    });
  }

  it("is refused: sessions that are none, dates that are none, registration in a way that nobody knows", async () => {
    const refused = { type: "answer" };
    await assert.rejects(resumed(client({ "GET /v1/sessions": { sessions: [shown, null] } })).sessions(), refused);
    await assert.rejects(resumed(client({ "GET /v1/session": { ...shown, ends: 1e15 } })).info(), refused);
    await assert.rejects(client({ "GET /v1/config": { ...good["GET /v1/config"], registration: "x" } }).config(), refused);
    await assert.rejects(client({ "POST /v1/register/start": { ...started, ksf: "A" } }).register("n", "pw"), refused);
  });

  it("is not quoted", async () => {
    const secret = { ...opened, access_token: { token: "very-secret" } };
    const error = await resumed(client({ "POST /v1/session/refresh": secret })).refresh().catch((error) => error);
    assert.match(error.message, /`access_token` is not text/);
    assert.doesNotMatch(JSON.stringify([error.message, String(error.cause)]), /very-secret/);
  });
});
