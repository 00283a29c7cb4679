import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.Base64ImageSource;
import com.anthropic.models.messages.ContentBlock;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.ImageBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.StructuredMessage;
import com.anthropic.models.messages.StructuredMessageCreateParams;
import com.anthropic.models.messages.TextBlockParam;
import java.util.List;

/** anthropic-java at what it does beside tools. */
final class AnthropicFeatures {
    static List<String> parts(Task.Account account, String feature, boolean stream) {
        AnthropicClient client = AnthropicOkHttpClient.builder().baseUrl(account.url()).apiKey(account.key()).build();
        MessageCreateParams.Builder body = MessageCreateParams.builder().model(account.model()).maxTokens(4096);
        if (feature.equals("image")) {
            Base64ImageSource source = Base64ImageSource.builder().mediaType(Base64ImageSource.MediaType.IMAGE_PNG).data(Features.PIXEL).build();
            body.addUserMessageOfContentBlockParams(List.of(
                ContentBlockParam.ofImage(ImageBlockParam.builder().source(source).build()),
                ContentBlockParam.ofText(TextBlockParam.builder().text(Features.QUESTION).build())));
        } else body.addUserMessage(Features.QUESTION);
        if (feature.equals("schema")) return structured(client, body.outputConfig(Features.Capital.class).build(), stream);
        if (feature.equals("reasoning")) body.enabledThinking(2048);
        if (feature.equals("abort")) return first(client, body.build());
        Message message = stream ? accumulated(client, body.build()).message() : client.messages().create(body.build());
        StringBuilder shown = new StringBuilder();
        StringBuilder text = new StringBuilder();
        for (ContentBlock block : message.content()) {
            block.thinking().ifPresent(thought -> shown.append(thought.thinking()));
            block.text().ifPresent(part -> text.append(part.text()));
        }
        return feature.equals("reasoning") ? List.of(shown.toString(), text.toString()) : List.of(text.toString());
    }

    private static MessageAccumulator accumulated(AnthropicClient client, MessageCreateParams params) {
        MessageAccumulator accumulator = MessageAccumulator.create();
        try (StreamResponse<RawMessageStreamEvent> events = client.messages().createStreaming(params)) {
            events.stream().forEach(accumulator::accumulate);
        }
        return accumulator;
    }

    private static List<String> structured(AnthropicClient client, StructuredMessageCreateParams<Features.Capital> params, boolean stream) {
        StructuredMessage<Features.Capital> message =
            stream ? accumulated(client, params.rawParams()).message(Features.Capital.class) : client.messages().create(params);
        return message.content().stream().flatMap(block -> block.text().stream()).findFirst().orElseThrow().text().parts();
    }

    private static List<String> first(AnthropicClient client, MessageCreateParams params) {
        try (StreamResponse<RawMessageStreamEvent> events = client.messages().createStreaming(params)) {
            return events.stream()
                .flatMap(event -> event.contentBlockDelta().stream())
                .flatMap(event -> event.delta().text().stream())
                .findFirst()
                .map(delta -> List.of(delta.text()))
                .orElse(List.of());
        }
    }

    private AnthropicFeatures() {}
}
