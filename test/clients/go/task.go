// Clients in Go, by their defaults, at the task of ../support/task.ts: both questions in one conversation, the tool run where the model calls it.
//
// With the argument `ends` it reads ends of answers in place of that (ends.go).
//
// Reads lines of JSON, [client, url, key, model], and writes for each a line: a list of both answers, or the error as text. A fifth member
// is a feature in place of the task (features.go).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const description = "The weather of a place"

var questions = []string{"What is the weather in Rome and in Oslo?", "And what do I take along?"}

var schema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"place": map[string]any{"type": "string", "description": "Name of the place"}},
	"required":             []string{"place"},
	"additionalProperties": false,
}

// weatherOf runs the tool. arguments is the JSON text that the model wrote.
func weatherOf(arguments string) (string, error) {
	var parsed struct{ Place string }
	err := json.Unmarshal([]byte(arguments), &parsed)
	return fmt.Sprintf("It rains frogs in %s.", parsed.Place), err
}

type complete func(client openai.Client, body openai.ChatCompletionNewParams) (*openai.ChatCompletion, error)

func chatWhole(client openai.Client, body openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	return client.Chat.Completions.New(context.Background(), body)
}

func chatStreamed(client openai.Client, body openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	stream := client.Chat.Completions.NewStreaming(context.Background(), body)
	accumulator := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !accumulator.AddChunk(stream.Current()) {
			return nil, fmt.Errorf("the accumulator refuses %s", stream.Current().RawJSON())
		}
	}
	return &accumulator.ChatCompletion, stream.Err()
}

func openaiClient(to account) openai.Client {
	return openai.NewClient(option.WithBaseURL(to.url+"/v1"), option.WithAPIKey(to.key))
}

func chatTask(to account, stream bool) ([]string, error) {
	client, next := openaiClient(to), complete(chatWhole)
	if stream {
		next = chatStreamed
	}
	body := openai.ChatCompletionNewParams{
		Model: to.model,
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "weather", Description: openai.String(description), Parameters: schema,
		})},
	}
	answers := []string{}
	for _, question := range questions {
		body.Messages = append(body.Messages, openai.UserMessage(question))
		for {
			reply, err := next(client, body)
			if err != nil {
				return nil, err
			}
			if len(reply.Choices) != 1 {
				return nil, fmt.Errorf("%d choices", len(reply.Choices))
			}
			message := reply.Choices[0].Message
			body.Messages = append(body.Messages, message.ToParam())
			for _, call := range message.ToolCalls {
				result, err := weatherOf(call.Function.Arguments)
				if err != nil {
					return nil, err
				}
				body.Messages = append(body.Messages, openai.ToolMessage(result, call.ID))
			}
			if len(message.ToolCalls) == 0 {
				answers = append(answers, message.Content)
				break
			}
		}
	}
	return answers, nil
}

type respond func(client openai.Client, body responses.ResponseNewParams) (*responses.Response, error)

func responsesWhole(client openai.Client, body responses.ResponseNewParams) (*responses.Response, error) {
	return client.Responses.New(context.Background(), body)
}

func responsesStreamed(client openai.Client, body responses.ResponseNewParams) (*responses.Response, error) {
	stream := client.Responses.NewStreaming(context.Background(), body)
	text := ""
	var last *responses.Response
	for stream.Next() {
		event := stream.Current()
		switch event.Type {
		case "response.output_text.delta":
			text += event.Delta
		case "response.completed":
			last = &event.Response
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if last == nil {
		return nil, errors.New("the stream ends without response.completed")
	}
	if text != last.OutputText() {
		return nil, fmt.Errorf("the events say %q, the last one %q", text, last.OutputText())
	}
	return last, nil
}

// inputOf is an item of a reply as the next request has it.
func inputOf(item responses.ResponseOutputItemUnion) (responses.ResponseInputItemUnionParam, error) {
	switch each := item.AsAny().(type) {
	case responses.ResponseReasoningItem:
		param := each.ToParam()
		return responses.ResponseInputItemUnionParam{OfReasoning: &param}, nil
	case responses.ResponseFunctionToolCall:
		param := each.ToParam()
		return responses.ResponseInputItemUnionParam{OfFunctionCall: &param}, nil
	case responses.ResponseOutputMessage:
		param := each.ToParam()
		return responses.ResponseInputItemUnionParam{OfOutputMessage: &param}, nil
	}
	return responses.ResponseInputItemUnionParam{}, fmt.Errorf("an item of type %s", item.Type)
}

func responsesTask(to account, stream bool) ([]string, error) {
	client, next := openaiClient(to), respond(responsesWhole)
	if stream {
		next = responsesStreamed
	}
	body := responses.ResponseNewParams{
		Model: to.model,
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "weather", Description: openai.String(description), Parameters: schema, Strict: openai.Bool(false),
		}}},
	}
	answers := []string{}
	input := responses.ResponseInputParam{}
	for _, question := range questions {
		input = append(input, responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser))
		for {
			body.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
			response, err := next(client, body)
			if err != nil {
				return nil, err
			}
			results := responses.ResponseInputParam{}
			for _, item := range response.Output {
				param, err := inputOf(item)
				if err != nil {
					return nil, err
				}
				input = append(input, param)
				if item.Type != "function_call" {
					continue
				}
				call := item.AsFunctionCall()
				result, err := weatherOf(call.Arguments)
				if err != nil {
					return nil, err
				}
				output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
				output.OfFunctionCallOutput.CallID = openai.String(call.CallID)
				results = append(results, output)
			}
			if len(results) == 0 {
				answers = append(answers, response.OutputText())
				break
			}
			input = append(input, results...)
		}
	}
	return answers, nil
}

// account is what one client sends, and to whom.
type account struct{ url, key, model string }

type client struct {
	task    func(to account, stream bool) ([]string, error)
	feature func(to account, feature string, stream bool) ([]string, error)
}

var clients = map[string]client{
	"openai-go, chat":                {chatTask, chatFeature},
	"openai-go, responses":           {responsesTask, responsesFeature},
	"anthropic-sdk-go":               {anthropicTask, messagesFeature},
	"anthropic-sdk-go with thinking": {anthropicThinkingTask, messagesFeature},
	"go-openai":                      {goOpenaiTask, goOpenaiFeature},
	"langchaingo":                    {langchaingoTask, langchaingoFeature},
	"eino":                           {einoTask, einoFeature},
}

// run runs the client at its task, or at a feature where one is named. name is its name, and `whole` or `streamed`.
func run(name string, to account, feature string) ([]string, error) {
	stream := strings.HasSuffix(name, ", streamed")
	found, isKnown := clients[strings.TrimSuffix(strings.TrimSuffix(name, ", streamed"), ", whole")]
	if !isKnown {
		return nil, fmt.Errorf("no client %q", name)
	}
	if feature == "" {
		return found.task(to, stream)
	}
	return found.feature(to, feature, stream)
}

func answer(line []byte) any {
	var order []string
	if err := json.Unmarshal(line, &order); err != nil || len(order) < 4 || len(order) > 5 {
		return fmt.Sprintf("not four or five texts: %s", line)
	}
	feature := ""
	if len(order) == 5 {
		feature = order[4]
	}
	answers, err := run(order[0], account{url: order[1], key: order[2], model: order[3]}, feature)
	var refusal *openai.Error
	if errors.As(err, &refusal) {
		// Its text is the status alone.
		return fmt.Sprintf("%v: %s", err, refusal.Message)
	}
	if err != nil {
		return err.Error()
	}
	return answers
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "ends" {
		readEnds()
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		written, err := json.Marshal(answer(lines.Bytes()))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(written))
	}
}
