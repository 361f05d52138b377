// The package as others get it: packed, installed into a project that has nothing else, used in Node, by TypeScript, and in Chromium.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { browse, skipBrowser } from "./browser.js";
import { serve, skip } from "./server.js";
import { serveFolder } from "./site.js";

const here = fileURLToPath(new URL("..", import.meta.url));
const project = mkdtempSync(join(tmpdir(), "candor-project-"));
const run = (program, ...words) => execFileSync(program, words, { cwd: project, encoding: "utf8" });
const write = (name, text) => writeFileSync(join(project, name), text);

/** The example page of the README. */
function example() {
  const readme = readFileSync(join(here, "README.md"), "utf8");
  const [, page] = readme.match(/```html\n(<!doctype html>[\s\S]*?)```/);
  return page;
}

/** The settings of the server that the README has before that page. */
function exampleServer() {
  const [, words] = readFileSync(join(here, "README.md"), "utf8").match(/^candor login serve (.*)$/m);
  return Object.fromEntries([...words.matchAll(/--([a-z-]+) (\S+)/g)].map(([, name, value]) => [name, value]));
}

let server;
before(async () => {
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", project], { cwd: here, encoding: "utf8" });
  write("package.json", JSON.stringify({ name: "fresh", private: true, type: "module" }));
  run("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", `./${packed.trim()}`);
  // As the README says, but at a port and in a folder of the test's.
  const { listen, state, ...settings } = exampleServer();
  assert.ok(listen.startsWith("127.0.0.1:") && state !== undefined);
  if (!skip) server = await serve(settings, { listen: "127.0.0.1:0" });
});
after(async () => {
  await server?.stop();
  rmSync(project, { recursive: true });
});

describe("the README", () => {
  it("has no place left to fill in", () => {
    assert.doesNotMatch(readFileSync(join(here, "README.md"), "utf8"), /[A-Z]_(TABLE|SIZE)\b|TODO/);
  });
});

describe("a fresh project", () => {
  it("logs in", { skip }, () => {
    write("use.js", `import { LoginClient } from "@candor/opaque";
      const client = new LoginClient(process.argv[2]);
      await client.register("node", "pw");
      const session = await client.login("node", "pw");
      console.log((await session.info()).name);
      await session.logout();`);
    // It ends by itself: no worker keeps it alive.
    assert.equal(run("node", "use.js", server.url), "node\n");
  });

  it("has types", () => {
    write("use.ts", `import { LoginClient, LoginError, OpaqueClient, type Session } from "@candor/opaque";
      const session: Session = await new LoginClient("https://x").login("a", "b", { onProgress: (part: number) => part.toFixed() });
      const key: Uint8Array | null = session.exportKey;
      const ke1: Uint8Array = (await new OpaqueClient({ context: "x" }).startLogin("b")).ke1;
      export const all = [key, ke1, new LoginError("throttled", "wait").retryAfter satisfies number | undefined];`);
    const tsc = join(here, "node_modules/typescript/bin/tsc");
    const options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--types", ""];
    run("node", tsc, ...options, "--module", "nodenext", "use.ts");
    run("node", tsc, ...options, "--module", "preserve", "--moduleResolution", "bundler", "use.ts");
    write("wrong.ts", `import { LoginClient } from "@candor/opaque";\nnew LoginClient().login(1, 2);`);
    assert.throws(() => run("node", tsc, ...options, "--module", "nodenext", "wrong.ts"), (error) => /TS2345/.test(error.stdout));
  });

  it("has a worker that bundlers copy as it is", () => {
    const path = join(project, "node_modules/@candor/opaque/dist/worker.js");
    assert.doesNotMatch(readFileSync(path, "utf8"), /^\s*import\b|\bimport\(/m);
    assert.ok(statSync(path).size > 4096, "Vite makes a `data:` URL of less");
  });
});

describe("the README's page", { skip: skip || skipBrowser }, () => {
  let browser;
  before(async () => {
    browser = await browse();
  });
  after(() => browser?.close());

  /** Fills in the form, presses a button, and waits for what the page then says. */
  const submit = (page, name, password, action) =>
    page.evaluate(`new Promise((resolve) => {
      const [form, output] = [document.querySelector("form"), document.querySelector("output")];
      output.value = "";
      form.elements.name.value = ${JSON.stringify(name)};
      form.elements.password.value = ${JSON.stringify(password)};
      new MutationObserver(() => output.value && resolve(output.value)).observe(output, { childList: true, characterData: true, subtree: true });
      form.querySelector("[value=${action}]").click();
    })`);

  const uses = async (page, name) => {
    assert.equal(await submit(page, name, "correct horse", "register"), `logged in as ${name}`);
    assert.equal(await page.evaluate(`document.querySelector("progress").value`), 1);
    assert.equal(await submit(page, name, "correct horse", "login"), `logged in as ${name}`);
    assert.equal(await submit(page, name, "correct cow", "login"), "login failed: wrong name or password");
  };

  it("has no more than 30 lines, and works as written", async () => {
    const lines = example().trimEnd().split("\n");
    assert.ok(lines.length <= 30, `it has ${lines.length} lines`);
    write("index.html", example());
    const site = await serveFolder(project, { login: server.url });
    try {
      const page = await browser.open(`${site.url}/index.html`);
      await uses(page, "plain");
      assert.deepEqual(page.errors, []);
      // Chromium has vectors: it has not loaded the module without.
      const loaded = await page.evaluate(`performance.getEntriesByType("resource").map(({ name }) => name.split("/").at(-1))`);
      assert.ok(loaded.includes("module-simd.js") && !loaded.includes("module-scalar.js"), loaded.join());
    } finally {
      await site.stop();
    }
  });

  it("works under a strict Content Security Policy with Trusted Types", async () => {
    const [, script] = example().match(/<script type="module">\n([\s\S]*?)<\/script>/);
    const html = example().replace(script, "").replace('<script type="module">', '<script type="module" src="page.js">');
    const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; img-src 'self'; require-trusted-types-for 'script'; trusted-types @candor/opaque";
    const pages = { "/strict.html": html, "/page.js": script };
    const site = await serveFolder(project, { login: server.url, pages, headers: { "Content-Security-Policy": policy } });
    try {
      const page = await browser.open(`${site.url}/strict.html`);
      await uses(page, "strict");
      // A worker that could not be started would have been reported there, and so would a violation.
      assert.deepEqual(page.errors, []);
      const refused = page.evaluate(`new Worker("page.js")`);
      await assert.rejects(refused, /TrustedScriptURL/, "the policy is in force");
    } finally {
      await site.stop();
    }
  });
});
