package org.w3id.supertwin.limits;

import org.apache.commons.lang3.exception.ExceptionUtils;
import org.apache.jena.fuseki.servlets.ActionErrorException;
import org.apache.jena.fuseki.servlets.HttpAction;
import org.apache.jena.fuseki.servlets.SPARQL_Update;

/** A handler of updates for Fuseki that reports the errors of the limits with their codes. */
final class LimitedUpdates extends SPARQL_Update {
    @Override
    public void execute(HttpAction action) {
        try {
            super.execute(action);
        } catch (ActionErrorException failure) {
            // The parser of updates executes them, and wraps what they raise.
            QueryError error = ExceptionUtils.throwableOfType(failure, QueryError.class);
            if (error == null)
                throw failure;
            error.report(action);
        }
    }
}
