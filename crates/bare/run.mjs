// Runs the WebAssembly module of candor-bare, as a web page would: node run.mjs MODULE. `cargo xtask wasm` builds it first.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

function insist(holds, otherwise) {
  if (!holds) {
    console.error(otherwise);
    process.exit(1);
  }
}

const bytes = readFileSync(process.argv[2]);
const module = new WebAssembly.Module(bytes);
const imports = WebAssembly.Module.imports(module).map((one) => `${one.module}.${one.name}`);
insist(imports.join() === "page.random", `the module needs ${imports.join() || "nothing"}; expected page.random alone`);

let drawn = 0;
const random = () => {
  drawn += 1;
  return randomBytes(4).readInt32LE();
};
const { exports } = new WebAssembly.Instance(module, { page: { random } });
insist(exports.try_login(1) === 1, "the right password is refused");
insist(drawn > 0, "the module drew nothing from the page's generator");
insist(exports.try_login(0) === 0, "another password logs in");
console.log(`the right password logs in, another is refused; ${drawn} words drawn from the page; module of ${bytes.length} bytes`);
