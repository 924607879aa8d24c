/**
 * Samples of the series store in SPARQL, as property functions of Fuseki.
 *
 * <p>{@link Extension} registers everything when Fuseki starts. {@link SampleFunction} is called
 * with all rows that precede a function in a query; it reads the call of each row
 * ({@link Call}), finds the series in the graph ({@link Catalogue}), and sends few requests to
 * VictoriaMetrics ({@link SeriesStore}).
 */
package org.w3id.supertwin.samples;
