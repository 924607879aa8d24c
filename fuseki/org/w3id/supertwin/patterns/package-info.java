/**
 * The order in which patterns of a query are evaluated.
 *
 * <p>TDB2 orders triples only within one basic graph pattern, by the shape of each triple (which of
 * its terms are variables). A property path ends such a pattern, and a triple with a rare value,
 * such as a host name, has the same shape as one with a common value, such as the number of a
 * thread. So a query could become a hundred times slower by the order in which it was written. Here
 * triples, paths and property functions of a group are ordered together, by counts from the store.
 */
package org.w3id.supertwin.patterns;
