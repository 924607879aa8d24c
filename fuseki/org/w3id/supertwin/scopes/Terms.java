package org.w3id.supertwin.scopes;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;

/** The terms that tell what belongs to a host, a job or a user. */
final class Terms {
    static final Node OF_HOST = term("ofHost");
    static final Node CGROUP = term("Cgroup");
    static final Node CGROUP_PATH = term("cgroupPath");
    static final Node JOB = term("jobId");
    static final Node USER_NAME = term("userName");
    static final Node USER_ID = term("userId");
    static final Node SAMPLES_INSTANCE = term("samplesInstance");
    static final Node INSTANCES_FROM = term("instancesFrom");
    static final Node QUERY_PARAMETERS = term("queryParameters");
    static final Node BASELINE_RUN = term("baselineRun");
    static final Node MODELLED_RUN = term("modelledRun");

    private Terms() {}

    private static Node term(String name) {
        return NodeFactory.createURI("https://w3id.org/supertwin/ns#" + name);
    }
}
