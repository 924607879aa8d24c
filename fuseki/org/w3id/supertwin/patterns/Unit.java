package org.w3id.supertwin.patterns;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.Triple;
import org.apache.jena.sparql.algebra.op.OpPropFunc;
import org.apache.jena.sparql.core.TriplePath;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.pfunction.PropFuncArg;

/** A part of a group that can be evaluated at any position: a triple, a path, or a function. */
sealed interface Unit {
    Set<Node> variables();

    /** About how many rows the unit gives for one row in which these variables are bound. */
    double rows(Set<Node> bound, Counts counts);

    record OfTriple(Triple triple) implements Unit {
        @Override
        public Set<Node> variables() {
            return variablesOf(List.of(
                    triple.getSubject(), triple.getPredicate(), triple.getObject()));
        }

        @Override
        public double rows(Set<Node> bound, Counts counts) {
            Node subject = triple.getSubject();
            Node object = triple.getObject();
            Node predicate = anyIfVariable(triple.getPredicate());
            boolean from = bound.contains(subject);
            boolean to = bound.contains(object);
            if (!from && !to)
                return counts.triples(anyIfVariable(subject), predicate, anyIfVariable(object));
            Counts.Degrees of = counts.degrees(predicate);
            if (from && to)
                return Math.min(1, of.out() / of.objects());
            if (from)
                return object.isConcrete()
                        ? Math.min(1, counts.triples(Node.ANY, predicate, object) / of.subjects())
                        : of.out();
            return subject.isConcrete()
                    ? Math.min(1, counts.triples(subject, predicate, Node.ANY) / of.objects())
                    : of.in();
        }
    }

    /** A path; its rows are guessed, because counting them would mean evaluating it. */
    record OfPath(TriplePath path) implements Unit {
        private static final double BOTH = 0.5;
        private static final double FORWARD = 10;
        private static final double BACKWARD = 300;
        private static final double FREE = 1e7;

        @Override
        public Set<Node> variables() {
            return variablesOf(List.of(path.getSubject(), path.getObject()));
        }

        @Override
        public double rows(Set<Node> bound, Counts counts) {
            boolean from = path.getSubject().isConcrete() || bound.contains(path.getSubject());
            boolean to = path.getObject().isConcrete() || bound.contains(path.getObject());
            if (from)
                return to ? BOTH : FORWARD;
            return to ? BACKWARD : FREE;
        }
    }

    /**
     * A property function.
     *
     * @param needs variables that must be bound before it, because it cannot find their values
     */
    record OfFunction(OpPropFunc function, Set<Node> needs) implements Unit {
        private static final double ROWS = 1000;

        /**
         * A function whose subject is a list needs only the variables of this list. Any other
         * function also needs those variables of its objects that another unit can bind, such as
         * the start of a range.
         */
        static OfFunction among(Collection<Unit> others, OpPropFunc function) {
            Set<Node> needs = argument(function.getSubjectArgs());
            if (!function.getSubjectArgs().isList()) {
                Set<Node> given = argument(function.getObjectArgs());
                given.removeIf(node -> others.stream().noneMatch(
                        unit -> !(unit instanceof OfFunction) && unit.variables().contains(node)));
                needs.addAll(given);
            }
            return new OfFunction(function, needs);
        }

        @Override
        public Set<Node> variables() {
            Set<Node> all = argument(function.getSubjectArgs());
            all.addAll(argument(function.getObjectArgs()));
            return all;
        }

        @Override
        public double rows(Set<Node> bound, Counts counts) {
            return bound.containsAll(needs) ? ROWS : Double.POSITIVE_INFINITY;
        }

        private static Set<Node> argument(PropFuncArg argument) {
            return argument.isList() ? variablesOf(argument.getArgList())
                    : variablesOf(List.of(argument.getArg()));
        }
    }

    private static Node anyIfVariable(Node node) {
        return node.isConcrete() ? node : Node.ANY;
    }

    private static Set<Node> variablesOf(Collection<Node> nodes) {
        Set<Node> found = new HashSet<>();
        nodes.stream().filter(Var::isVar).forEach(found::add);
        return found;
    }
}
