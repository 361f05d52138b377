// Makes the folder that `candor login serve --pages` serves: node build.mjs PACKAGE FOLDER. `cargo xtask wasm` runs it.
//
// Beside FOLDER it writes FOLDER.sources, the SHA-256 of each TypeScript file of the pages, by which a test knows pages that are older than their sources.
//
// PACKAGE is where `@candor/opaque` was put together; its TypeScript compiles the pages. Everything is also stored compressed, for the server to send as it is.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [source, made] = process.argv.slice(2, 4);
if (made === undefined) throw new Error("expected two folders: the package, and where the pages go");

rmSync(made, { recursive: true, force: true });
mkdirSync(join(made, "pages"), { recursive: true });
for (const name of readdirSync(here)) {
  if (/\.(html|css|svg)$/.test(name)) cpSync(join(here, name), join(made, name));
  if (name.endsWith(".ts") || name === "tsconfig.json") cpSync(join(here, name), join(made, "pages", name));
}
cpSync(join(source, "dist"), join(made, "dist"), { recursive: true });

// Where they will be, so that they find the package.
const tsc = join(source, "node_modules", "typescript", "bin", "tsc");
const compiled = spawnSync(process.execPath, [tsc, "-p", join(made, "pages")], { stdio: "inherit" });
if (compiled.status !== 0) {
  rmSync(made, { recursive: true });
  throw new Error(`tsc of the pages: exit status ${compiled.status}`);
}

for (const entry of readdirSync(made, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())) {
  const path = join(entry.parentPath, entry.name);
  if (entry.name.endsWith(".ts") || entry.name === "tsconfig.json") {
    rmSync(path);
    continue;
  }
  const plain = readFileSync(path);
  const packed = gzipSync(plain, { level: 9 });
  if (packed.length < plain.length) writeFileSync(`${path}.gz`, packed);
}

const sources = readdirSync(here).filter((name) => name.endsWith(".ts")).sort();
const digests = sources.map((name) => `${createHash("sha256").update(readFileSync(join(here, name))).digest("hex")}  ${name}\n`);
writeFileSync(`${made}.sources`, digests.join(""));
