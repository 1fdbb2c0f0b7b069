import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import com.amazonaws.services.dynamodbv2.GetLockOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.ReleaseLockOptions;
import com.amazonaws.services.dynamodbv2.SendHeartbeatOptions;
import com.amazonaws.services.dynamodbv2.model.LockCurrentlyUnavailableException;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.net.URI;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;

/** The steps of the line protocol, each by the lock client's own means. */
final class Steps {
    private final Consumer<JsonObject> say;
    private final Map<String, LockItem> holds = new ConcurrentHashMap<>();
    private final AtomicInteger lastHold = new AtomicInteger();
    private volatile DynamoDbClient dynamoDB;
    private volatile AmazonDynamoDBLockClient client;
    private volatile JsonObject opened;
    private volatile Thread beats;

    Steps(Consumer<JsonObject> say) {
        this.say = say;
    }

    JsonObject run(JsonObject request) throws Exception {
        switch (Driver.text(request, "step")) {
            case "open": return open(request);
            case "createTable": return createTable(request);
            case "check": return check(request);
            case "acquire": return acquire(request);
            case "beat": return beat(request);
            case "beats": return beats(request);
            case "held": return held(request);
            case "release": return release(request);
            case "read": return read(request);
            case "list": return list(request);
            case "close": return close(request);
            case "quit": return new JsonObject();
            default: throw new Driver.Unsupported("no such step");
        }
    }

    private JsonObject open(JsonObject request) {
        Driver.allow(request, "endpoint", "table", "partitionKey", "sortKey", "owner", "leaseMs", "beatMs", "beats");
        dynamoDB = DynamoDbClient.builder()
            .endpointOverride(URI.create(Driver.text(request, "endpoint")))
            .region(Region.of("local"))
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local")))
            .build();
        var options = AmazonDynamoDBLockClientOptions.builder(dynamoDB, Driver.text(request, "table"));
        if (request.has("partitionKey")) options.withPartitionKeyName(Driver.text(request, "partitionKey"));
        if (request.has("sortKey")) options.withSortKeyName(Driver.text(request, "sortKey"));
        if (request.has("owner")) options.withOwnerName(Driver.text(request, "owner"));
        // One unit for both, so a length that is not given is the client's own default in that unit.
        options.withTimeUnit(TimeUnit.MILLISECONDS);
        options.withLeaseDuration(request.has("leaseMs") ? Driver.number(request, "leaseMs") : Long.valueOf(20_000));
        options.withHeartbeatPeriod(request.has("beatMs") ? Driver.number(request, "beatMs") : Long.valueOf(5_000));
        options.withCreateHeartbeatBackgroundThread(Driver.flag(request, "beats", true));
        client = new AmazonDynamoDBLockClient(options.build());
        opened = request;
        return new JsonObject();
    }

    private JsonObject createTable(JsonObject request) {
        Driver.allow(request);
        var throughput = ProvisionedThroughput.builder().readCapacityUnits(5L).writeCapacityUnits(5L).build();
        var options = CreateDynamoDBTableOptions.builder(dynamoDB, throughput, Driver.text(opened, "table"));
        if (opened.has("partitionKey")) options.withPartitionKeyName(Driver.text(opened, "partitionKey"));
        if (opened.has("sortKey")) options.withSortKeyName(Driver.text(opened, "sortKey"));
        AmazonDynamoDBLockClient.createLockTableInDynamoDB(options.build());
        return new JsonObject();
    }

    private JsonObject check(JsonObject request) {
        Driver.allow(request);
        JsonObject result = new JsonObject();
        result.addProperty("usable", client.lockTableExists());
        return result;
    }

    private JsonObject acquire(JsonObject request) throws InterruptedException {
        Driver.allow(request, "name", "sort", "wait", "pollMs", "data", "replaceData", "attributes", "deleteOnRelease",
            "onlyIfExists", "update", "consistent", "reentrant", "safeMs");
        var options = AcquireLockOptions.builder(Driver.text(request, "name")).withTimeUnit(TimeUnit.MILLISECONDS);
        String hold = String.valueOf(lastHold.incrementAndGet());
        if (request.has("sort")) options.withSortKey(Driver.text(request, "sort"));
        if (request.has("wait")) {
            var wait = request.getAsJsonPrimitive("wait");
            if (wait.isNumber()) options.withAdditionalTimeToWaitForLock(wait.getAsLong());
            else if (wait.isBoolean()) options.withShouldSkipBlockingWait(!wait.getAsBoolean());
            else throw new Driver.Unsupported("it cannot wait for ever");
        }
        if (request.has("pollMs")) options.withRefreshPeriod(Driver.number(request, "pollMs"));
        if (request.has("data")) options.withData(Locks.bytes(Driver.text(request, "data")));
        if (request.has("replaceData")) options.withReplaceData(Driver.flag(request, "replaceData", true));
        if (request.has("attributes")) options.withAdditionalAttributes(Locks.attributes(request.getAsJsonObject("attributes")));
        options.withDeleteLockOnRelease(Driver.flag(request, "deleteOnRelease", true));
        options.withAcquireOnlyIfLockAlreadyExists(Driver.flag(request, "onlyIfExists", false));
        options.withUpdateExistingLockRecord(Driver.flag(request, "update", false));
        options.withAcquireReleasedLocksConsistently(Driver.flag(request, "consistent", false));
        options.withReentrant(Driver.flag(request, "reentrant", false));
        if (request.has("safeMs")) {
            options.withSessionMonitor(Driver.number(request, "safeMs"), Optional.of(() -> tellDanger(hold)));
        }
        JsonObject result = new JsonObject();
        try {
            LockItem item = client.acquireLock(options.build());
            holds.put(hold, item);
            result.addProperty("granted", true);
            result.addProperty("hold", hold);
            result.add("lock", Locks.seen(item));
        } catch (LockNotGrantedException | LockCurrentlyUnavailableException refusal) {
            result.addProperty("granted", false);
            result.addProperty("because", refusal.getClass().getSimpleName());
        }
        return result;
    }

