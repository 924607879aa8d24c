package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

import org.apache.jena.Jena;
import org.apache.jena.fuseki.server.Operation;
import org.apache.jena.fuseki.server.OperationRegistry;
import org.apache.jena.sparql.pfunction.PropertyFunctionRegistry;
import org.apache.jena.sys.JenaSubsystemLifecycle;
import org.w3id.supertwin.patterns.PatternOptimizer;

import org.w3id.supertwin.placement.PlacementFunction;

/** Registers the functions with Jena, and the handler of queries with Fuseki. */
public final class Extension implements JenaSubsystemLifecycle {
    private static final int AFTER_FUSEKI = 500;

    @Override
    public int level() {
        return AFTER_FUSEKI;
    }

    @Override
    public void start() {
        endUnlessBuiltFor(Jena.VERSION);
        SeriesStore store = SeriesStore.fromEnvironment();
        PropertyFunctionRegistry functions = PropertyFunctionRegistry.get();
        for (Function function : Function.values())
            functions.put(function.iri(), iri -> new SampleFunction(function, store));
        VirtualFunction.register(store);
        PlacementFunction.register();
        OperationRegistry.get().register(Operation.Query, new QueryHandler());
        CsvRows.register();
        PatternOptimizer.register();
    }

    @Override
    public void stop() {}

    /** An extension that was built for another Jena may fail in the middle of any query. */
    private static void endUnlessBuiltFor(String version) {
        String built = builtFor();
        if (built.equals(version))
            return;
        System.err.println("ERROR: SuperTwin's extension of Fuseki was built for Jena " + built
                + ", but this is Jena " + version + ": run `make up`, which builds it again");
        // Jena would log an exception of this method and go on without the functions.
        Runtime.getRuntime().halt(1);
    }

    private static String builtFor() {
        try (InputStream file = Extension.class.getResourceAsStream("jena-version")) {
            return file == null ? "an unknown version"
                    : new String(file.readAllBytes(), StandardCharsets.UTF_8).strip();
        } catch (IOException error) {
            return "an unknown version";
        }
    }
}
