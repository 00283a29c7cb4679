import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.anthropic.AnthropicChatModel;
import dev.langchain4j.model.anthropic.AnthropicStreamingChatModel;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiResponsesStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** langchain4j at what it does beside tools. Reasoning is shown where `returnThinking` says so. */
final class LangChain4jFeatures {
    private static final int BUDGET = 2048;
    private static final int CAP = 4096;

    static List<String> chat(Task.Account account, String feature, boolean stream) throws Exception {
        String url = account.url() + "/v1";
        if (!feature.equals("reasoning")) return stream ? streamed(LangChain4jTask.chatStream(account), feature) : whole(LangChain4jTask.chat(account), feature);
        if (!stream) return whole(OpenAiChatModel.builder().baseUrl(url).apiKey(account.key()).modelName(account.model())
            .reasoningEffort("medium").returnThinking(true).build(), feature);
        return streamed(OpenAiStreamingChatModel.builder().baseUrl(url).apiKey(account.key()).modelName(account.model())
            .reasoningEffort("medium").returnThinking(true).build(), feature);
    }

    static List<String> responses(Task.Account account, String feature, boolean stream) throws Exception {
        if (!feature.equals("reasoning")) return streamed(LangChain4jTask.responsesStream(account), feature);
        return streamed(OpenAiResponsesStreamingChatModel.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).modelName(account.model())
            .reasoningEffort("medium").reasoningSummary("auto").build(), feature);
    }

    static List<String> anthropic(Task.Account account, String feature, boolean stream) throws Exception {
        String url = account.url() + "/v1";
        if (!feature.equals("reasoning"))
            return stream ? streamed(LangChain4jTask.anthropicStream(account), feature) : whole(LangChain4jTask.anthropic(account), feature);
        if (!stream) return whole(AnthropicChatModel.builder().baseUrl(url).apiKey(account.key()).modelName(account.model()).maxTokens(CAP)
            .thinkingType("enabled").thinkingBudgetTokens(BUDGET).returnThinking(true).build(), feature);
        return streamed(AnthropicStreamingChatModel.builder().baseUrl(url).apiKey(account.key()).modelName(account.model()).maxTokens(CAP)
            .thinkingType("enabled").thinkingBudgetTokens(BUDGET).returnThinking(true).build(), feature);
    }

    private static ChatRequest request(String feature) {
        ChatRequest.Builder request = ChatRequest.builder();
        if (feature.equals("image"))
            request.messages(UserMessage.from(TextContent.from(Features.QUESTION), ImageContent.from(Features.PIXEL, "image/png")));
        else request.messages(UserMessage.from(Features.QUESTION));
        if (feature.equals("schema")) {
            JsonObjectSchema shape = JsonObjectSchema.builder()
                .addStringProperty("capital")
                .addIntegerProperty("inhabitants")
                .required("capital", "inhabitants")
                .build();
            JsonSchema schema = JsonSchema.builder().name("capital").rootElement(shape).build();
            request.responseFormat(ResponseFormat.builder().type(ResponseFormatType.JSON).jsonSchema(schema).build());
        }
        return request.build();
    }

    private static List<String> whole(ChatModel model, String feature) throws Exception {
        return parts(model.chat(request(feature)).aiMessage(), feature);
    }

    private static List<String> streamed(StreamingChatModel model, String feature) throws Exception {
        if (feature.equals("abort")) return first(model);
        return parts(LangChain4jTask.collected(model, request(feature)).aiMessage(), feature);
    }

    private static List<String> parts(AiMessage message, String feature) throws Exception {
        if (feature.equals("schema")) return Features.partsOf(message.text());
        if (feature.equals("image")) return List.of(message.text());
        return List.of(message.thinking() == null ? "" : message.thinking(), message.text());
    }

    private static List<String> first(StreamingChatModel model) throws Exception {
        CompletableFuture<String> text = new CompletableFuture<>();
        model.chat(request("abort"), new StreamingChatResponseHandler() {
            @Override
            public void onPartialResponse(PartialResponse part, PartialResponseContext context) {
                context.streamingHandle().cancel();
                text.complete(part.text());
            }

            @Override
            public void onCompleteResponse(ChatResponse response) {
                text.complete(response.aiMessage().text());
            }

            @Override
            public void onError(Throwable error) {
                text.completeExceptionally(error);
            }
        });
        return List.of(text.get());
    }

    private LangChain4jFeatures() {}
}
