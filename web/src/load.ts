// The WebAssembly module: the one for engines with vectors, or the other. Each is a script that gives its bytes, so that no bundler and no server must
// know what a `.wasm` file is, and a page loads only the one it needs. The one with vectors is compressed as well, since base64 spoils what a server's own
// compression could do. Engines that can't inflate it are as old as those without vectors, and take the other.

import { OpaqueError } from "./error.js";

let module: Promise<WebAssembly.Module> | undefined;

/** A function that returns a vector: engines without the proposal `simd128` find it invalid. */
const WITH_A_VECTOR = Uint8Array.of(
  ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  // Types: one function, from nothing to v128.
  ...[0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b],
  // Functions: one of that type.
  ...[0x03, 0x02, 0x01, 0x00],
  // Code: i32.const 0, i8x16.splat, end.
  ...[0x0a, 0x08, 0x01, 0x06, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x0b],
);

/** The module, compiled once for all workers. */
export function loadModule(): Promise<WebAssembly.Module> {
  module ??= compile().catch((error: unknown) => {
    // The next one tries again.
    module = undefined;
    throw error;
  });
  return module;
}

/** Whether this engine has 128-bit vectors. */
export function hasVectors(): boolean {
  return WebAssembly.validate(WITH_A_VECTOR);
}

async function compile(): Promise<WebAssembly.Module> {
  const inflate = hasVectors() ? inflating() : null;
  const script = await loaded(() => (inflate === null ? import("./module-scalar.js") : import("./module-simd.js")));
  try {
    const plain = bytes(script.default);
    if (inflate === null) return await WebAssembly.compile(plain);
    return await WebAssembly.compile(await new Response(new Blob([plain]).stream().pipeThrough(inflate)).arrayBuffer());
  } catch (error) {
    throw new OpaqueError("internal", `the WebAssembly module can't be compiled: ${String(error)}`, error);
  }
}

/** A script of this package that is loaded only when it is needed. */
export async function loaded<M>(load: () => Promise<M>): Promise<M> {
  try {
    return await load();
  } catch (error) {
    throw new OpaqueError("network", `a script can't be loaded: ${String(error)}`, error);
  }
}

function inflating(): DecompressionStream | null {
  try {
    return new DecompressionStream("deflate-raw");
  } catch {
    return null;
  }
}

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
