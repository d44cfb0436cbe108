/**
 * Stands in for js/src/agent.js in this package (build.js). The owner in a region's words is not
 * the agent of lockword but the thread's id in that region, and a thread may have several regions
 * open. A region's primitive sets `self` when its words are read, and the code of js/src reads the
 * words of a primitive before `self`: `step(this.words, self)`.
 */

export { assertMayBlock, shared, unchecked } from '../../../js/src/agent.js';

/** The thread's id in the region whose words were read last. */
export let self = 0;

/** @param {number} id */
export const become = (id) => (self = id);
