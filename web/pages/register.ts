// The page that makes an account.

import { checkNew, element, input, password, say, showCodes, submits, text } from "./form.js";
import { client, label, rememberDevice, replace } from "./kept.js";

/** As many as fit on a card in a wallet. */
const CODES = 8;

submits("Making your account", async (progress) => {
  const name = text("name");
  checkNew("new-password", name);
  const token = text("token");
  const session = await client.register(name, password("new-password"), {
    ...progress,
    label: label(),
    remember: input("remember").checked,
    recoveryCodes: CODES,
    ...(token === "" ? {} : { token }),
  });
  // First of all: there is no other time, and the browser may refuse to keep the rest.
  showCodes(session.recoveryCodes, "Welcome");
  rememberDevice(name, session);
  await replace(session);
  session.wipe();
});

// An invitation is a link with the token behind `#`, which no browser sends to a server. It is taken out of this page's address; where the browser has noted
// the visit before, there it stays, until the token is used or expires.
function invited(): void {
  if (location.hash.length <= 1) return;
  input("token").value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
invited();
// A link that is opened where this page is open already.
addEventListener("hashchange", invited);

try {
  const { registration } = await client.config();
  element("closed").hidden = registration !== "closed";
  element("form").hidden = registration === "closed";
  element("token-field").hidden = registration !== "token";
  input("token").required = registration === "token";
} catch (error) {
  say(error);
}
