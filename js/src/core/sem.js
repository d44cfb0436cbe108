/*
 * sem.c: the semaphore's steps. The meaning of the words is in core/sem.h.
 *
 * A release wakes as many threads as it gives permits, and all event loops. A wake obliges
 * (core/waiters.h, rules 1 to 4). A thread that may have consumed a notify takes the last permit
 * with the mark set again, or takes a permit and notifies one thread more.
 *
 * A thread that needs more permits than it was woken for could consume a notify that would have
 * served another thread. So requests for several permits follow three rules more:
 *
 *   5. A request for several permits that has to wait claims them. So does an event loop whose wait
 *      ended in vain: to run takes it longer than a thread, so that a reservation, which is for all
 *      that waited, would not give it a permit. There is one claim at a time.
 *      The claimant sleeps at the state. If it is woken in vain, it passes the notify on before it
 *      sleeps again. As only one thread does that, two of them cannot wake each other without end.
 *      It also moves the ticket: if another thread takes the claim for its own, that one finds that
 *      it is not, and waits in line.
 *   6. While a claim stands, newcomers neither take permits nor sleep at the state. Threads sleep
 *      in line, at the claim; event loops stay at the gate. Only waiters that were at the state
 *      before the claim may still take. They are fewer with each permit that they take, so the
 *      claimant is overtaken at most once by each of them. One that starves reserves the permits
 *      from claimants, too: a claimant that a notify has woken leaves them to it, and waits
 *      briefly. Otherwise each next claim could be served before that waiter.
 *   7. The end of a claim wakes event loops, and the first thread in line. That thread owes the
 *      line a notify: it claims, and the mark of the line stays, or it notifies the next one when
 *      it has its permits, sleeps at the state, or gives up. The claim stays closed to newcomers
 *      meanwhile, so that they do not overtake the line. Where a CPU has several threads, one that
 *      was woken may have to wait for time slices of others before it wakes the next one. So a
 *      thread in line also re-checks, once for each wait there.
 *
 * The claimant may be a busy event loop, or it may have died. So a thread that finds enough permits
 * for the claim and for itself waits briefly, and so does an event loop that finds them by a
 * re-check. If the same claim stands beside so many permits when the brief wait is over, the waiter
 * takes it over. The claimant, if it is alive, finds another ticket, and begins again. While event
 * loops wait, a release wakes one in line, too, to look.
 *
 * Printed by `make core` from src/core/sem.c and include/lockword/core/sem.h: do not edit.
 */

