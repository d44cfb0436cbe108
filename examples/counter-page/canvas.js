/** Canvases as sharp as the screen, in the colours of the style sheet. */

/**
 * Makes a canvas as large as it is shown, and empty.
 *
 * @param {HTMLCanvasElement} canvas
 */
export function clear(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  return { context: canvas.getContext('2d'), width: canvas.width, height: canvas.height, scale };
}

/** The value of a custom property, where the element stands. */
export const colour = (element, name) => getComputedStyle(element).getPropertyValue(name);
