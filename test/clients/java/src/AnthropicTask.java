import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlock;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageContentParam;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import com.anthropic.models.messages.ToolUseBlock;
import java.util.ArrayList;
import java.util.List;

/** anthropic-java, on its own HTTP client. */
final class AnthropicTask {
    private final AnthropicClient client;
    private final String model;
    private final boolean thinks;

    AnthropicTask(Task.Account account, boolean thinks) {
        this.thinks = thinks;
        client = AnthropicOkHttpClient.builder().baseUrl(account.url()).apiKey(account.key()).build();
        model = account.model();
    }

    List<String> messages(boolean stream) throws Exception {
        Tool.InputSchema.Properties properties = Tool.InputSchema.Properties.builder()
            .putAdditionalProperty("place", JsonValue.from(Task.PROPERTIES.get("place")))
            .build();
        Tool.InputSchema schema = Tool.InputSchema.builder()
            .properties(properties)
            .required(Task.REQUIRED)
            .putAdditionalProperty("additionalProperties", JsonValue.from(false))
            .build();
        Tool weather = Tool.builder().name("weather").description(Task.DESCRIPTION).inputSchema(schema).build();
        MessageCreateParams.Builder body = MessageCreateParams.builder().model(model).maxTokens(4096).addTool(weather);
        if (thinks) body.enabledThinking(2048);
        List<String> answers = new ArrayList<>();
        for (String question : Task.QUESTIONS) {
            body.addUserMessage(question);
            for (;;) {
                Message message = stream ? accumulated(body.build()) : client.messages().create(body.build());
                // Every member is checked against its type.
                message.validate();
                body.addMessage(message);
                List<ContentBlockParam> results = new ArrayList<>();
                StringBuilder text = new StringBuilder();
                for (ContentBlock block : message.content()) {
                    block.text().ifPresent(part -> text.append(part.text()));
                    if (block.toolUse().isPresent()) results.add(resultOf(block.toolUse().get()));
                }
                if (!results.isEmpty()) {
                    body.addUserMessage(MessageContentParam.ofContentBlockParams(results));
                    continue;
                }
                answers.add(text.toString());
                break;
            }
        }
        return answers;
    }

    private static ContentBlockParam resultOf(ToolUseBlock call) throws Exception {
        String result = Task.weather(Task.JSON.writeValueAsString(call._input().convert(Object.class)));
        return ContentBlockParam.ofToolResult(ToolResultBlockParam.builder().toolUseId(call.id()).content(result).build());
    }

    private Message accumulated(MessageCreateParams params) {
        MessageAccumulator accumulator = MessageAccumulator.create();
        try (StreamResponse<RawMessageStreamEvent> events = client.messages().createStreaming(params)) {
            events.stream().forEach(accumulator::accumulate);
        }
        return accumulator.message();
    }
}
