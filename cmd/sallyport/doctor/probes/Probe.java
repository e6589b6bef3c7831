import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Asks an HTTPS origin with one of Java's clients and prints its answer. */
class Probe {
    public static void main(String[] args) throws Exception {
        try {
            System.out.println(args[0].equals("client") ? client(args[1]) : connection(args[1]));
        } catch (java.io.IOException err) {
            System.err.println(err);
            System.exit(1);
        }
    }

    static String connection(String url) throws Exception {
        HttpURLConnection c = (HttpURLConnection) new URL(url).openConnection();
        try (InputStream in = c.getInputStream()) {
            return new String(in.readAllBytes(), "UTF-8");
        }
    }

    static String client(String url) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    }
}
