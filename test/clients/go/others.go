package main

import (
	"context"
	"errors"
	"io"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	einomodel "github.com/cloudwego/eino/components/model"
	einoschema "github.com/cloudwego/eino/schema"
	goopenai "github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"
	lcopenai "github.com/tmc/langchaingo/llms/openai"
)

func anthropicTask(to account, stream bool) ([]string, error) {
	return messagesTask(to, stream, anthropic.ThinkingConfigParamUnion{})
}

func anthropicThinkingTask(to account, stream bool) ([]string, error) {
	return messagesTask(to, stream, anthropic.ThinkingConfigParamOfEnabled(2048))
}

func messagesTask(to account, stream bool, thinking anthropic.ThinkingConfigParamUnion) ([]string, error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(to.url), anthropicoption.WithAPIKey(to.key))
	body := anthropic.MessageNewParams{
		Model:     anthropic.Model(to.model),
		MaxTokens: 4096,
		Thinking:  thinking,
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name:        "weather",
			Description: anthropic.String(description),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"], Required: []string{"place"}},
		}}},
	}
	answers := []string{}
	for _, question := range questions {
		body.Messages = append(body.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(question)))
		for {
			message, err := anthropicMessage(client, body, stream)
			if err != nil {
				return nil, err
			}
			body.Messages = append(body.Messages, message.ToParam())
			text, results := "", []anthropic.ContentBlockParamUnion{}
			for _, block := range message.Content {
				switch each := block.AsAny().(type) {
				case anthropic.TextBlock:
					text += each.Text
				case anthropic.ToolUseBlock:
					result, err := weatherOf(string(each.Input))
					if err != nil {
						return nil, err
					}
					results = append(results, anthropic.NewToolResultBlock(each.ID, result, false))
				}
			}
			if len(results) == 0 {
				answers = append(answers, text)
				break
			}
			body.Messages = append(body.Messages, anthropic.NewUserMessage(results...))
		}
	}
	return answers, nil
}

func anthropicMessage(client anthropic.Client, body anthropic.MessageNewParams, stream bool) (*anthropic.Message, error) {
	if !stream {
		return client.Messages.New(context.Background(), body)
	}
	message := &anthropic.Message{}
	events := client.Messages.NewStreaming(context.Background(), body)
	for events.Next() {
		if err := message.Accumulate(events.Current()); err != nil {
			return nil, err
		}
	}
	return message, events.Err()
}

func goOpenaiTask(to account, stream bool) ([]string, error) {
	config := goopenai.DefaultConfig(to.key)
	config.BaseURL = to.url + "/v1"
	client := goopenai.NewClientWithConfig(config)
	body := goopenai.ChatCompletionRequest{
		Model: to.model,
		Tools: []goopenai.Tool{{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{
			Name: "weather", Description: description, Parameters: schema,
		}}},
	}
	answers := []string{}
	for _, question := range questions {
		body.Messages = append(body.Messages, goopenai.ChatCompletionMessage{Role: "user", Content: question})
		for {
			message, err := goOpenaiMessage(client, body, stream)
			if err != nil {
				return nil, err
			}
			body.Messages = append(body.Messages, message)
			for _, call := range message.ToolCalls {
				result, err := weatherOf(call.Function.Arguments)
				if err != nil {
					return nil, err
				}
				body.Messages = append(body.Messages, goopenai.ChatCompletionMessage{Role: "tool", Content: result, ToolCallID: call.ID})
			}
			if len(message.ToolCalls) == 0 {
				answers = append(answers, message.Content)
				break
			}
		}
	}
	return answers, nil
}

