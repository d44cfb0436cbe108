// The types of the DOM, or of Node, are what lockword takes.
import { layout, Mutex } from 'lockword';
import type { WaitOptions } from 'lockword';

const controller = new AbortController();
const options: WaitOptions = { timeout: 10, signal: controller.signal };
const mutex = new Mutex(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }), 64);
await mutex.runExclusive(() => controller.abort(), options);
layout({ lock: Mutex }).on(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }), 8);
await mutex.lockAsync({ signal: AbortSignal.timeout(5) });
// What there may not be is undefined, also with exactOptionalPropertyTypes.
const perhaps: { timeout?: number; signal?: AbortSignal } = {};
const { timeout, signal } = perhaps;
await mutex.runExclusive(() => 1, { timeout, signal });
// @ts-expect-error: its signal, not the controller
await mutex.lockAsync({ signal: controller });
