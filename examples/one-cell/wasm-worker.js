/** A worker in C: adds to the cell, on a stack of its own. */
import { imports } from 'lockword/wasm';

import { serve } from '../worker.js';

serve(async ({ memory, module, stackTop, at, times, guarded }) => {
  const { exports } = await WebAssembly.instantiate(module, { env: { memory }, ...imports() });
  exports.__stack_pointer.value = stackTop;
  exports.add(at, times, guarded ? 1 : 0);
});
