package org.w3id.supertwin.patterns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.jena.query.ARQ;
import org.apache.jena.query.QueryFactory;
import org.apache.jena.sparql.algebra.Algebra;
import org.apache.jena.sparql.pfunction.PropertyFunctionRegistry;
import org.apache.jena.sparql.pfunction.library.listMember;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The order of patterns without a store, where only bound and constant terms count. */
class PatternOrderTest {
    @BeforeAll
    static void register() {
        PatternOptimizer.register();
        PropertyFunctionRegistry.get().put("urn:function", listMember.class);
    }

    private static String planned(String pattern) {
        String text = "SELECT * { " + pattern.replaceAll(":(\\w+)", "<urn:$1>") + " }";
        String algebra = Algebra.optimize(Algebra.compile(QueryFactory.create(text)),
                ARQ.getContext().copy()).toString();
        return algebra.replaceAll("\\s+", " ");
    }

    private static void assertInOrder(String planned, String... parts) {
        int from = 0;
        for (String part : parts) {
            Matcher found = Pattern.compile(part).matcher(planned);
            assertTrue(found.find(from), part + " after " + from + " of " + planned);
            from = found.end();
        }
    }

    @Test
    void pathStartsAtPatternThatBindsItsEnd() {
        assertInOrder(planned("?thread :partOf+ ?node . ?node :name 'n1'"), "name", "path\\+");
    }

    @Test
    void planDoesNotDependOnTheOrderOfTriples() {
        String triples = "?thread a :Thread . ?thread :partOf+ ?node . ?node :name 'n1'";
        String[] each = triples.split(" \\. ");
        assertEquals(planned(triples), planned(each[2] + " . " + each[1] + " . " + each[0]));
        assertEquals(planned(triples), planned(each[1] + " . " + each[2] + " . " + each[0]));
    }

    @Test
    void functionGetsItsSubjectFromPatternsAfterIt() {
        assertTrue(planned("?t :function (1 ?value) . ?t :name 'n1'").startsWith(
                "(propfunc <urn:function> ?t (1 ?value) (bgp (triple ?t <urn:name>"));
    }

    @Test
    void functionGetsItsArgumentsFromPatternsAfterIt() {
        String planned = planned("?t :name 'n1' . ?t :function (?from ?value) . ?run :from ?from");
        assertTrue(planned.startsWith("(propfunc <urn:function> ?t (?from ?value) (bgp"), planned);
        assertInOrder(planned, "bgp", "urn:from");
    }

    @Test
    void functionWithListAsSubjectComesBeforePatternsOfItsObjects() {
        assertInOrder(planned("?thread :index ?cpu . ('n1' 8) :function (?rank ?thread)"),
                "^.sequence .propfunc <urn:function>", "urn:index");
    }

    @Test
    void optionalGroupStartsAtBoundVariable() {
        String planned = planned("?a :name 'n1' OPTIONAL { ?b :name ?x . ?a :to ?b }");
        assertInOrder(planned, "'n1'|\"n1\"", "urn:to", "urn:name");
    }

    @Test
    void existsStartsAtBoundVariable() {
        String planned = planned(
                "?a :name 'n1' FILTER NOT EXISTS { ?b :kind ?x . ?b :of ?a . }");
        assertInOrder(planned, "notexists", "urn:of", "urn:kind");
    }

    @Test
    void valuesAreBoundBeforeTheGroup() {
        String planned = planned("VALUES ?host { 'n1' } ?t a :Thread . ?t :of ?n . ?n :name ?host");
        assertInOrder(planned, "table", "urn:name", "urn:of", "Thread");
    }
}
