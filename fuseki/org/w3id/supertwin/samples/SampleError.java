package org.w3id.supertwin.samples;

/** An error for the client: a code that never changes, and one line with the fix. */
final class SampleError extends RuntimeException {
    /** The codes of core/stores/errors.py, with the HTTP status of the answer. */
    enum Code {
        BAD_CALL("bad-samples-call", 400),
        UNKNOWN_TELEMETRY("unknown-telemetry", 400),
        TOO_MANY("too-many-samples", 413),
        UNREADABLE("series-unreadable", 502),
        AWAY("store-away", 503);

        final String text;
        final int status;

        Code(String text, int status) {
            this.text = text;
            this.status = status;
        }
    }

    private static final long serialVersionUID = 1;

    final Code code;

    SampleError(Code code, String message) {
        super(message);
        this.code = code;
    }

    static SampleError badCall(String message) {
        return new SampleError(Code.BAD_CALL, message);
    }
}
