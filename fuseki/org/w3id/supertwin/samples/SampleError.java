package org.w3id.supertwin.samples;

import org.apache.jena.graph.Node;

import org.w3id.supertwin.limits.QueryError;

/** A query asks for samples in a wrong way, or they cannot be read. */
final class SampleError extends QueryError {
    /** The codes of core/stores/errors.py, with the HTTP status of the answer. */
    enum Code {
        BAD_CALL("bad-samples-call", 400),
        UNKNOWN_TELEMETRY("unknown-telemetry", 400),
        TOO_MANY("too-many-samples", 413),
        UNITS("unit-mismatch", 400),
        CYCLE("virtual-cycle", 400),
        UNREADABLE("series-unreadable", 502),
        AWAY("store-away", 503);

        private final String text;
        private final int status;

        Code(String text, int status) {
            this.text = text;
            this.status = status;
        }
    }

    private static final long serialVersionUID = 1;

    final Code code;

    SampleError(Code code, String message) {
        super(code.text, code.status, message);
        this.code = code;
    }

    /** The same error, about virtual telemetry that cannot be computed because of it. */
    SampleError of(Node virtual) {
        return new SampleError(code, Times.text(virtual) + " cannot be computed: " + getMessage());
    }

    static SampleError badCall(String message) {
        return new SampleError(Code.BAD_CALL, message);
    }
}
