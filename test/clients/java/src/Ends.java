import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.anthropic.AnthropicChatModel;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiResponsesChatModel;
import dev.langchain4j.model.output.FinishReason;
import java.io.BufferedReader;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * How langchain4j takes the ends of answers: lines of JSON in any order and at once, [number, client, url, key, model, prompt, stream], and
 * for each [number, kind, calls]. Nothing is repeated: most of the answers are failures.
 */
final class Ends {
    record Reading(String kind, List<String> calls) {}

    private static ChatModel whole(String client, Task.Account account) {
        String url = account.url() + "/v1";
        return switch (client) {
            case "langchain4j, chat" ->
                OpenAiChatModel.builder().baseUrl(url).apiKey(account.key()).modelName(account.model()).maxRetries(0).build();
            case "langchain4j, responses" ->
                OpenAiResponsesChatModel.builder().baseUrl(url).apiKey(account.key()).modelName(account.model()).build();
            case "langchain4j, anthropic" ->
                AnthropicChatModel.builder().baseUrl(url).apiKey(account.key()).modelName(account.model()).maxRetries(0).build();
            default -> throw new IllegalArgumentException("no client " + client);
        };
    }

    private static StreamingChatModel streamed(String client, Task.Account account) {
        return switch (client) {
            case "langchain4j, chat" -> LangChain4jTask.chatStream(account);
            case "langchain4j, responses" -> LangChain4jTask.responsesStream(account);
            case "langchain4j, anthropic" -> LangChain4jTask.anthropicStream(account);
            default -> throw new IllegalArgumentException("no client " + client);
        };
    }

    private static Reading read(String client, Task.Account account, String prompt, boolean stream) {
        ToolSpecification look = ToolSpecification.builder().name("look").parameters(JsonObjectSchema.builder().build()).build();
        ChatRequest request = ChatRequest.builder().messages(UserMessage.from(prompt)).toolSpecifications(look).build();
        try {
            ChatResponse response = stream
                ? LangChain4jTask.collected(streamed(client, account), request)
                : whole(client, account).chat(request);
            FinishReason reason = response.finishReason();
            boolean isGood = reason == FinishReason.STOP || reason == FinishReason.TOOL_EXECUTION;
            List<String> calls = response.aiMessage().toolExecutionRequests().stream().map(Ends::compact).toList();
            return new Reading(reason == null ? "silent" : isGood ? "finished" : "shown", calls);
        } catch (Exception error) {
            return new Reading("raised", List.of());
        }
    }

    /** Its client of Anthropic writes arguments with line breaks. Broken ones stay as they are. */
    private static String compact(ToolExecutionRequest call) {
        try {
            return Task.JSON.writeValueAsString(Task.JSON.readTree(call.arguments()));
        } catch (Exception broken) {
            return call.arguments();
        }
    }

    static void readAll(BufferedReader lines) throws Exception {
        ExecutorService readers = Executors.newFixedThreadPool(24);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            List<?> order = Task.JSON.readValue(line, List.class);
            Task.Account account = new Task.Account((String) order.get(2), (String) order.get(3), (String) order.get(4));
            readers.submit(() -> {
                Reading reading = read((String) order.get(1), account, (String) order.get(5), (Boolean) order.get(6));
                String answer = Task.JSON.writeValueAsString(List.of(order.get(0), reading.kind(), reading.calls()));
                synchronized (System.out) {
                    System.out.println(answer);
                }
                return null;
            });
        }
    }

    private Ends() {}
}
