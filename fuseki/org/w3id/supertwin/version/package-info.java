/**
 * The version of a dataset, in a header of every answer to a query.
 *
 * <p>A client that keeps answers learns from it whether a write could have changed them.
 */
package org.w3id.supertwin.version;
