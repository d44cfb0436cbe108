/** What every browser of index.js can do in terms of what each does in its own way. */

const POLL_MS = 50;

export class Page {
  /** Errors that pages have left in the console. WebKitGTK's driver does not tell. */
  problems = [];

  /**
   * Resolves once the function returns something true in the page, and with that. A page that is
   * just being left returns nothing.
   */
  async until(condition, { timeout = 15_000, args = [] } = {}) {
    const end = performance.now() + timeout;
    for (;;) {
      let cause;
      const answer = await this.evaluate(condition, ...args).catch((error) => void (cause = error));
      if (answer) return answer;
      if (performance.now() > end)
        throw new Error(`not within ${timeout} ms: ${condition}`, { cause });
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}
