package org.w3id.supertwin.samples;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.stream.Collectors;

import org.w3id.supertwin.samples.SampleError.Code;

/** The series store (VictoriaMetrics); every failure is a SampleError. */
final class SeriesStore {
    private static final Duration CONNECT = Duration.ofSeconds(5);
    private static final int MOST_REASON = 300;

    private final String url;
    private final String authorization;
    private final Duration timeout;
    /** How old a last value may be, as MetricsQL writes it. */
    final String retention;
    private HttpClient client;

    SeriesStore(String url, String account, String retention, Duration timeout) {
        this.url = url;
        this.retention = retention;
        this.timeout = timeout;
        byte[] secret = account.getBytes(StandardCharsets.UTF_8);
        authorization = account.isEmpty() ? ""
                : "Basic " + Base64.getEncoder().encodeToString(secret);
    }

    /** The store that the environment names; process lists do not show the account there. */
    static SeriesStore fromEnvironment() {
        Map<String, String> environment = System.getenv();
        long seconds = Long.parseLong(environment.getOrDefault("FUSEKI_STORE_SECONDS", "60"));
        return new SeriesStore(environment.getOrDefault("FUSEKI_STORE_URL", ""),
                environment.getOrDefault("FUSEKI_STORE_ACCOUNT", ""),
                environment.getOrDefault("FUSEKI_STORE_RETENTION", "90d"),
                Duration.ofSeconds(seconds));
    }

    /** Post a form; return the body of the answer, to be read while it arrives. */
    InputStream post(String path, Map<String, String> form) {
        HttpResponse<InputStream> answer = send(request(path, form));
        if (answer.statusCode() == 200)
            return answer.body();
        throw refusal(answer.statusCode(), reason(answer.body()));
    }

    /** The error for an answer that was cut short. */
    SampleError away(IOException error) {
        return new SampleError(Code.AWAY, "the series store at " + url
                + " ended its answer before it was complete (" + error + "); ask again");
    }

    private HttpRequest request(String path, Map<String, String> form) {
        if (url.isEmpty())
            throw new SampleError(Code.AWAY, "Fuseki was started without a series store:"
                    + " set SUPERTWIN_STORE_READ_URL where it is started");
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path))
                .timeout(timeout).header("Content-Type", "application/x-www-form-urlencoded")
                .POST(HttpRequest.BodyPublishers.ofString(encoded(form)));
        if (!authorization.isEmpty())
            request.header("Authorization", authorization);
        return request.build();
    }

    private HttpResponse<InputStream> send(HttpRequest request) {
        try {
            return client().send(request, BodyHandlers.ofInputStream());
        } catch (java.net.ConnectException | java.net.http.HttpTimeoutException error) {
            throw unreachable(error);
        } catch (IOException error) {
            return sendAgain(request);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw unreachable(error);
        }
    }

    /** Try again: the first error may come from a kept-alive connection that the store closed. */
    private HttpResponse<InputStream> sendAgain(HttpRequest request) {
        try {
            return client().send(request, BodyHandlers.ofInputStream());
        } catch (IOException error) {
            throw unreachable(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw unreachable(error);
        }
    }

    /** Created at the first request, because that takes 0.1 s and not every Fuseki needs it. */
    private synchronized HttpClient client() {
        if (client == null)
            client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(CONNECT).build();
        return client;
    }

    private SampleError unreachable(Exception error) {
        return new SampleError(Code.AWAY, "VictoriaMetrics does not answer at " + url + " ("
                + error.getClass().getSimpleName() + "); see `make status`");
    }

    private SampleError refusal(int status, String reason) {
        if (status == 401 || status == 403)
            return new SampleError(Code.AWAY, "VictoriaMetrics at " + url
                    + " refuses the account (" + status + "); fix SUPERTWIN_STORE_USER and"
                    + " SUPERTWIN_STORE_PASSWORD, or its _FILE");
        Code code = status < 500 ? Code.UNREADABLE : Code.AWAY;
        return new SampleError(code,
                "VictoriaMetrics at " + url + " answered with " + status + ": " + reason);
    }

    private static String reason(InputStream body) {
        try (body) {
            String text = new String(body.readNBytes(MOST_REASON), StandardCharsets.UTF_8);
            return text.replaceAll("\\s+", " ").strip();
        } catch (IOException error) {
            return "no reason given";
        }
    }

    private static String encoded(Map<String, String> form) {
        return form.entrySet().stream()
                .map(one -> one.getKey() + "="
                        + URLEncoder.encode(one.getValue(), StandardCharsets.UTF_8))
                .collect(Collectors.joining("&"));
    }

    static InputStreamReader utf8(InputStream body) {
        return new InputStreamReader(body, StandardCharsets.UTF_8);
    }
}
