/**
 * What a query may use, so that one query cannot stop the others.
 *
 * <p>{@link Limits} starts everything when Fuseki starts. {@link LimitedQueries} registers each query
 * while it runs, so that {@link HeapWatch} can abort the greediest when memory becomes short.
 */
package org.w3id.supertwin.limits;
