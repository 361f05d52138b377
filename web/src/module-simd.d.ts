// `cargo xtask wasm` writes the script.

/** The WebAssembly module with vectors, compressed (RFC 1951), in base64. */
declare const module: string;
export default module;
