// The time under the pointer, shared by all pictures of a page.

const followers = new Set();

/**
 * Be told of the time that another picture points at; null when it points at none.
 * @param {(time: number|null, from: object) => void} follow
 * @returns {() => void} ends it
 */
export function follow(follower) {
  followers.add(follower);
  return () => followers.delete(follower);
}

/** Tell all other pictures which time is pointed at. */
export function point(time, from) {
  for (const follower of followers) follower(time, from);
}
