/** What many rounds come to. */

export function percentile(samples, p) {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (sorted.length - 1) * p;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.ceil(at)] - sorted[low]) * (at - low);
}

export const median = (samples) => percentile(samples, 0.5);
