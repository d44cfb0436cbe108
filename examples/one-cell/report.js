/** Says what is in the cell; fails if a lock was to see to it, and something is missing. */
export function report(count, expected, guarded) {
  console.log(`${count} of ${expected}${count < expected ? `: ${expected - count} lost` : ''}`);
  if (guarded && count !== expected) throw new Error('the mutex does not exclude');
}
