/**
 * The order in which patterns of a query are evaluated.
 *
 * <p>TDB2 orders triples within one basic graph pattern, by the shape of each triple. A property
 * path ends such a pattern, and shapes do not tell a host name from a thread's number. Therefore
 * the order that an author writes can make a query a hundred times slower. Here triples, paths and
 * property functions of a group are ordered together, by counts from the store.
 */
package org.w3id.supertwin.patterns;
