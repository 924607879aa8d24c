package org.w3id.supertwin.limits;

import java.util.regex.Matcher;

/**
 * A text that checks, while a regular expression reads it, whether the query is cancelled.
 *
 * <p>Some expressions would not end otherwise: (.*a){20}b takes years for a text of 60 letters.
 */
final class AbortableText implements CharSequence {
    private static final int BETWEEN_CHECKS = 1 << 14;

    private final String text;
    private int reads;

    AbortableText(String text) {
        this.text = text;
    }

    /** Whether there is a match; raises QueryError if the search recurses too deeply. */
    static boolean find(Matcher match) {
        try {
            return match.find();
        } catch (StackOverflowError deep) {
            throw RunningQuery.failed(new QueryError("literal-too-long", 413,
                    "a text is too long for a regular expression: simplify the expression, for"
                            + " example to [ab]* instead of (a|b)*"));
        }
    }

    @Override
    public char charAt(int index) {
        if (++reads % BETWEEN_CHECKS == 0)
            RunningQuery.checkCancelled();
        return text.charAt(index);
    }

    @Override
    public int length() {
        return text.length();
    }

    @Override
    public CharSequence subSequence(int start, int end) {
        return text.subSequence(start, end);
    }

    @Override
    public String toString() {
        return text;
    }
}
