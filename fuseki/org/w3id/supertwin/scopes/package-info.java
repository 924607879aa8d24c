/**
 * What the caller of a query may see: hosts, jobs, users and metrics.
 *
 * <p>{@link Scope} is what the API sends with a query. {@link ScopedDataset} is the dataset without
 * the triples that the scope hides: its indexes leave them out, so no form of query, path or
 * function can reach them. {@link Visibility} decides for each triple, by the rules of
 * {@link Rules} for graphs and nodes. {@link Owned} finds the control groups of jobs and users.
 */
package org.w3id.supertwin.scopes;
