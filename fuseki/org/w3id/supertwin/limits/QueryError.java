package org.w3id.supertwin.limits;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

import jakarta.servlet.http.HttpServletResponse;

import org.apache.jena.fuseki.servlets.HttpAction;

/** An error for the client: a code that never changes, and one line with the fix. */
public class QueryError extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String code;
    private final int status;

    /** The code is one of core/stores/errors.py, the status that of the HTTP answer. */
    public QueryError(String code, int status, String message) {
        super(message);
        this.code = code;
        this.status = status;
    }

    /**
     * Write the error as one line; core/stores finds it at the end of the body.
     *
     * <p>This also works after rows were sent.
     */
    void report(HttpAction action) {
        HttpServletResponse response = action.getResponse();
        String line = "\n##  SuperTwin " + code + ": " + getMessage().replaceAll("\\s+", " ")
                + "  ##\n";
        try {
            if (!response.isCommitted()) {
                // Rows that are still in the buffer are dropped.
                response.resetBuffer();
                action.setResponseStatus(status);
                action.setResponseContentType("text/plain; charset=utf-8");
            }
            response.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
            response.getOutputStream().flush();
        } catch (IOException gone) {
            action.log.info("the client disconnected before the error: {}", getMessage());
        }
    }
}
