import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.Set;

/**
 * Lets another process use the AWS lock client for Java, by lines of JSON: see ../README.md. Each step
 * runs in a thread of its own, so that one that waits does not keep others from being carried out.
 */
public final class Driver {
    private static final String ARTIFACT = "/META-INF/maven/com.amazonaws/dynamodb-lock-client/pom.properties";

    /** What the client has no counterpart for. */
    static final class Unsupported extends RuntimeException {
        Unsupported(String why) {
            super(why);
        }
    }

    private final Steps steps = new Steps(this::say);

    public static void main(String[] args) throws IOException {
        new Driver().serve();
    }

    private void serve() throws IOException {
        JsonObject ready = new JsonObject();
        ready.addProperty("event", "ready");
        ready.addProperty("client", "com.amazonaws:dynamodb-lock-client");
        ready.addProperty("version", version());
        say(ready);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            Thread thread = new Thread(() -> answer(request));
            thread.setDaemon(true);
            thread.start();
        }
        // Nobody is left to drive it: it dies as it is, without releasing anything.
        Runtime.getRuntime().halt(0);
    }

    private static String version() throws IOException {
        Properties properties = new Properties();
        try (var stream = Driver.class.getResourceAsStream(ARTIFACT)) {
            properties.load(stream);
        }
        return properties.getProperty("version");
    }

    private void answer(JsonObject request) {
        JsonObject answer = new JsonObject();
        answer.add("id", request.get("id"));
        try {
            JsonObject result = steps.run(request);
            answer.addProperty("ok", true);
            for (String name : result.keySet()) answer.add(name, result.get(name));
        } catch (Unsupported unsupported) {
            answer.addProperty("unsupported", true);
            answer.addProperty("why", unsupported.getMessage());
        } catch (Throwable error) {
            JsonObject told = new JsonObject();
            told.addProperty("kind", error.getClass().getSimpleName());
            told.addProperty("message", String.valueOf(error.getMessage()));
            answer.add("error", told);
        }
        say(answer);
        if (request.get("step").getAsString().equals("quit")) Runtime.getRuntime().halt(0);
    }

    private void say(JsonObject line) {
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    /** Fails if the step names something that this driver would pass over in silence. */
    static void allow(JsonObject request, String... known) {
        Set<String> allowed = Set.of(known);
        for (String name : request.keySet()) {
            boolean isKnown = allowed.contains(name) || name.equals("id") || name.equals("step");
            if (!isKnown) throw new Unsupported("no option for " + name);
        }
    }

    static String text(JsonObject from, String name) {
        JsonElement value = from.get(name);
        return value == null ? null : value.getAsString();
    }

    static Long number(JsonObject from, String name) {
        JsonElement value = from.get(name);
        return value == null ? null : Long.valueOf(value.getAsLong());
    }

    static boolean flag(JsonObject from, String name, boolean otherwise) {
        JsonElement value = from.get(name);
        return value == null ? otherwise : value.getAsBoolean();
    }
}
