// The page that sets a new password with a recovery code.

import { checkNew, explained, password, submits, text, Wrong } from "./form.js";
import { client, keep, label } from "./kept.js";

/** Whether the server has used the code up, and only this page can go on. */
let pending = false;

async function goesOn(code: string, name: string): Promise<void> {
  pending = await client.recoveryPending(code, name).catch(() => false);
}

addEventListener("beforeunload", (event) => {
  if (pending) event.preventDefault();
});

submits("Setting your new password", async (progress) => {
  const name = text("name");
  checkNew("new-password", name);
  const code = text("code");
  const session = await client.recover(code, name, password("new-password"), { ...progress, label: label() }).catch(async (error: unknown) => {
    await goesOn(code, name);
    if (!pending) throw error;
    const { message, field } = explained(error);
    throw new Wrong(`${message} Your code is used up and works on this page only, for 15 minutes: submit again before you leave it.`, field);
  });
  pending = false;
  keep(session);
  session.wipe();
  location.assign("account");
});