    private void tellDanger(String hold) {
        JsonObject event = new JsonObject();
        event.addProperty("event", "danger");
        event.addProperty("hold", hold);
        say.accept(event);
    }

    private LockItem item(JsonObject request) {
        LockItem item = holds.get(Driver.text(request, "hold"));
        if (item == null) throw new IllegalArgumentException("there is no such hold");
        return item;
    }

    private JsonObject beat(JsonObject request) {
        Driver.allow(request, "hold", "data", "deleteData", "ensureMs");
        var options = SendHeartbeatOptions.builder(item(request)).withTimeUnit(TimeUnit.MILLISECONDS);
        if (request.has("data")) options.withData(Locks.bytes(Driver.text(request, "data")));
        if (request.has("deleteData")) options.withDeleteData(Driver.flag(request, "deleteData", false));
        if (request.has("ensureMs")) options.withLeaseDurationToEnsure(Driver.number(request, "ensureMs"));
        JsonObject result = new JsonObject();
        try {
            client.sendHeartbeat(options.build());
            result.addProperty("renewed", true);
        } catch (LockNotGrantedException refusal) {
            result.addProperty("renewed", false);
            result.addProperty("because", refusal.getClass().getSimpleName());
        }
        return result;
    }

    /** The client lets its loop be run by a caller's thread, which can be interrupted; not so its own thread. */
    private JsonObject beats(JsonObject request) {
        Driver.allow(request, "on");
        if (Driver.flag(opened, "beats", true)) throw new Driver.Unsupported("opened with beats on");
        if (beats != null) beats.interrupt();
        beats = Driver.flag(request, "on", true) ? new Thread(client) : null;
        if (beats != null) {
            beats.setDaemon(true);
            beats.start();
        }
        return new JsonObject();
    }

    private JsonObject held(JsonObject request) {
        Driver.allow(request, "hold");
        JsonObject result = new JsonObject();
        result.addProperty("held", !item(request).isExpired());
        return result;
    }

    private JsonObject release(JsonObject request) {
        Driver.allow(request, "hold", "delete", "data", "bestEffort");
        LockItem item = item(request);
        // As close() does it, where the step does not say.
        boolean deletes = Driver.flag(request, "delete", item.getDeleteLockItemOnClose());
        var options = ReleaseLockOptions.builder(item).withDeleteLock(deletes);
        if (request.has("data")) options.withData(Locks.bytes(Driver.text(request, "data")));
        if (request.has("bestEffort")) options.withBestEffort(Driver.flag(request, "bestEffort", false));
        JsonObject result = new JsonObject();
        result.addProperty("released", client.releaseLock(options.build()));
        return result;
    }

    private JsonObject read(JsonObject request) {
        Driver.allow(request, "name", "sort", "fromTable");
        String name = Driver.text(request, "name");
        String sort = Driver.text(request, "sort");
        Optional<LockItem> found;
        if (Driver.flag(request, "fromTable", false)) {
            var options = GetLockOptions.builder(name);
            if (sort != null) options.withSortKey(sort);
            found = client.getLockFromDynamoDB(options.build());
        } else {
            found = client.getLock(name, Optional.ofNullable(sort));
        }
        JsonObject result = new JsonObject();
        result.add("lock", found.map(Locks::seen).orElse(null));
        return result;
    }

    private JsonObject list(JsonObject request) {
        Driver.allow(request, "name");
        String name = Driver.text(request, "name");
        Stream<LockItem> found =
            name == null ? client.getAllLocksFromDynamoDB(false) : client.getLocksByPartitionKey(name, false);
        JsonArray locks = new JsonArray();
        found.forEach(item -> locks.add(Locks.seen(item)));
        JsonObject result = new JsonObject();
        result.add("locks", locks);
        return result;
    }

    private JsonObject close(JsonObject request) throws Exception {
        Driver.allow(request);
        client.close();
        return new JsonObject();
    }
}
