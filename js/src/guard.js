/** A lock that is held, as a value: whoever has it releases it, at the latest at the end of its scope. */

/** Symbol.dispose, or what transpilers use in its stead where an engine has none: `using` needs them to be the same. */
export const dispose = /** @type {typeof Symbol.dispose} */ (Symbol.dispose ?? Symbol.for('Symbol.dispose'));

/**
 * What it releases is the lock that this agent holds then. An agent holds a lock, not a task: if another task of it has unlocked meanwhile, that is an
 * OwnershipError; and if one has locked again since, its lock is released.
 */
export class Guard {
  /** @type {(() => void) | undefined} */
  #unlock;

  /** @param {() => void} unlock */
  constructor(unlock) {
    this.#unlock = unlock;
  }

  /** Releases what is held. Once: further calls do nothing. */
  unlock() {
    const unlock = this.#unlock;
    this.#unlock = undefined;
    unlock?.();
  }

  /** The same, at the end of a `using` block. */
  [dispose]() {
    this.unlock();
  }
}
