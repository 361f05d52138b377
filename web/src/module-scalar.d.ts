// `cargo xtask wasm` writes the script.

/** The WebAssembly module without vectors, in base64. */
declare const module: string;
export default module;
