package org.w3id.supertwin.samples;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;

/** The terms by which the series of telemetry, and the states of hosts, are found. */
final class Terms {
    static final Node DB_NAME = term("dbName");
    static final Node SAMPLER_NAME = term("samplerName");
    static final Node INSTNAME = term("instname");
    static final Node OF_HOST = term("ofHost");
    static final Node HOSTNAME = term("hostname");
    static final Node OF_METRIC = term("ofMetric");
    static final Node SEMANTICS = term("semantics");
    static final Node COUNTER = term("Counter");
    static final Node VALUE_TYPE = term("valueType");
    static final Node SAMPLED_BY = term("sampledBy");
    static final Node SAMPLES = term("samples");
    static final Node SAMPLES_INSTANCE = term("samplesInstance");
    static final Node PERIOD = term("period");
    static final Node EXPOSES = term("exposes");
    static final Node INSTANCE_DOMAIN = term("instanceDomain");
    static final Node DOMAIN_ID = term("domainId");
    static final Node RESOLVES_AT_FETCH = term("resolvesAtFetch");

    static final Node VIRTUAL_TELEMETRY = term("VirtualTelemetry");
    static final Node EXPRESSION_TREE = term("expressionTree");
    static final Node HAS_UNIT = NodeFactory.createURI("http://qudt.org/schema/qudt/hasUnit");

    static final Node STATE_NUMBER = term("stateNumber");
    static final Node SPECIALIZATION_OF = prov("specializationOf");
    static final Node GENERATED_AT = prov("generatedAtTime");

    private Terms() {}

    private static Node prov(String name) {
        return NodeFactory.createURI("http://www.w3.org/ns/prov#" + name);
    }

    private static Node term(String name) {
        return NodeFactory.createURI("https://w3id.org/supertwin/ns#" + name);
    }
}
