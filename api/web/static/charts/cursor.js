// The time under the pointer, shared by all charts of a page.

const followers = new Set();

/**
 * Get the time that another chart points at; null if it points at none.
 * @param {(time: number|null, from: object) => void} follow
 * @returns {() => void} ends it
 */
export function follow(follower) {
  followers.add(follower);
  return () => followers.delete(follower);
}

/** Send the time under the pointer to all other charts. */
export function point(time, from) {
  for (const follower of followers) follower(time, from);
}
