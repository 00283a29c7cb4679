import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageToolCall;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ResponseStreamEvent;
import java.util.ArrayList;
import java.util.List;

/** openai-java, on its own HTTP client. */
final class OpenAiTask {
    private final OpenAIClient client;
    private final String model;

    OpenAiTask(Task.Account account) {
        client = OpenAIOkHttpClient.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).build();
        model = account.model();
    }

    List<String> chat(boolean stream) throws Exception {
        FunctionParameters parameters = FunctionParameters.builder()
            .putAdditionalProperty("type", JsonValue.from("object"))
            .putAdditionalProperty("properties", JsonValue.from(Task.PROPERTIES))
            .putAdditionalProperty("required", JsonValue.from(Task.REQUIRED))
            .putAdditionalProperty("additionalProperties", JsonValue.from(false))
            .build();
        FunctionDefinition weather = FunctionDefinition.builder().name("weather").description(Task.DESCRIPTION).parameters(parameters).build();
        ChatCompletionCreateParams.Builder body = ChatCompletionCreateParams.builder().model(model).addFunctionTool(weather);
        List<String> answers = new ArrayList<>();
        for (String question : Task.QUESTIONS) {
            body.addUserMessage(question);
            for (;;) {
                ChatCompletion reply = stream ? accumulated(body.build()) : client.chat().completions().create(body.build());
                // Every member is checked against its type.
                reply.validate();
                ChatCompletionMessage message = reply.choices().get(0).message();
                body.addMessage(message);
                List<ChatCompletionMessageToolCall> calls = message.toolCalls().orElse(List.of());
                for (ChatCompletionMessageToolCall call : calls)
                    body.addMessage(ChatCompletionToolMessageParam.builder()
                        .toolCallId(call.asFunction().id())
                        .content(Task.weather(call.asFunction().function().arguments()))
                        .build());
                if (!calls.isEmpty()) continue;
                answers.add(message.content().orElse(""));
                break;
            }
        }
        return answers;
    }

    private ChatCompletion accumulated(ChatCompletionCreateParams params) {
        ChatCompletionAccumulator accumulator = ChatCompletionAccumulator.create();
        try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(params)) {
            chunks.stream().forEach(accumulator::accumulate);
        }
        return accumulator.chatCompletion();
    }

    List<String> responses(boolean stream) throws Exception {
        FunctionTool.Parameters parameters = FunctionTool.Parameters.builder()
            .putAdditionalProperty("type", JsonValue.from("object"))
            .putAdditionalProperty("properties", JsonValue.from(Task.PROPERTIES))
            .putAdditionalProperty("required", JsonValue.from(Task.REQUIRED))
            .putAdditionalProperty("additionalProperties", JsonValue.from(false))
            .build();
        // Its builder demands `strict`.
        FunctionTool weather = FunctionTool.builder().name("weather").description(Task.DESCRIPTION).parameters(parameters).strict(false).build();
        List<ResponseInputItem> input = new ArrayList<>();
        List<String> answers = new ArrayList<>();
        for (String question : Task.QUESTIONS) {
            input.add(ResponseInputItem.ofEasyInputMessage(EasyInputMessage.builder().role(EasyInputMessage.Role.USER).content(question).build()));
            for (;;) {
                ResponseCreateParams params = ResponseCreateParams.builder().model(model).inputOfResponse(input).addTool(weather).build();
                Response response = stream ? accumulated(params) : client.responses().create(params);
                response.validate();
                String text = add(response, input);
                if (text == null) continue;
                answers.add(text);
                break;
            }
        }
        return answers;
    }

    private Response accumulated(ResponseCreateParams params) {
        ResponseAccumulator accumulator = ResponseAccumulator.create();
        try (StreamResponse<ResponseStreamEvent> events = client.responses().createStreaming(params)) {
            events.stream().forEach(accumulator::accumulate);
        }
        return accumulator.response();
    }

    /** Adds what came, and results of tools. @return the text, or null where tools were called. */
    private static String add(Response response, List<ResponseInputItem> input) throws Exception {
        List<ResponseInputItem> results = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        for (ResponseOutputItem item : response.output()) {
            if (item.isReasoning()) input.add(ResponseInputItem.ofReasoning(item.asReasoning()));
            if (item.isMessage()) {
                input.add(ResponseInputItem.ofResponseOutputMessage(item.asMessage()));
                item.asMessage().content().forEach(part -> part.outputText().ifPresent(output -> text.append(output.text())));
            }
            if (!item.isFunctionCall()) continue;
            ResponseFunctionToolCall call = item.asFunctionCall();
            input.add(ResponseInputItem.ofFunctionCall(call));
            results.add(ResponseInputItem.ofFunctionCallOutput(ResponseInputItem.FunctionCallOutput.builder()
                .callId(call.callId())
                .output(Task.weather(call.arguments()))
                .build()));
        }
        input.addAll(results);
        return results.isEmpty() ? text.toString() : null;
    }
}
