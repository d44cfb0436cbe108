/**
 * The addon: addon.c says what its functions do. load.cjs finds it.
 *
 * @type {{
 *   open(
 *     path: string,
 *     flags: number,
 *     mode: number,
 *     size: number,
 *     heard: (moved: number) => void,
 *   ): number | { handle: object, byteLength: number },
 *   map(handle: object, view: Uint8Array): number,
 *   close(handle: object): void,
 *   agent(handle: object): [error: number, id: number, busy: number],
 *   mutex(
 *     handle: object,
 *     name: string,
 *     kind: number,
 *   ): [error: number, offset: number, fate: number],
 *   named(
 *     handle: object,
 *     name: string,
 *     kind: number,
 *     initial: Int32Array,
 *   ): [error: number, offset: number, none: number],
 *   bytes(
 *     handle: object,
 *     name: string,
 *     size: number,
 *   ): [error: number, offset: number, none: number],
 *   permits(
 *     handle: object,
 *     name: string,
 *     n: number,
 *   ): [error: number, offset: number, slot: number],
 *   rwtable(
 *     handle: object,
 *     name: string,
 *   ): [error: number, offset: number, fate: number, readers: number, slot: number],
 *   slot(handle: object, offset: number): number,
 *   remove(handle: object, name: string): number,
 *   list(handle: object): Info[],
 *   list(handle: object, name: string): Info | undefined,
 *   nameThread(handle: object, name: string): number,
 *   wait(handle: object, offset: number, expected: number, ms: number): number,
 *   notify(handle: object, offset: number, n: number): number,
 *   notifyAsync(handle: object, offset: number): number,
 *   listen(handle: object, bells: number): number,
 *   now(): number,
 *   nextLook(waited: number): number,
 *   bury(handle: object, offset: number): void,
 *   unlock(handle: object, offset: number, fate: number): number,
 * }}
 *
 * @typedef {object} Info struct lw_region_info (include/lockword/region.h)
 * @property {string} name
 * @property {number} fate an errno code, or 0
 * @property {number} holderPid
 * @property {number} holderTid
 * @property {string} holder
 * @property {number} waiters
 * @property {number} longestMs
 * @property {number} acquisitions
 * @property {number} contended
 * @property {number} recoveries
 * @property {number} kind
 * @property {number} size
 * @property {number} permits
 * @property {number} held
 */
// @ts-ignore It stands beside the bundle, and loads machine code.
export { default as addon } from '../load.cjs';
