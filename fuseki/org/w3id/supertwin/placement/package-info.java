/**
 * Places of threads in hwloc's tree of a host, as property functions of Fuseki.
 *
 * <p>{@link PlacementFunction} reads the call of a row and the tree of its host
 * ({@link HostTree}), which {@link Branch} nests, orders and spreads threads over.
 */
package org.w3id.supertwin.placement;
