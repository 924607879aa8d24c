package org.w3id.supertwin.scopes;

import java.nio.charset.StandardCharsets;

/** Ids in IRIs, in which {@code ~HH} is a byte (ontology/iris.py). */
public final class Ids {
    private Ids() {}

    /** The text of a segment of an IRI. */
    public static String decoded(String segment) {
        byte[] raw = new byte[segment.length()];
        int size = 0;
        for (int i = 0; i < segment.length(); i++) {
            boolean escaped = segment.startsWith("~", i) && i + 2 < segment.length();
            String digits = escaped ? segment.substring(i + 1, i + 3) : "";
            boolean isByte = digits.matches("[0-9A-F]{2}");
            raw[size++] = (byte) (isByte ? Integer.parseInt(digits, 16) : segment.charAt(i));
            i += isByte ? 2 : 0;
        }
        return new String(raw, 0, size, StandardCharsets.UTF_8);
    }
}