// goOpenaiMessage puts the pieces of a stream together, as the users of this library do themselves.
func goOpenaiMessage(client *goopenai.Client, body goopenai.ChatCompletionRequest, stream bool) (goopenai.ChatCompletionMessage, error) {
	if !stream {
		reply, err := client.CreateChatCompletion(context.Background(), body)
		if err != nil {
			return goopenai.ChatCompletionMessage{}, err
		}
		return reply.Choices[0].Message, nil
	}
	message := goopenai.ChatCompletionMessage{Role: "assistant"}
	chunks, err := client.CreateChatCompletionStream(context.Background(), body)
	if err != nil {
		return message, err
	}
	defer chunks.Close()
	for {
		chunk, err := chunks.Recv()
		if errors.Is(err, io.EOF) {
			return message, nil
		}
		if err != nil {
			return message, err
		}
		for _, choice := range chunk.Choices {
			message.Content += choice.Delta.Content
			message.ReasoningContent += choice.Delta.ReasoningContent
			for _, piece := range choice.Delta.ToolCalls {
				for len(message.ToolCalls) <= *piece.Index {
					message.ToolCalls = append(message.ToolCalls, goopenai.ToolCall{Type: goopenai.ToolTypeFunction})
				}
				call := &message.ToolCalls[*piece.Index]
				call.ID += piece.ID
				call.Function.Name += piece.Function.Name
				call.Function.Arguments += piece.Function.Arguments
			}
		}
	}
}

func langchaingoTask(to account, stream bool) ([]string, error) {
	model, err := lcopenai.New(lcopenai.WithBaseURL(to.url+"/v1"), lcopenai.WithToken(to.key), lcopenai.WithModel(to.model))
	if err != nil {
		return nil, err
	}
	options := []llms.CallOption{llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{
		Name: "weather", Description: description, Parameters: schema,
	}}})}
	if stream {
		options = append(options, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
	}
	messages := []llms.MessageContent{}
	answers := []string{}
	for _, question := range questions {
		messages = append(messages, llms.TextParts(llms.ChatMessageTypeHuman, question))
		for {
			reply, err := model.GenerateContent(context.Background(), messages, options...)
			if err != nil {
				return nil, err
			}
			choice := reply.Choices[0]
			said := llms.TextParts(llms.ChatMessageTypeAI, choice.Content)
			for _, call := range choice.ToolCalls {
				said.Parts = append(said.Parts, call)
			}
			messages = append(messages, said)
			for _, call := range choice.ToolCalls {
				result, err := weatherOf(call.FunctionCall.Arguments)
				if err != nil {
					return nil, err
				}
				part := llms.ToolCallResponse{ToolCallID: call.ID, Name: call.FunctionCall.Name, Content: result}
				messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{part}})
			}
			if len(choice.ToolCalls) == 0 {
				answers = append(answers, choice.Content)
				break
			}
		}
	}
	return answers, nil
}

func einoTask(to account, stream bool) ([]string, error) {
	ctx := context.Background()
	model, err := einoopenai.NewChatModel(ctx, &einoopenai.ChatModelConfig{BaseURL: to.url + "/v1", APIKey: to.key, Model: to.model})
	if err != nil {
		return nil, err
	}
	place := &einoschema.ParameterInfo{Type: einoschema.String, Desc: "Name of the place", Required: true}
	parameters := einoschema.NewParamsOneOfByParams(map[string]*einoschema.ParameterInfo{"place": place})
	bound, err := model.WithTools([]*einoschema.ToolInfo{{Name: "weather", Desc: description, ParamsOneOf: parameters}})
	if err != nil {
		return nil, err
	}
	messages := []*einoschema.Message{}
	answers := []string{}
	for _, question := range questions {
		messages = append(messages, einoschema.UserMessage(question))
		for {
			message, err := einoMessage(ctx, bound, messages, stream)
			if err != nil {
				return nil, err
			}
			messages = append(messages, message)
			for _, call := range message.ToolCalls {
				result, err := weatherOf(call.Function.Arguments)
				if err != nil {
					return nil, err
				}
				messages = append(messages, einoschema.ToolMessage(result, call.ID))
			}
			if len(message.ToolCalls) == 0 {
				answers = append(answers, message.Content)
				break
			}
		}
	}
	return answers, nil
}

func einoMessage(ctx context.Context, model einomodel.BaseChatModel, messages []*einoschema.Message, stream bool) (*einoschema.Message, error) {
	if !stream {
		return model.Generate(ctx, messages)
	}
	chunks, err := model.Stream(ctx, messages)
	if err != nil {
		return nil, err
	}
	return einoschema.ConcatMessageStream(chunks)
}
