/** A worker: does the program's work, on a stack of its own. */
import { serve } from '../worker.js';
import { instantiate } from './instance.js';

serve(async ({ module, memory, stackTop }) => {
  const program = await instantiate(module, memory, () => {});
  program.__stack_pointer.value = stackTop;
  program.work();
});
