// candor's login server, as a process of its own, for the tests.

import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The program; `cargo xtask wasm` names it. */
export const candor = process.env.CANDOR;

/** Why tests that need the server are skipped, if they are. */
export const skip = candor === undefined ? "skipped: $CANDOR names no program `candor`" : false;
if (skip) console.error(skip);

/** As little key stretching as clients accept by default. */
const SETTINGS = { listen: "127.0.0.1:0", ksf: "19456:2:1", registration: "open" };

/** Starts a server with a database of its own. */
export async function serve(settings = {}, common = SETTINGS) {
  const folder = mkdtempSync(join(tmpdir(), "candor-web-"));
  const words = Object.entries({ ...common, ...settings }).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(candor, ["login", "serve", "--state", folder, ...words], { stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`candor login serve ended with ${code}`)));
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line).url));
  });
  return {
    url,
    /** Runs `candor login …` on its database. */
    admin(...words) {
      const env = { ...process.env, STATE_DIRECTORY: folder };
      return execFileSync(candor, ["login", ...words], { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    },
    /** Takes accounts over from another system: names with hashes. */
    takeOver(accounts) {
      const lines = Object.entries(accounts).map(([name, hash]) => `${JSON.stringify({ name, hash })}\n`);
      writeFileSync(join(folder, "users.jsonl"), lines.join(""));
      return JSON.parse(this.admin("migrate", "users.jsonl", "--format", "json"));
    },
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
