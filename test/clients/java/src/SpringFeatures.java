import java.util.Base64;
import java.util.List;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.content.Media;
import org.springframework.ai.converter.BeanOutputConverter;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.openai.api.OpenAiApi;
import org.springframework.ai.openai.api.ResponseFormat;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.util.MimeTypeUtils;

/** Spring AI at what it does beside tools. */
final class SpringFeatures {
    record Shape(String capital, int inhabitants) {}

    static List<String> parts(Task.Account account, String feature, boolean stream) {
        BeanOutputConverter<Shape> converter = new BeanOutputConverter<>(Shape.class);
        OpenAiChatOptions.Builder options = OpenAiChatOptions.builder().model(account.model());
        if (feature.equals("schema"))
            options.responseFormat(ResponseFormat.builder().type(ResponseFormat.Type.JSON_SCHEMA).jsonSchema(converter.getJsonSchema()).build());
        if (feature.equals("reasoning")) options.reasoningEffort("medium");
        UserMessage.Builder question = UserMessage.builder().text(Features.QUESTION);
        if (feature.equals("image"))
            question.media(new Media(MimeTypeUtils.IMAGE_PNG, new ByteArrayResource(Base64.getDecoder().decode(Features.PIXEL))));
        OpenAiApi api = OpenAiApi.builder().baseUrl(account.url()).apiKey(account.key()).build();
        OpenAiChatModel model = OpenAiChatModel.builder().openAiApi(api).defaultOptions(options.build()).build();
        Prompt prompt = new Prompt(question.build());
        if (feature.equals("abort")) return List.of(model.stream(prompt).map(SpringFeatures::text).filter(text -> !text.isEmpty()).blockFirst());
        List<ChatResponse> responses = stream ? model.stream(prompt).collectList().block() : List.of(model.call(prompt));
        StringBuilder shown = new StringBuilder();
        StringBuilder text = new StringBuilder();
        for (ChatResponse response : responses) {
            text.append(text(response));
            if (response.getResult() == null) continue;
            Object reasoning = response.getResult().getOutput().getMetadata().get("reasoningContent");
            if (reasoning != null) shown.append(reasoning);
        }
        if (feature.equals("reasoning")) return List.of(shown.toString(), text.toString());
        if (!feature.equals("schema")) return List.of(text.toString());
        Shape found = converter.convert(text.toString());
        return List.of(found.capital(), String.valueOf(found.inhabitants()));
    }

    private static String text(ChatResponse response) {
        AssistantMessage message = response.getResult() == null ? null : response.getResult().getOutput();
        return message == null || message.getText() == null ? "" : message.getText();
    }

    private SpringFeatures() {}
}
