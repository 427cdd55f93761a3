// node wasm.mjs PROGRAM.wasm: runs main, prints what it writes.
import { readFileSync } from "node:fs";

let memory;
const write = (at, n) => process.stdout.write(Buffer.from(memory.buffer, at, n));
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), { board: { write } });
memory = instance.exports.memory;
process.exit(instance.exports.main());
