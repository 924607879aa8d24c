package org.w3id.supertwin.samples;

import java.io.StringReader;
import java.util.LinkedHashSet;
import java.util.Set;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;

import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;

/** The tree of an expression, which anybody may write into a query: each access checks it. */
record Tree(JsonObject json) {
    // An expression has 8 KiB, and each of its sets becomes a query with prefixes.
    private static final int LONGEST = 256 * 1024;
    // virtual_telemetry/expression.py allows 250 parts; each may need a conversion.
    private static final int DEEPEST = 600;
    private static final Set<String> OPERATORS = Set.of("+", "-", "*", "/");

    /** Raises SampleError for anything that is not a tree. */
    static Tree parse(String text) {
        if (text.length() > LONGEST)
            throw wrong("it is longer than " + LONGEST + " characters");
        JsonReader reader = new JsonReader(new StringReader(text));
        reader.setStrictness(Strictness.STRICT);
        reader.setNestingLimit(DEEPEST);
        try {
            return of(JsonParser.parseReader(reader));
        } catch (JsonParseException error) {
            throw wrong("it is not JSON, or has more than " + DEEPEST + " objects in each other");
        }
    }

    private static Tree of(JsonElement found) {
        if (found == null || !found.isJsonObject())
            throw wrong("an object is missing");
        return new Tree(found.getAsJsonObject());
    }

    boolean has(String key) {
        return json.has(key);
    }

    Tree child(String key) {
        return of(json.get(key));
    }

    String text(String key) {
        JsonPrimitive found = primitive(key);
        if (!found.isString())
            throw wrong("\"" + key + "\" is not a text");
        return found.getAsString();
    }

    double number(String key) {
        JsonPrimitive found = primitive(key);
        double number = found.isNumber() ? found.getAsDouble() : Double.NaN;
        if (!Double.isFinite(number))
            throw wrong("\"" + key + "\" is not a number");
        return number;
    }

    /** One of the four operators, which becomes a part of a text in MetricsQL. */
    String operator() {
        String found = text("operator");
        if (!OPERATORS.contains(found))
            throw wrong("\"operator\" is not one of + - * /");
        return found;
    }

    private JsonPrimitive primitive(String key) {
        JsonElement found = json.get(key);
        if (found == null || !found.isJsonPrimitive())
            throw wrong("\"" + key + "\" is missing");
        return found.getAsJsonPrimitive();
    }

    /** The telemetry that it names, apart from the members of its sets. */
    Set<Node> inputs() {
        Set<Node> found = new LinkedHashSet<>();
        if (has("input"))
            found.add(NodeFactory.createURI(text("input")));
        for (String part : new String[] {"of", "left", "right"})
            if (has(part))
                found.addAll(child(part).inputs());
        return found;
    }

    static SampleError wrong(String why) {
        return SampleError.badCall("the tree of an expression cannot be read: " + why
                + "; the API and `supertwin virtual add` write it");
    }
}
