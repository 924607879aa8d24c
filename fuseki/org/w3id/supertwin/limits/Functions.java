package org.w3id.supertwin.limits;

import java.util.Comparator;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

import org.apache.commons.lang3.StringUtils;
import org.apache.jena.sparql.ARQConstants;
import org.apache.jena.sparql.expr.aggregate.AggregateRegistry;
import org.apache.jena.sparql.function.FunctionRegistry;
import org.apache.jena.sparql.pfunction.PropertyFunctionRegistry;
import org.apache.jena.sparql.util.MappedLoader;
import org.apache.jena.sparql.vocabulary.ListPFunction;
import org.apache.jena.vocabulary.RDFS;
import org.apache.jena.vocabulary.XSD;

/**
 * The functions that a query may call: those that are registered with Jena and are in one of the
 * namespaces below.
 *
 * <p>For any other IRI, Jena would load the Java class that it names, run a script, or leave the
 * result unbound.
 */
final class Functions {
    private static final String OURS = "https://w3id.org/supertwin/ns#";
    private static final Map<String, String> PREFIXES =
            Map.of(OURS, "st:", XSD.NS, "xsd:", ARQConstants.fnPrefix, "fn:",
                    ARQConstants.mathPrefix, "math:", ListPFunction.NS, "list:", RDFS.uri, "rdfs:");
    private static final Set<String> OF_EXPRESSIONS =
            Set.of(XSD.NS, ARQConstants.fnPrefix, ARQConstants.mathPrefix);
    private static final Set<String> OF_PATTERNS = Set.of(OURS, ListPFunction.NS, RDFS.uri);
    // Three would evade the limits of CONCAT, REGEX and REPLACE (LimitedExpressions), and
    // fn:apply calls any function that its argument names.
    private static final Set<String> NOT_ALLOWED =
            Set.of(ARQConstants.fnPrefix + "apply", ARQConstants.fnPrefix + "concat",
                    ARQConstants.fnPrefix + "matches", ARQConstants.fnPrefix + "replace");

    private Functions() {}

    /** Raise an error unless an expression may call this function. */
    static void checkExpression(String iri) {
        if (isOfExpressions(iri) && FunctionRegistry.get().isRegistered(iri))
            return;
        String name = name(iri);
        if (PropertyFunctionRegistry.get().isRegistered(iri))
            throw refused(name + " is not a function of expressions: write it between a subject"
                    + " and a list, as in ?telemetry " + name + " (...)");
        throw unknown(name, stream(FunctionRegistry.get().keys()).filter(Functions::isOfExpressions));
    }

    /** Raise an error if this predicate is a function that is not allowed, or a misspelt one. */
    static void checkPredicate(String iri, boolean hasList) {
        PropertyFunctionRegistry registry = PropertyFunctionRegistry.get();
        boolean isFunction = registry.isRegistered(iri);
        boolean isOther = !isFunction && MappedLoader.mapDynamicURI(iri) == null;
        // A term of our ontology never has a list as its value.
        boolean isMisspelt = hasList && iri.startsWith(OURS);
        if (isFunction ? isIn(OF_PATTERNS, iri) : isOther && !isMisspelt)
            return;
        throw unknown(name(iri), stream(registry.keys()).filter(key -> isIn(OF_PATTERNS, key)));
    }

    /** Raise an error unless this aggregate is registered, so that Jena loads no class for it. */
    static void checkAggregate(String iri) {
        if (!AggregateRegistry.isRegistered(iri))
            throw unknown(name(iri), Stream.of());
    }

    static QueryError refused(String message) {
        return new QueryError("function-refused", 400, message);
    }

    private static QueryError unknown(String name, Stream<String> allowed) {
        String near = allowed.map(Functions::name).sorted()
                .min(Comparator.comparingInt(one -> StringUtils.getLevenshteinDistance(one, name)))
                .filter(one -> StringUtils.getLevenshteinDistance(one, name) <= name.length() / 2)
                .map(one -> "; near: " + one).orElse("; docs/reference/api.md lists those");
        return refused(name + " is not a function that a query may call" + near);
    }

    private static boolean isOfExpressions(String iri) {
        return isIn(OF_EXPRESSIONS, iri) && !NOT_ALLOWED.contains(iri);
    }

    private static boolean isIn(Set<String> namespaces, String iri) {
        return namespaces.contains(namespace(iri));
    }

    private static String namespace(String iri) {
        return iri.substring(0, iri.indexOf('#') + 1);
    }

    private static String name(String iri) {
        String prefix = PREFIXES.get(namespace(iri));
        return prefix == null ? "<" + iri + ">" : prefix + iri.substring(iri.indexOf('#') + 1);
    }

    private static Stream<String> stream(Iterator<String> keys) {
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(keys, 0), false);
    }
}
