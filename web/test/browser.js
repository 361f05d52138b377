// Chromium by its debugging protocol, over a pipe.

import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** The program; $CHROMIUM names another. */
function program() {
  const names = process.env.CHROMIUM ?? "chromium";
  const folders = process.env.PATH.split(delimiter);
  return [names, ...folders.map((folder) => join(folder, names))].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return path.includes("/");
    } catch {
      return false;
    }
  });
}

/** Why tests in Chromium are skipped, if they are. */
export const skipBrowser = program() === undefined ? "skipped: there is no program `chromium`" : false;
if (skipBrowser) console.error(skipBrowser);

const FLAGS = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe"],
];

/** Starts a browser. */
export async function browse() {
  const folder = mkdtempSync(join(tmpdir(), "candor-chromium-"));
  const child = spawn(program(), [...FLAGS, `--user-data-dir=${folder}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [to, from] = [child.stdio[3], child.stdio[4]];
  const waiting = new Map();
  const listeners = new Set();
  let [count, rest] = [0, ""];
  from.setEncoding("utf8").on("data", (text) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const { resolve, reject } = waiting.get(message.id) ?? {};
      waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else if (resolve) resolve(message.result);
      else for (const listener of listeners) listener(message);
    }
  });
  const gone = new Promise((_, reject) => child.once("exit", (code) => reject(new Error(`chromium ended with ${code}`))));
  gone.catch(() => {});
  const send = (method, params = {}, sessionId) => {
    const answer = new Promise((resolve, reject) => waiting.set(++count, { resolve, reject }));
    to.write(`${JSON.stringify({ id: count, method, params, sessionId })}\0`);
    return Promise.race([answer, gone]);
  };
  return {
    /** Opens a page, and waits until it has loaded. */
    async open(url) {
      const { targetId } = await send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
      const errors = [];
      listeners.add(({ method, params, sessionId: of }) => {
        if (of !== sessionId) return;
        if (method === "Runtime.exceptionThrown") errors.push(params.exceptionDetails.exception?.description);
        if (method === "Log.entryAdded" && params.entry.level === "error") errors.push(params.entry.text);
        if (method === "Runtime.consoleAPICalled") errors.push(params.args.map(({ value }) => value).join(" "));
      });
      const loaded = new Promise((resolve) => {
        listeners.add(({ method, sessionId: of }) => of === sessionId && method === "Page.loadEventFired" && resolve());
      });
      for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`, {}, sessionId);
      await send("Page.navigate", { url }, sessionId);
      await loaded;
      return {
        /** What the page and the browser complained about. */
        errors,
        /** The value of an expression, when its promise has settled. */
        async evaluate(expression) {
          const params = { expression, awaitPromise: true, returnByValue: true };
          const { result, exceptionDetails } = await send("Runtime.evaluate", params, sessionId);
          if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
          return result.value;
        },
      };
    },
    async close() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      await send("Browser.close").catch(() => {});
      await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
