// Writes both WebAssembly modules into scripts, and holds the package to its size: node tools/modules.mjs SIMD SCALAR. `cargo xtask wasm` runs it.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { brotliCompressSync, deflateRawSync, gzipSync } from "node:zlib";

/** A page's bytes as the README tells them, in kB: by gzip and by brotli, with vectors and without. */
const told = readFileSync("README.md", "utf8").match(/loads (\d+) kB, all[^]*?\((\d+) kB by brotli[^]*?loads (\d+) kB\s+\((\d+) kB\)/)?.slice(1).map(Number);
/** What a page may have to load, in bytes: all scripts and one of the modules, each compressed by gzip. */
const BUDGET = 150_000;

const [simd, scalar] = process.argv.slice(2, 4).map((path) => readFileSync(path));
const script = (bytes) => `export default "${bytes.toString("base64")}";\n`;
writeFileSync("dist/module-simd.js", script(deflateRawSync(simd, { level: 9 })));
writeFileSync("dist/module-scalar.js", script(scalar));

const [modules, scripts] = [new Map(), []];
for (const name of readdirSync("dist").filter((name) => name.endsWith(".js"))) {
  const bytes = readFileSync(`dist/${name}`);
  const size = { gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes).length };
  if (name.startsWith("module-")) modules.set(name, size);
  else scripts.push(size);
}
const sum = (method) => scripts.reduce((all, size) => all + size[method], 0);
for (const [name, size] of modules) {
  const [gzip, brotli] = [sum("gzip") + size.gzip, sum("brotli") + size.brotli];
  console.log(`a page with ${name} loads ${gzip} bytes by gzip, ${brotli} by brotli; of these ${sum("gzip")} and ${sum("brotli")} are scripts`);
  const figures = name === "module-simd.js" ? told?.slice(0, 2) : told?.slice(2);
  const fits = [gzip, brotli].every((bytes, at) => Math.abs(bytes - 1000 * figures?.[at]) < 1500);
  if (!fits) {
    console.error(`README.md says ${figures} kB; expected ${Math.round(gzip / 1000)} and ${Math.round(brotli / 1000)}, give or take one`);
    process.exitCode = 1;
  }
  if (gzip > BUDGET) {
    console.error(`expected at most ${BUDGET} by gzip`);
    process.exitCode = 1;
  }
}
