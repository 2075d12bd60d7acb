"use strict";

/** The noun for a number of things. */
function plural(count, noun, several = `${noun}s`) {
  return count === 1 ? noun : several;
}

/** `1 block`, `2 blocks` */
function counted(count, noun, several) {
  return `${count} ${plural(count, noun, several)}`;
}
