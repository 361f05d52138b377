// The page that changes the password. It needs no session: password managers lead here by /.well-known/change-password.

import { LoginError } from "../dist/index.js";
import { checkNew, input, password, showCodes, submits, text, Wrong } from "./form.js";
import { client, deviceOf, keep, kept, label } from "./kept.js";

/** As many as at registration: the old ones end. */
const CODES = 8;

submits("Changing your password", async (progress) => {
  const name = text("name");
  checkNew("new-password", name);
  const device = deviceOf(name);
  let proved = false;
  const onProgress = (fraction: number): void => {
    // The second half is the new password's.
    proved ||= fraction >= 0.5;
    progress.onProgress?.(fraction);
  };
  const options = { ...progress, onProgress, label: label(), recoveryCodes: CODES, ...(device === undefined ? {} : { device }) };
  const session = await client.changePassword(name, password("password"), password("new-password"), options).catch((error: unknown) => {
    // A password that no account can have is not the current one.
    if (error instanceof LoginError && error.type === "password" && !proved) throw new Wrong("Wrong name or password.", "password");
    throw error;
  });
  // First of all: there is no other time, and the browser may refuse to keep the session.
  showCodes(session.recoveryCodes, "Password changed");
  keep(session);
  session.wipe();
});

// Whoever is signed in need not type the name.
const session = await kept().catch(() => null);
const name = input("name");
if (session !== null && name.value === "") {
  await session.info().then(
    (info) => {
      if (name.value === "") name.value = info.name;
    },
    () => undefined,
  );
}
