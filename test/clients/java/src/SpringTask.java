import java.util.ArrayList;
import java.util.List;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.openai.api.OpenAiApi;
import org.springframework.ai.tool.function.FunctionToolCallback;
import reactor.core.publisher.Mono;

/** Spring AI on the JDK's own HTTP client, which RestClient and WebClient take where no other one is on the class path. It runs tools itself. */
final class SpringTask {
    record Place(String place) {}

    private final OpenAiChatModel model;

    SpringTask(Task.Account account) {
        FunctionToolCallback<Place, String> weather = FunctionToolCallback
            .<Place, String>builder("weather", place -> Task.weatherIn(place.place()))
            .description(Task.DESCRIPTION)
            .inputType(Place.class)
            .build();
        // Its base address has no `/v1`.
        OpenAiApi api = OpenAiApi.builder().baseUrl(account.url()).apiKey(account.key()).build();
        OpenAiChatOptions options = OpenAiChatOptions.builder().model(account.model()).toolCallbacks(weather).build();
        model = OpenAiChatModel.builder().openAiApi(api).defaultOptions(options).build();
    }

    List<String> answers(boolean stream) {
        List<Message> messages = new ArrayList<>();
        List<String> answers = new ArrayList<>();
        for (String question : Task.QUESTIONS) {
            messages.add(new UserMessage(question));
            String text = stream ? streamed(new Prompt(messages)) : model.call(new Prompt(messages)).getResult().getOutput().getText();
            messages.add(new AssistantMessage(text));
            answers.add(text);
        }
        return answers;
    }

    private String streamed(Prompt prompt) {
        return model.stream(prompt)
            .flatMap(response -> Mono.justOrEmpty(response.getResult() == null ? null : response.getResult().getOutput().getText()))
            .reduce(String::concat)
            .block();
    }
}
