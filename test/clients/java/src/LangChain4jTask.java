import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.anthropic.AnthropicChatModel;
import dev.langchain4j.model.anthropic.AnthropicStreamingChatModel;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiResponsesStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** langchain4j, on the JDK's own HTTP client, which is its default. */
final class LangChain4jTask {
    private interface Next {
        ChatResponse respond(ChatRequest request) throws Exception;
    }

    static ChatModel chat(Task.Account account) {
        return OpenAiChatModel.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).modelName(account.model()).build();
    }

    static StreamingChatModel chatStream(Task.Account account) {
        return OpenAiStreamingChatModel.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).modelName(account.model()).build();
    }

    static StreamingChatModel responsesStream(Task.Account account) {
        return OpenAiResponsesStreamingChatModel.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).modelName(account.model()).build();
    }

    static ChatModel anthropic(Task.Account account) {
        return AnthropicChatModel.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).modelName(account.model()).build();
    }

    static StreamingChatModel anthropicStream(Task.Account account) {
        return AnthropicStreamingChatModel.builder().baseUrl(account.url() + "/v1").apiKey(account.key()).modelName(account.model()).build();
    }

    static List<String> whole(ChatModel model) throws Exception {
        return converse(model::chat);
    }

    static List<String> streamed(StreamingChatModel model) throws Exception {
        return converse(request -> collected(model, request));
    }

    private static List<String> converse(Next next) throws Exception {
        JsonObjectSchema schema = JsonObjectSchema.builder().addStringProperty("place", "Name of the place").required("place").build();
        ToolSpecification weather = ToolSpecification.builder().name("weather").description(Task.DESCRIPTION).parameters(schema).build();
        List<ChatMessage> messages = new ArrayList<>();
        List<String> answers = new ArrayList<>();
        for (String question : Task.QUESTIONS) {
            messages.add(UserMessage.from(question));
            for (;;) {
                ChatResponse response = next.respond(ChatRequest.builder().messages(messages).toolSpecifications(weather).build());
                AiMessage message = response.aiMessage();
                messages.add(message);
                for (ToolExecutionRequest call : message.toolExecutionRequests())
                    messages.add(ToolExecutionResultMessage.from(call, Task.weather(call.arguments())));
                if (message.hasToolExecutionRequests()) continue;
                answers.add(message.text());
                break;
            }
        }
        return answers;
    }

    static ChatResponse collected(StreamingChatModel model, ChatRequest request) throws Exception {
        CompletableFuture<ChatResponse> end = new CompletableFuture<>();
        model.chat(request, new StreamingChatResponseHandler() {
            @Override
            public void onCompleteResponse(ChatResponse response) {
                end.complete(response);
            }

            @Override
            public void onError(Throwable error) {
                end.completeExceptionally(error);
            }
        });
        try {
            return end.get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }

    private LangChain4jTask() {}
}
