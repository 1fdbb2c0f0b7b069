import com.amazonaws.services.dynamodbv2.LockItem;
import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/** Locks and attributes between the client and JSON. */
final class Locks {
    private Locks() {}

    /** What the client tells of a lock. */
    static JsonObject seen(LockItem item) {
        JsonObject seen = new JsonObject();
        seen.addProperty("name", item.getPartitionKey());
        item.getSortKey().ifPresent(sort -> seen.addProperty("sort", sort));
        seen.addProperty("owner", item.getOwnerName());
        seen.addProperty("version", item.getRecordVersionNumber());
        seen.addProperty("leaseMs", item.getLeaseDuration());
        seen.addProperty("expired", item.isExpired());
        item.getData().ifPresent(data -> seen.addProperty("data", StandardCharsets.UTF_8.decode(data.duplicate()).toString()));
        JsonObject attributes = new JsonObject();
        item.getAdditionalAttributes().forEach((name, value) -> attributes.add(name, json(value)));
        seen.add("attributes", attributes);
        return seen;
    }

    static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    static Map<String, AttributeValue> attributes(JsonObject from) {
        Map<String, AttributeValue> attributes = new HashMap<>();
        for (String name : from.keySet()) attributes.put(name, attribute(from.getAsJsonObject(name)));
        return attributes;
    }

    private static AttributeValue attribute(JsonObject typed) {
        AttributeValue.Builder value = AttributeValue.builder();
        if (typed.has("S")) return value.s(typed.get("S").getAsString()).build();
        if (typed.has("N")) return value.n(typed.get("N").getAsString()).build();
        if (typed.has("BOOL")) return value.bool(typed.get("BOOL").getAsBoolean()).build();
        throw new Driver.Unsupported("this driver carries attributes of type S, N and BOOL");
    }

    private static JsonObject json(AttributeValue value) {
        JsonObject typed = new JsonObject();
        switch (value.type()) {
            case S -> typed.addProperty("S", value.s());
            case N -> typed.addProperty("N", value.n());
            case BOOL -> typed.addProperty("BOOL", value.bool());
            default -> typed.addProperty("type", value.type().toString());
        }
        return typed;
    }
}
