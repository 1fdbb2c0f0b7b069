import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/**
 * Takes and releases locks of Curator's on request. Requests are lines "ID acquire NAME", "ID try NAME" and "ID release
 * HANDLE", where the handle is the id of the acquisition; answers are "ID ok", "ID held" and "ID failed MESSAGE". A
 * lock of Curator's belongs to a thread, so each acquisition has one.
 */
public final class Locks {
    private static final Map<String, SynchronousQueue<String>> held = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.builder()
            .connectString(args[0])
            .sessionTimeoutMs(Integer.parseInt(args[1]))
            .retryPolicy(new RetryNTimes(3, 100))
            .build();
        client.start();
        client.blockUntilConnected();
        say("ready");
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[1].equals("release")) {
                held.remove(words[2]).put(words[0]);
            } else {
                threads.execute(() -> hold(client, words[0], words[1].equals("try"), words[2]));
            }
        }
        // The parent has died: as if this process had been killed, without closing the session.
        Runtime.getRuntime().halt(0);
    }

    private static void hold(CuratorFramework client, String id, boolean isTry, String name) {
        try {
            InterProcessMutex mutex = new InterProcessMutex(client, "/locks/" + name);
            if (isTry && !mutex.acquire(0, TimeUnit.MILLISECONDS)) {
                say(id + " held");
                return;
            }
            if (!isTry) mutex.acquire();
            SynchronousQueue<String> release = new SynchronousQueue<>();
            held.put(id, release);
            say(id + " ok");
            String asked = release.take();
            mutex.release();
            say(asked + " ok");
        } catch (Exception error) {
            say(id + " failed " + error);
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
