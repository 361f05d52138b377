// The page that signs in.

import { input, password, submits, text } from "./form.js";
import { client, deviceOf, label, rememberDevice, replace } from "./kept.js";

submits("Signing in", async (progress) => {
  const name = text("name");
  const device = deviceOf(name);
  const options = { ...progress, label: label(), remember: input("remember").checked, ...(device === undefined ? {} : { device }) };
  const session = await client.login(name, password("password"), options);
  rememberDevice(name, session);
  await replace(session);
  session.wipe();
  location.assign("account");
});
