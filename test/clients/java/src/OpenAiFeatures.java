import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.StreamResponse;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.Reasoning;
import com.openai.models.ReasoningEffort;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionContentPart;
import com.openai.models.chat.completions.ChatCompletionContentPartImage;
import com.openai.models.chat.completions.ChatCompletionContentPartText;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.StructuredChatCompletion;
import com.openai.models.chat.completions.StructuredChatCompletionCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseInputContent;
import com.openai.models.responses.ResponseInputImage;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseInputText;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ResponseReasoningItem;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.models.responses.StructuredResponse;
import com.openai.models.responses.StructuredResponseCreateParams;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** openai-java at what it does beside tools. */
final class OpenAiFeatures {
    private final OpenAIClient client;
    private final String model;

    OpenAiFeatures(Task.Account account) {
        client = OpenAIOkHttpClient.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).build();
        model = account.model();
    }

    List<String> chat(String feature, boolean stream) {
        ChatCompletionCreateParams.Builder body = ChatCompletionCreateParams.builder().model(model);
        if (feature.equals("image"))
            body.addUserMessageOfArrayOfContentParts(List.of(
                ChatCompletionContentPart.ofText(ChatCompletionContentPartText.builder().text(Features.QUESTION).build()),
                ChatCompletionContentPart.ofImageUrl(ChatCompletionContentPartImage.builder()
                    .imageUrl(ChatCompletionContentPartImage.ImageUrl.builder().url(Features.DATA_URL).build())
                    .build())));
        else body.addUserMessage(Features.QUESTION);
        if (feature.equals("schema")) return structuredChat(body.responseFormat(Features.Capital.class).build(), stream);
        if (feature.equals("reasoning")) body.reasoningEffort(ReasoningEffort.MEDIUM);
        if (feature.equals("abort")) return firstOfChat(body.build());
        StringBuilder shown = new StringBuilder();
        ChatCompletionMessage message;
        if (stream) {
            ChatCompletionAccumulator accumulator = ChatCompletionAccumulator.create();
            try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(body.build())) {
                chunks.stream().map(accumulator::accumulate).forEach(chunk ->
                    chunk.choices().forEach(choice -> shown.append(reasoning(choice.delta()._additionalProperties()))));
            }
            message = accumulator.chatCompletion().choices().get(0).message();
        } else {
            message = client.chat().completions().create(body.build()).choices().get(0).message();
            shown.append(reasoning(message._additionalProperties()));
        }
        String text = message.content().orElse("");
        return feature.equals("reasoning") ? List.of(shown.toString(), text) : List.of(text);
    }

    /** No field of its types: what a server sends beside them is kept. */
    private static String reasoning(Map<String, JsonValue> others) {
        JsonValue found = others.get("reasoning");
        return found == null ? "" : found.convert(String.class);
    }

    private List<String> structuredChat(StructuredChatCompletionCreateParams<Features.Capital> params, boolean stream) {
        StructuredChatCompletion<Features.Capital> reply;
        if (stream) {
            ChatCompletionAccumulator accumulator = ChatCompletionAccumulator.create();
            try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(params)) {
                chunks.stream().forEach(accumulator::accumulate);
            }
            reply = accumulator.chatCompletion(Features.Capital.class);
        } else reply = client.chat().completions().create(params);
        return reply.choices().get(0).message().content().orElseThrow().parts();
    }

    private List<String> firstOfChat(ChatCompletionCreateParams params) {
        try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(params)) {
            return chunks.stream()
                .flatMap(chunk -> chunk.choices().stream())
                .flatMap(choice -> choice.delta().content().stream())
                .filter(text -> !text.isEmpty())
                .findFirst()
                .map(List::of)
                .orElse(List.of());
        }
    }

    List<String> responses(String feature, boolean stream) {
        ResponseCreateParams.Builder body = ResponseCreateParams.builder().model(model);
        if (feature.equals("image")) {
            ResponseInputImage image = ResponseInputImage.builder().detail(ResponseInputImage.Detail.AUTO).imageUrl(Features.DATA_URL).build();
            ResponseInputText text = ResponseInputText.builder().text(Features.QUESTION).build();
            body.inputOfResponse(List.of(ResponseInputItem.ofMessage(ResponseInputItem.Message.builder()
                .role(ResponseInputItem.Message.Role.USER)
                .content(List.of(ResponseInputContent.ofInputText(text), ResponseInputContent.ofInputImage(image)))
                .build())));
        } else body.input(Features.QUESTION);
        if (feature.equals("schema")) return structuredResponse(body.text(Features.Capital.class).build(), stream);
        if (feature.equals("reasoning"))
            body.reasoning(Reasoning.builder().effort(ReasoningEffort.MEDIUM).summary(Reasoning.Summary.AUTO).build());
        if (feature.equals("abort")) return firstOfResponse(body.build());
        Response response = stream ? accumulated(body.build()).response() : client.responses().create(body.build());
        StringBuilder shown = new StringBuilder();
        StringBuilder text = new StringBuilder();
        for (ResponseOutputItem item : response.output()) {
            item.reasoning().ifPresent(thought -> shown.append(shown(thought)));
            item.message().ifPresent(message ->
                message.content().forEach(part -> part.outputText().ifPresent(output -> text.append(output.text()))));
        }
        return feature.equals("reasoning") ? List.of(shown.toString(), text.toString()) : List.of(text.toString());
    }

    private static String shown(ResponseReasoningItem thought) {
        StringBuilder text = new StringBuilder();
        thought.summary().forEach(part -> text.append(part.text()));
        if (text.isEmpty()) thought.content().orElse(List.of()).forEach(part -> text.append(part.text()));
        return text.toString();
    }

    private ResponseAccumulator accumulated(ResponseCreateParams params) {
        ResponseAccumulator accumulator = ResponseAccumulator.create();
        try (StreamResponse<ResponseStreamEvent> events = client.responses().createStreaming(params)) {
            events.stream().forEach(accumulator::accumulate);
        }
        return accumulator;
    }

    private List<String> structuredResponse(StructuredResponseCreateParams<Features.Capital> params, boolean stream) {
        StructuredResponse<Features.Capital> response =
            stream ? accumulated(params.rawParams()).response(Features.Capital.class) : client.responses().create(params);
        List<String> parts = new ArrayList<>();
        response.output().forEach(item -> item.message().ifPresent(message ->
            message.content().forEach(part -> part.outputText().ifPresent(capital -> parts.addAll(capital.parts())))));
        return parts;
    }

    private List<String> firstOfResponse(ResponseCreateParams params) {
        try (StreamResponse<ResponseStreamEvent> events = client.responses().createStreaming(params)) {
            return events.stream()
                .flatMap(event -> event.outputTextDelta().stream())
                .findFirst()
                .map(event -> List.of(event.delta()))
                .orElse(List.of());
        }
    }
}
