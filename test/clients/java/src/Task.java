import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Clients in Java, by their defaults, at the task of ../../support/task.ts: both questions in one conversation, the tool run where the model
 * calls it. Reads lines of JSON, [client, url, key, model], and writes for each a line: a list of both answers, or the error as text. A fifth
 * member is a feature in place of the task (Features.java). With the argument `ends` it reads ends of answers in place of that (Ends.java).
 */
public final class Task {
    static final List<String> QUESTIONS = List.of("What is the weather in Rome and in Oslo?", "And what do I take along?");
    static final String DESCRIPTION = "The weather of a place";
    static final Map<String, Object> PROPERTIES = Map.of("place", Map.of("type", "string", "description", "Name of the place"));
    static final List<String> REQUIRED = List.of("place");
    static final ObjectMapper JSON = new ObjectMapper();

    /** What one client sends, and to whom. */
    record Account(String url, String key, String model) {}

    interface Client {
        List<String> answers(Account account) throws Exception;
    }

    private static final Map<String, Client> CLIENTS = Map.ofEntries(
        Map.entry("openai-java, chat, whole", account -> new OpenAiTask(account).chat(false)),
        Map.entry("openai-java, chat, streamed", account -> new OpenAiTask(account).chat(true)),
        Map.entry("openai-java, responses, whole", account -> new OpenAiTask(account).responses(false)),
        Map.entry("openai-java, responses, streamed", account -> new OpenAiTask(account).responses(true)),
        Map.entry("anthropic-java, whole", account -> new AnthropicTask(account, false).messages(false)),
        Map.entry("anthropic-java, streamed", account -> new AnthropicTask(account, false).messages(true)),
        Map.entry("anthropic-java with thinking, whole", account -> new AnthropicTask(account, true).messages(false)),
        Map.entry("anthropic-java with thinking, streamed", account -> new AnthropicTask(account, true).messages(true)),
        Map.entry("langchain4j, chat, whole", account -> LangChain4jTask.whole(LangChain4jTask.chat(account))),
        Map.entry("langchain4j, chat, streamed", account -> LangChain4jTask.streamed(LangChain4jTask.chatStream(account))),
        Map.entry("langchain4j, responses, streamed", account -> LangChain4jTask.streamed(LangChain4jTask.responsesStream(account))),
        Map.entry("langchain4j, anthropic, whole", account -> LangChain4jTask.whole(LangChain4jTask.anthropic(account))),
        Map.entry("langchain4j, anthropic, streamed", account -> LangChain4jTask.streamed(LangChain4jTask.anthropicStream(account))),
        Map.entry("spring-ai, whole", account -> new SpringTask(account).answers(false)),
        Map.entry("spring-ai, streamed", account -> new SpringTask(account).answers(true)));

    /** Runs the tool. @param arguments the JSON text that the model wrote. */
    static String weather(String arguments) throws Exception {
        return weatherIn(JSON.readTree(arguments).get("place").asText());
    }

    static String weatherIn(String place) {
        return "It rains frogs in " + place + ".";
    }

    private static Object answer(String line) {
        try {
            List<?> order = JSON.readValue(line, List.class);
            Account account = new Account((String) order.get(1), (String) order.get(2), (String) order.get(3));
            if (order.size() > 4) return Features.parts((String) order.get(0), account, (String) order.get(4));
            Client client = CLIENTS.get((String) order.get(0));
            if (client == null) return "no client " + order.get(0);
            return client.answers(account);
        } catch (Exception | Error error) {
            StringBuilder text = new StringBuilder();
            for (Throwable each = error; each != null; each = each.getCause())
                text.append(each.getClass().getSimpleName()).append(": ").append(each.getMessage()).append("; ");
            return text.toString();
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        if (args.length > 0 && args[0].equals("ends")) {
            Ends.readAll(lines);
            System.exit(0);
        }
        for (String line = lines.readLine(); line != null; line = lines.readLine()) System.out.println(JSON.writeValueAsString(answer(line)));
        // Pools of these clients keep threads.
        System.exit(0);
    }

    private Task() {}
}
