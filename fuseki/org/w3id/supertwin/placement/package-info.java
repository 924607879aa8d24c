/**
 * Property functions that order the threads of a host, or spread them, by hwloc's tree.
 *
 * <p>{@link PlacementFunction} reads the call in a row. {@link HostTree} reads the host from the
 * graph. {@link Branch} is its tree: it nests and orders sets of threads, and spreads threads.
 */
package org.w3id.supertwin.placement;
