/**
 * An instance of the program, built with plain clang. Each worker needs one, and the main thread.
 */

import { imports } from 'lockword/emscripten';

/**
 * @param {WebAssembly.Module} module
 * @param {WebAssembly.Memory} memory that all instances share
 * @param {(text: string) => void} print
 */
export async function instantiate(module, memory, print) {
  const textAt = (address) => {
    const bytes = new Uint8Array(memory.buffer).slice(address, address + 100);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  };
  const instance = await WebAssembly.instantiate(module, {
    env: { memory },
    program: { say: (what, number) => print(`${textAt(what)}: ${number}`) },
    ...imports(memory, () => instance.exports.__indirect_function_table),
  });
  return instance.exports;
}
