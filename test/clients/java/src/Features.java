import java.util.List;
import java.util.Map;

/** Features of ../../support/features.ts: `schema`, `image`, `reasoning`, or `abort`, in which a stream is left after its first text. */
final class Features {
    static final String QUESTION = "Is it worth it?";
    static final String PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    static final String DATA_URL = "data:image/png;base64," + PIXEL;

    /** What an answer by a schema is read into. */
    static final class Capital {
        public String capital;
        public int inhabitants;

        List<String> parts() {
            return List.of(capital, String.valueOf(inhabitants));
        }
    }

    interface Client {
        List<String> parts(Task.Account account, String feature, boolean stream) throws Exception;
    }

    private static final Map<String, Client> CLIENTS = Map.of(
        "openai-java, chat", (account, feature, stream) -> new OpenAiFeatures(account).chat(feature, stream),
        "openai-java, responses", (account, feature, stream) -> new OpenAiFeatures(account).responses(feature, stream),
        "anthropic-java with thinking", AnthropicFeatures::parts,
        "langchain4j, chat", LangChain4jFeatures::chat,
        "langchain4j, responses", LangChain4jFeatures::responses,
        "langchain4j, anthropic", LangChain4jFeatures::anthropic,
        "spring-ai", SpringFeatures::parts);

    /** @param name as the task has it, with the mode. */
    static List<String> parts(String name, Task.Account account, String feature) throws Exception {
        int mode = name.lastIndexOf(", ");
        Client client = CLIENTS.get(name.substring(0, mode));
        if (client == null) throw new IllegalArgumentException("no features of " + name);
        return client.parts(account, feature, name.endsWith("streamed"));
    }

    static List<String> partsOf(String json) throws Exception {
        return Task.JSON.readValue(json, Capital.class).parts();
    }

    private Features() {}
}