import {
  waitersNotify,
  waitersResume,
  waitersStarves,
  waitersUnreserves,
  waitersWay,
} from './waiters.js';
import { notify } from '../wait.js';
import {
  LW_ASYNC,
  LW_ASYNC_WAITERS,
  LW_BLOCKED_WAITERS,
  LW_CANCELLED,
  LW_DONE,
  LW_ENTITLED,
  LW_GAVE_UP,
  LW_OK,
  LW_OWES,
  LW_QUEUE,
  LW_QUEUED,
  LW_SEM_CLAIM,
  LW_SEM_CLAIMED,
  LW_SEM_GATE,
  LW_SEM_LINE,
  LW_SEM_MAX,
  LW_SEM_NEED,
  LW_SEM_ONE_TICKET,
  LW_SEM_OVERFLOW,
  LW_SEM_RESERVED,
  LW_SEM_STATE,
  LW_SEM_TICKET,
  LW_SLICE,
  LW_TIMED_OUT,
  LW_WAIT,
  LW_WAITERS,
  LW_WAIT_BRIEF,
  LW_WAIT_IDLE,
  LW_WHY,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

// The phase's own bits, by what the waiter waits for. The others are those of core/waiters.h.
//
//     bits          permits                    permits that it claimed      the end of a claim
//     0-1           OWES, ENTITLED             OWES, ENTITLED               0
//     2  CLAIMS     0                          1                            0
//     3  BEHIND     0                          0                            1
//     4-6           bit 4: WAITS               TICKET                       TICKET, if BESIDE
//     8 on          waits in vain, re-checks   bits 9 on: how often its     bit 8: BESIDE
//                                              ticket moved
//
// Bit 7, OWES_LINE, is set only while a step runs: from when a thread was woken in line until it
// claims, or has passed the wake on.
const CLAIMS = 0x0004; // has claimed
const BEHIND = 0x0008; // waits behind a claim: a thread in line, an event loop at the gate
const TICKET = 0x0070; // that of the claim's word, shifted
const WAITS = 0x0010; // waits at the state, without a claim
const OWES_LINE = 0x0080; // may have consumed a notify of the line
const BESIDE = 0x0100; // waits briefly, beside the claim whose TICKET this is
const ONE_RENEWAL = 0x0200; // a claimant has moved its ticket once more
const TICKET_SHIFT = 24;

// The bits of a ticket that move. With fewer of them the explorer has fewer states.
const TICKETS = LW_SEM_TICKET;

// The highest count of these. Fewer are explored: with spurious wake-ups there would be no end.
const MOST_RENEWALS = 0xfe00;

/**
 * Takes n permits, unless there are fewer, they are kept for waiters, or the word changes
 * meanwhile. The fast path of an acquire.
 *
 * @param {Words} sem
 * @param {number} n
 * @returns {boolean}
 */
export function semTake(sem, n) {
  const LW_SEM_STATE = 0;
  const LW_SEM_MAX = 0x0fffffff;
  const LW_SEM_CLAIMED = 0x10000000;
  const LW_SEM_RESERVED = 0x20000000;

  const state = sem[LW_SEM_STATE];
  return (
    !(state & (LW_SEM_CLAIMED | LW_SEM_RESERVED)) &&
    (state & LW_SEM_MAX) >= n >>> 0 &&
    Atomics.compareExchange(sem, LW_SEM_STATE, state, state - n) === state
  );
}

/**
 * Gives n permits, unless an agent waits, there would be too many, or the word changes meanwhile.
 * The fast path of a release.
 *
 * @param {Words} sem
 * @param {number} n
 * @returns {boolean}
 */
export function semGive(sem, n) {
  const LW_SEM_STATE = 0;
  const LW_SEM_MAX = 0x0fffffff;

  const state = sem[LW_SEM_STATE];
  // At most LW_SEM_MAX: no bit above the permits is set.
  return (
    state >>> 0 <= LW_SEM_MAX &&
    n >>> 0 <= (LW_SEM_MAX - state) >>> 0 &&
    Atomics.compareExchange(sem, LW_SEM_STATE, state, state + n) === state
  );
}

/**
 * Returns how many permits are available at this moment.
 *
 * @param {Words} sem
 * @returns {number}
 */
export function semPermits(sem) {
  return Atomics.load(sem, LW_SEM_STATE) & LW_SEM_MAX;
}

/**
 * Takes n permits if they are available, also if they are kept for waiters, and returns whether it
 * did.
 *
 * @param {Words} sem
 * @param {number} n
 * @returns {boolean}
 */
export function semTryStep(sem, n) {
  let seen = Atomics.load(sem, LW_SEM_STATE);
  while ((seen & LW_SEM_MAX) >= n >>> 0) {
    const state = seen;
    seen = Atomics.compareExchange(sem, LW_SEM_STATE, state, state - n);
    if (seen === state) return true;
  }
  return false;
}

/**
 * @param {number} phase
 * @returns {boolean}
 */
function reserves(phase) {
  return !(phase & CLAIMS) && waitersStarves(phase);
}

/**
 * Leaves so many permits in the state, and ends the waiter's own claim there, and the reservation
 * if `reserved` is its bit. If agents may now take what was barred from them, it notifies those
 * that the marks stand for. Returns what the state held: if it is not `state`, nothing has changed.
 *
 * @param {Words} sem
 * @param {number} state
 * @param {number} left
 * @param {number} reserved
 * @param {number} phase
 * @returns {number}
 */
function change(sem, state, left, reserved, phase) {
  const LW_SEM_STATE = 0;
  const LW_SEM_MAX = 0x0fffffff;
  const LW_SEM_CLAIMED = 0x10000000;
  const LW_BLOCKED_WAITERS = 0x80000000 | 0;
  const LW_OWES = 0x0001;

  const owed = phase & LW_OWES ? LW_BLOCKED_WAITERS : 0;
  const bars = reserved | (phase & CLAIMS ? LW_SEM_CLAIMED : 0);
  const next = (state & ~(LW_SEM_MAX | bars)) | left | (left === 0 ? owed : 0);
  const seen = Atomics.compareExchange(sem, LW_SEM_STATE, state, next);
  if (seen === state && left !== 0) waitersNotify(sem, (state & bars ? state : 0) | owed, 1);
  return seen;
}

/**
 * Wakes the next thread in line, unless a claim stands, whose end does that. If no thread is asleep
 * there, the line ends. Then this function wakes those that have fallen asleep in between. A thread
 * that is about to fall asleep will find that the word has changed.
 *
 * @param {Words} sem
 */
function passLine(sem) {
  const claim = Atomics.load(sem, LW_SEM_CLAIM);
  if (!(claim & LW_SEM_LINE) || claim & LW_SEM_NEED || notify(sem, LW_SEM_CLAIM, 1) > 0) return;
  if (Atomics.compareExchange(sem, LW_SEM_CLAIM, claim, claim & ~LW_SEM_LINE) === claim)
    notify(sem, LW_SEM_CLAIM);
}

/**
 * Returns whether the claim that stands, or stood last, is the one with the phase's ticket.
 *
 * @param {number} claim
 * @param {number} phase
 * @returns {boolean}
 */
function isClaimOf(claim, phase) {
  return (claim & LW_SEM_TICKET) === (phase & TICKET) << TICKET_SHIFT;
}

/**
 * Claims n permits, in place of the claim that the word held. Returns the phase's bits of the new
 * claim; 0 if the word holds another value by now.
 *
 * @param {Words} sem
 * @param {number} claim
 * @param {number} n
 * @returns {number}
 */
function claimAfter(sem, claim, n) {
  const LW_SEM_CLAIM = 2;
  const LW_SEM_ONE_TICKET = 0x10000000;
  const LW_SEM_LINE = 0x80000000 | 0;

  const ticket = (claim + LW_SEM_ONE_TICKET) & TICKETS;
  const mine = n | ticket | (claim & LW_SEM_LINE);
  return Atomics.compareExchange(sem, LW_SEM_CLAIM, claim, mine) === claim
    ? CLAIMS | (ticket >>> TICKET_SHIFT)
    : 0;
}

/**
 * Moves the ticket of the waiter's claim, and returns the phase with the new one. The phase stays
 * if the word changes meanwhile, or if another waiter has taken the claim over, which the next step
 * finds out.
 *
 * @param {Words} sem
 * @param {number} phase
 * @returns {number}
 */
function renew(sem, phase) {
  const claim = Atomics.load(sem, LW_SEM_CLAIM);
  const mine = isClaimOf(claim, phase) ? claimAfter(sem, claim, claim & LW_SEM_NEED) : 0;
  return mine ? ((phase & ~TICKET) | mine) + ONE_RENEWAL : phase;
}

/**
 * Wakes event loops that wait for the end of a claim, which has come. They hear of a release, but
 * that is before the claimant has its permits. Loops that were not told of the end would find one
 * claim after another, while those in line are told.
 *
 * The mark of event loops may be gone, by a release, when a loop waits that the claim must not
 * strand. The state's mark of the claim went before the claim ended. An event loop whose claim this
 * one had replaced, and that did not know it yet, may have set that mark again: it bars all, that
 * loop included, and only the next claim ends it. The loop may also have looked while this claim
 * stood, and wait for its end. So either the loop has to see that the claim has ended, or this the
 * mark. That this load stays behind the operation that ended the claim is what x86, ARM and
 * ECMAScript do with these orders; C promises it only of stronger ones.
 *
 * @param {Words} sem
 */
function wakeLoops(sem) {
  if (Atomics.load(sem, LW_SEM_STATE) & (LW_SEM_CLAIMED | LW_ASYNC_WAITERS))
    notify(sem, LW_SEM_GATE);
}

/**
 * Ends the operation: ends the waiter's claim, and pays what it owes the line.
 *
 * @param {Words} sem
 * @param {number} what
 * @param {number} left
 * @param {number} phase
 * @returns {Answer}
 */
function end(sem, what, left, phase) {
  if (phase & CLAIMS) {
    let seen = Atomics.load(sem, LW_SEM_CLAIM);
    while (isClaimOf(seen, phase)) {
      const claim = seen;
      seen = Atomics.compareExchange(sem, LW_SEM_CLAIM, claim, claim & ~LW_SEM_NEED);
      if (seen === claim) {
        wakeLoops(sem);
        break;
      }
    }
  }
  if (phase & (CLAIMS | OWES_LINE)) passLine(sem);
  return { what, word: 0, phase: 0, expected: left };
}

/**
 * @param {Words} sem
 * @param {number} phase
 * @returns {Answer}
 */
function giveUp(sem, phase) {
  // A caller that only looked has nothing to take back.
  if (phase === 0) return { what: LW_GAVE_UP, word: 0, phase: 0, expected: 0 };
  let seen = Atomics.load(sem, LW_SEM_STATE);
  let state;
  do {
    state = seen;
    seen = change(sem, state, state & LW_SEM_MAX, reserves(phase) ? LW_SEM_RESERVED : 0, phase);
  } while (seen !== state);
  return end(sem, LW_GAVE_UP, 0, phase);
}

/**
 * Returns whether a waiter may claim when the claim's word holds this. If no claim stands, event
 * loops may, and threads that do not overtake the line. A claim can be taken over by a waiter that
 * waited briefly beside it and beside enough permits for both. `phase` is that of the wait.
 *
 * @param {number} claim
 * @param {number} state
 * @param {number} n
 * @param {number} why
 * @param {number} phase
 * @returns {boolean}
 */
function mayClaim(claim, state, n, why, phase) {
  const permits = state & LW_SEM_MAX;
  if (!(claim & LW_SEM_NEED))
    return !(claim & LW_SEM_LINE) || (why & LW_ASYNC) !== 0 || (phase & BEHIND) !== 0;
  return (
    (why & LW_WHY) === LW_SLICE &&
    (phase & BESIDE) !== 0 &&
    isClaimOf(claim, phase) &&
    permits >= n >>> 0 &&
    permits >= (claim & LW_SEM_NEED)
  );
}

/**
 * Returns the phase of a caller that was resumed for this reason.
 *
 * @param {Words} sem
 * @param {number} phase
 * @param {number} why
 * @returns {number}
 */
function resume(sem, phase, why) {
  // A caller that has not waited has phase 0: that its time is up entitles it to nothing.
  if (phase === 0) return 0;
  const resumed = waitersResume(phase, why);
  if (phase & BEHIND) return resumed & LW_OWES ? OWES_LINE : 0;
  if (!(phase & CLAIMS)) return resumed;
  if (!isClaimOf(Atomics.load(sem, LW_SEM_CLAIM), phase)) return resumed & LW_OWES;
  // A notify does not entitle it: rule 6.
  const kept = (why & LW_WHY) === LW_OK ? LW_OWES : LW_OWES | LW_ENTITLED;
  return (phase & ~LW_ENTITLED) | (resumed & kept);
}

/**
 * A step: takes n permits, all at once, and waits as often as needed. The result is how many
 * permits are left.
 *
 * @param {Words} sem
 * @param {number} n
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function semAcquireStep(sem, n, why, phase) {
  const async = (why & LW_ASYNC) !== 0;
  const waited = phase;
  phase = resume(sem, phase, why);
  if ((why & LW_WHY) === LW_CANCELLED) return giveUp(sem, phase);

  let seen = Atomics.load(sem, LW_SEM_STATE);
  for (;;) {
    const state = seen;
    const permits = state & LW_SEM_MAX;
    const bars = phase & CLAIMS ? LW_SEM_RESERVED : LW_SEM_RESERVED | LW_SEM_CLAIMED;
    const barred = n !== 0 && (state & bars) !== 0 && !(phase & LW_ENTITLED);
    if (permits >= n >>> 0 && !barred) {
      // While a claimant waited briefly, nobody came for what was reserved.
      const unreserves =
        phase & CLAIMS ? (why & LW_WHY) === LW_SLICE : waitersUnreserves(phase, why);
      seen = change(sem, state, (permits - n) | 0, unreserves ? LW_SEM_RESERVED : 0, phase);
      if (seen === state) return end(sem, LW_DONE, (permits - n) | 0, phase);
      continue;
    }
    if ((why & LW_WHY) === LW_TIMED_OUT) return giveUp(sem, phase);
    if (async && !(why & LW_QUEUED))
      return { what: LW_QUEUE, word: LW_SEM_GATE, phase, expected: 0 };

    let claim = 0;
    // It has to claim, or else to wait behind what stands there: rules 5 and 6.
    const behind =
      !(phase & CLAIMS) &&
      (n >>> 0 > 1 ||
        (async && (phase & LW_ENTITLED) !== 0) ||
        ((state & LW_SEM_CLAIMED) !== 0 && !(phase & WAITS)));
    if (behind) {
      claim = Atomics.load(sem, LW_SEM_CLAIM);
      if (mayClaim(claim, state, n, why, waited)) {
        const mine = claimAfter(sem, claim, n);
        if (mine) phase = (phase & LW_OWES) | mine;
        seen = Atomics.load(sem, LW_SEM_STATE);
        continue;
      }
    }

    // Release: a release that sees the mark also sees the wait that was queued before it.
    const marked =
      state |
      (async ? LW_ASYNC_WAITERS : LW_BLOCKED_WAITERS) |
      (phase & CLAIMS ? LW_SEM_CLAIMED : 0) |
      (!behind && reserves(phase) && permits < n >>> 0 ? LW_SEM_RESERVED : 0);
    if (marked !== state) {
      seen = Atomics.compareExchange(sem, LW_SEM_STATE, state, marked);
      if (seen !== state) continue;
    }
    if (phase & LW_OWES && permits > 0) {
      if (phase & CLAIMS && phase < MOST_RENEWALS) phase = renew(sem, phase);
      notify(sem, LW_SEM_STATE, 1);
    }
    if (behind) {
      const rechecks = (why & LW_WHY) === LW_SLICE;
      const isBeside = permits >= n >>> 0 && permits >= (claim & LW_SEM_NEED);
      const isBrief = isBeside && (rechecks || !async);
      const beside = BESIDE | ((claim & LW_SEM_TICKET) >>> TICKET_SHIFT);
      const atClaim = BEHIND | (isBrief ? beside : 0);
      const way = isBrief ? LW_WAIT_BRIEF : rechecks || async ? LW_WAIT_IDLE : LW_WAIT;
      if (async) return { what: way, word: LW_SEM_GATE, phase: atClaim, expected: 0 };
      const line = claim | LW_SEM_LINE;
      if (Atomics.compareExchange(sem, LW_SEM_CLAIM, claim, line) === claim)
        return { what: way, word: LW_SEM_CLAIM, phase: atClaim, expected: line };
      seen = Atomics.load(sem, LW_SEM_STATE);
      continue;
    }
    if (phase & OWES_LINE) passLine(sem);
    // A claimant need not re-check: nobody overtakes it.
    const isIdle = (phase & CLAIMS) !== 0 && permits < n >>> 0;
    const way = isIdle ? LW_WAIT_IDLE : waitersWay(phase, permits >= n >>> 0);
    const atState = (phase & ~(LW_OWES | OWES_LINE)) | (phase & CLAIMS ? 0 : WAITS);
    return {
      what: way,
      word: async ? LW_SEM_GATE : LW_SEM_STATE,
      phase: atState,
      expected: async ? 0 : marked,
    };
  }
}

/**
 * Gives n permits, and wakes. Returns how many permits there were before, or LW_SEM_OVERFLOW, with
 * nothing changed.
 *
 * @param {Words} sem
 * @param {number} n
 * @returns {number}
 */
export function semReleaseStep(sem, n) {
  let seen = Atomics.load(sem, LW_SEM_STATE);
  let state;
  do {
    state = seen;
    const permits = state & LW_SEM_MAX;
    if (n >>> 0 > LW_SEM_MAX - permits) return LW_SEM_OVERFLOW;
    if (n === 0) return permits;
    // Acquire: pairs with the mark, so that the notify below comes after the wait.
    seen = Atomics.compareExchange(sem, LW_SEM_STATE, state, (state & ~LW_WAITERS) + n);
  } while (seen !== state);
  // From here on the memory may be gone.
  if (state & LW_ASYNC_WAITERS) {
    // First: an event loop that is woken after a thread often waits for that thread's CPU.
    notify(sem, LW_SEM_GATE);
    // The claimant may be a busy event loop. A thread in line looks whether it is.
    if (state & LW_SEM_CLAIMED) notify(sem, LW_SEM_CLAIM, 1);
  }
  if (state & LW_BLOCKED_WAITERS) notify(sem, LW_SEM_STATE, n >>> 0);
  return state & LW_SEM_MAX;
}

/**
 * If the claimant lives, it finds another ticket, and claims anew. The line ends, too: no claimant
 * owes it a notify now. Whoever was barred by the claim's mark in the state claims, and so ends it.
 *
 * @param {Words} sem
 */
export function semBuryStep(sem) {
  let seen = Atomics.load(sem, LW_SEM_CLAIM);
  let claim;
  do {
    claim = seen;
    if (!(claim & (LW_SEM_NEED | LW_SEM_LINE))) return;
    seen = Atomics.compareExchange(sem, LW_SEM_CLAIM, claim, (claim + LW_SEM_ONE_TICKET) & TICKETS);
  } while (seen !== claim);
}
