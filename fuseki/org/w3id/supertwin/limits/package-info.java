/**
 * What a query may call and use, so that one query cannot stop the others.
 *
 * <p>{@link Limits} registers everything when Fuseki starts. {@link LimitedAlgebra} checks the
 * functions of each query and update before it runs, and limits the literals that they make. {@link
 * LimitedQueries} registers each query while it runs. When memory runs short, {@link HeapWatch}
 * aborts the query that has allocated most.
 */
package org.w3id.supertwin.limits;
