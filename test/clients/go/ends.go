package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	einoschema "github.com/cloudwego/eino/schema"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	goopenai "github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"
	lcopenai "github.com/tmc/langchaingo/llms/openai"
)

// question is what one client sends, and to whom.
type question struct {
	url, key, model, prompt string
	stream                  bool
}

// reading is how a client has taken the end of an answer: by its word, and by what a caller finds of calls.
type reading struct {
	kind  string
	calls []string
}

var anyObject = map[string]any{"type": "object", "properties": map[string]any{}}

func kindOf(reason string, good ...string) string {
	if reason == "" {
		return "silent"
	}
	for _, each := range good {
		if reason == each {
			return "finished"
		}
	}
	return "shown"
}

func readChat(q question) (reading, error) {
	client := openai.NewClient(option.WithBaseURL(q.url+"/v1"), option.WithAPIKey(q.key), option.WithMaxRetries(0))
	body := openai.ChatCompletionNewParams{
		Model:    q.model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(q.prompt)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "look", Parameters: anyObject,
		})},
	}
	next := chatWhole
	if q.stream {
		next = chatStreamed
	}
	reply, err := next(client, body)
	if err != nil {
		return reading{}, err
	}
	if len(reply.Choices) == 0 {
		return reading{kind: "silent"}, nil
	}
	found := reading{kind: kindOf(reply.Choices[0].FinishReason, "stop", "tool_calls")}
	for _, call := range reply.Choices[0].Message.ToolCalls {
		found.calls = append(found.calls, call.Function.Arguments)
	}
	return found, nil
}

func readResponses(q question) (reading, error) {
	client := openai.NewClient(option.WithBaseURL(q.url+"/v1"), option.WithAPIKey(q.key), option.WithMaxRetries(0))
	body := responses.ResponseNewParams{
		Model: q.model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(q.prompt)},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "look", Parameters: anyObject, Strict: openai.Bool(false)}}},
	}
	var last *responses.Response
	if q.stream {
		stream := client.Responses.NewStreaming(context.Background(), body)
		for stream.Next() {
			if event := stream.Current(); event.Type == "response.completed" || event.Type == "response.incomplete" {
				last = &event.Response
			}
		}
		if err := stream.Err(); err != nil {
			return reading{}, err
		}
	} else {
		var err error
		if last, err = client.Responses.New(context.Background(), body); err != nil {
			return reading{}, err
		}
	}
	if last == nil {
		return reading{kind: "silent"}, nil
	}
	found := reading{kind: kindOf(string(last.Status), "completed")}
	for _, item := range last.Output {
		if item.Type == "function_call" {
			found.calls = append(found.calls, item.AsFunctionCall().Arguments)
		}
	}
	return found, nil
}

func readMessages(q question) (reading, error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(q.url), anthropicoption.WithAPIKey(q.key), anthropicoption.WithMaxRetries(0))
	body := anthropic.MessageNewParams{
		Model:     anthropic.Model(q.model),
		MaxTokens: 1000,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(q.prompt))},
		Tools:     []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "look", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}}},
	}
	message := &anthropic.Message{}
	if q.stream {
		stream := client.Messages.NewStreaming(context.Background(), body)
		for stream.Next() {
			if err := message.Accumulate(stream.Current()); err != nil {
				return reading{}, err
			}
		}
		if err := stream.Err(); err != nil {
			return reading{}, err
		}
	} else {
		var err error
		if message, err = client.Messages.New(context.Background(), body); err != nil {
			return reading{}, err
		}
	}
	found := reading{kind: kindOf(string(message.StopReason), "end_turn", "tool_use", "stop_sequence")}
	for _, block := range message.Content {
		if block.Type == "tool_use" {
			found.calls = append(found.calls, string(block.Input))
		}
	}
	return found, nil
}

func readGoOpenai(q question) (reading, error) {
	config := goopenai.DefaultConfig(q.key)
	config.BaseURL = q.url + "/v1"
	client := goopenai.NewClientWithConfig(config)
	body := goopenai.ChatCompletionRequest{
		Model:    q.model,
		Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: q.prompt}},
		Tools:    []goopenai.Tool{{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{Name: "look", Parameters: anyObject}}},
	}
	if !q.stream {
		reply, err := client.CreateChatCompletion(context.Background(), body)
		if err != nil {
			return reading{}, err
		}
		if len(reply.Choices) == 0 {
			return reading{kind: "silent"}, nil
		}
		found := reading{kind: kindOf(string(reply.Choices[0].FinishReason), "stop", "tool_calls")}
		for _, call := range reply.Choices[0].Message.ToolCalls {
			found.calls = append(found.calls, call.Function.Arguments)
		}
		return found, nil
	}
	stream, err := client.CreateChatCompletionStream(context.Background(), body)
	if err != nil {
		return reading{}, err
	}
	defer stream.Close()
	reason := ""
	calls := []string{}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return reading{kind: kindOf(reason, "stop", "tool_calls"), calls: calls}, nil
		}
		if err != nil {
			return reading{}, err
		}
		for _, choice := range chunk.Choices {
			if choice.FinishReason != "" {
				reason = string(choice.FinishReason)
			}
			for _, call := range choice.Delta.ToolCalls {
				for len(calls) <= *call.Index {
					calls = append(calls, "")
				}
				calls[*call.Index] += call.Function.Arguments
			}
		}
	}
}

func readLangchaingo(q question) (reading, error) {
	model, err := lcopenai.New(lcopenai.WithBaseURL(q.url+"/v1"), lcopenai.WithToken(q.key), lcopenai.WithModel(q.model))
	if err != nil {
		return reading{}, err
	}
	options := []llms.CallOption{llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "look", Parameters: anyObject}}})}
	if q.stream {
		options = append(options, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
	}
	reply, err := model.GenerateContent(context.Background(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, q.prompt)}, options...)
	if err != nil {
		return reading{}, err
	}
	if len(reply.Choices) == 0 {
		return reading{kind: "silent"}, nil
	}
	found := reading{kind: kindOf(reply.Choices[0].StopReason, "stop", "tool_calls")}
	for _, call := range reply.Choices[0].ToolCalls {
		found.calls = append(found.calls, call.FunctionCall.Arguments)
	}
	return found, nil
}

func readEino(q question) (reading, error) {
	ctx := context.Background()
	model, err := einoopenai.NewChatModel(ctx, &einoopenai.ChatModelConfig{BaseURL: q.url + "/v1", APIKey: q.key, Model: q.model})
	if err != nil {
		return reading{}, err
	}
	bound, err := model.WithTools([]*einoschema.ToolInfo{{Name: "look", Desc: "Looks.", ParamsOneOf: einoschema.NewParamsOneOfByParams(map[string]*einoschema.ParameterInfo{})}})
	if err != nil {
		return reading{}, err
	}
	input := []*einoschema.Message{einoschema.UserMessage(q.prompt)}
	var message *einoschema.Message
	if q.stream {
		stream, err := bound.Stream(ctx, input)
		if err != nil {
			return reading{}, err
		}
		if message, err = einoschema.ConcatMessageStream(stream); err != nil {
			return reading{}, err
		}
	} else if message, err = bound.Generate(ctx, input); err != nil {
		return reading{}, err
	}
	reason := ""
	if message.ResponseMeta != nil {
		reason = message.ResponseMeta.FinishReason
	}
	found := reading{kind: kindOf(reason, "stop", "tool_calls")}
	for _, call := range message.ToolCalls {
		found.calls = append(found.calls, call.Function.Arguments)
	}
	return found, nil
}

var readers = map[string]func(question) (reading, error){
	"openai, chat, in Go":      readChat,
	"openai, responses, in Go": readResponses,
	"anthropic, in Go":         readMessages,
	"go-openai":                readGoOpenai,
	"langchaingo":              readLangchaingo,
	"eino":                     readEino,
}

// readOne reads the end of one answer. line is [number, client, url, key, model, prompt, stream].
func readOne(line []byte) []any {
	var number int
	var client string
	var q question
	order := []any{&number, &client, &q.url, &q.key, &q.model, &q.prompt, &q.stream}
	if err := json.Unmarshal(line, &order); err != nil {
		panic(err)
	}
	read := readers[client]
	if read == nil {
		panic("no client " + client)
	}
	found, err := read(q)
	if err != nil {
		return []any{number, "raised", []string{}}
	}
	if found.calls == nil {
		found.calls = []string{}
	}
	return []any{number, found.kind, found.calls}
}

// readEnds shows how clients take the ends of answers: lines of JSON in any order and at once, and for each [number, kind, calls].
func readEnds() {
	lines := bufio.NewScanner(os.Stdin)
	var output sync.Mutex
	var running sync.WaitGroup
	for lines.Scan() {
		line := append([]byte{}, lines.Bytes()...)
		running.Go(func() {
			written, err := json.Marshal(readOne(line))
			if err != nil {
				panic(err)
			}
			output.Lock()
			defer output.Unlock()
			fmt.Println(string(written))
		})
	}
	running.Wait()
}
