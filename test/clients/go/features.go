package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	einoschema "github.com/cloudwego/eino/schema"
	einojsonschema "github.com/eino-contrib/jsonschema"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	goopenai "github.com/sashabaranov/go-openai"
	goopenaischema "github.com/sashabaranov/go-openai/jsonschema"
	"github.com/tmc/langchaingo/llms"
	lcopenai "github.com/tmc/langchaingo/llms/openai"
)

// A feature is one of ../support/features.ts: `schema`, `image`, `reasoning`, or `abort`, in which a stream is left after its first text.

const (
	pixel    = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	dataURL  = "data:image/png;base64," + pixel
	worthIt  = "Is it worth it?"
	oneShape = `{"type":"object","properties":{"capital":{"type":"string"},"inhabitants":{"type":"integer"}},"required":["capital","inhabitants"],"additionalProperties":false}`
)

type capital struct {
	Capital     string `json:"capital"`
	Inhabitants int    `json:"inhabitants"`
}

// partsOf reads the structured answer.
func partsOf(text string) ([]string, error) {
	var found capital
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("%w in %q", err, text)
	}
	return []string{found.Capital, fmt.Sprint(found.Inhabitants)}, nil
}

func shapeOf() map[string]any {
	var shape map[string]any
	if err := json.Unmarshal([]byte(oneShape), &shape); err != nil {
		panic(err)
	}
	return shape
}

func chatFeature(to account, feature string, stream bool) ([]string, error) {
	client := openaiClient(to)
	body := openai.ChatCompletionNewParams{Model: to.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(worthIt)}}
	switch feature {
	case "schema":
		body.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "capital", Schema: shapeOf(), Strict: openai.Bool(true)},
		}
	case "image":
		body.Messages[0] = openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart(worthIt),
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: dataURL}),
		})
	case "reasoning":
		body.ReasoningEffort = shared.ReasoningEffortMedium
	case "abort":
		chunks := client.Chat.Completions.NewStreaming(context.Background(), body)
		defer chunks.Close()
		for chunks.Next() {
			if choices := chunks.Current().Choices; len(choices) > 0 && choices[0].Delta.Content != "" {
				return []string{choices[0].Delta.Content}, nil
			}
		}
		return nil, chunks.Err()
	}
	if stream {
		return chatFeatureStreamed(client, body, feature)
	}
	reply, err := client.Chat.Completions.New(context.Background(), body)
	if err != nil {
		return nil, err
	}
	message := reply.Choices[0].Message
	// No field of its types: what a server sends beside them is kept.
	return featureOf(feature, textIn(message.JSON.ExtraFields["reasoning"].Raw()), message.Content)
}

func chatFeatureStreamed(client openai.Client, body openai.ChatCompletionNewParams, feature string) ([]string, error) {
	chunks := client.Chat.Completions.NewStreaming(context.Background(), body)
	shown, text := "", ""
	for chunks.Next() {
		for _, choice := range chunks.Current().Choices {
			shown += textIn(choice.Delta.JSON.ExtraFields["reasoning"].Raw())
			text += choice.Delta.Content
		}
	}
	if err := chunks.Err(); err != nil {
		return nil, err
	}
	return featureOf(feature, shown, text)
}

// textIn is a text as JSON has it, or none.
func textIn(raw string) string {
	var text string
	if raw == "" || json.Unmarshal([]byte(raw), &text) != nil {
		return ""
	}
	return text
}

// featureOf is what the test expects of a feature, by what the client shows.
func featureOf(feature, shown, text string) ([]string, error) {
	switch feature {
	case "schema":
		return partsOf(text)
	case "reasoning":
		return []string{shown, text}, nil
	}
	return []string{text}, nil
}

func responsesFeature(to account, feature string, stream bool) ([]string, error) {
	client := openaiClient(to)
	body := responses.ResponseNewParams{Model: to.model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(worthIt)}}
	switch feature {
	case "schema":
		body.Text.Format = responses.ResponseFormatTextConfigParamOfJSONSchema("capital", shapeOf())
	case "image":
		parts := responses.ResponseInputMessageContentListParam{
			responses.ResponseInputContentParamOfInputText(worthIt),
			responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto),
		}
		parts[1].OfInputImage.ImageURL = openai.String(dataURL)
		body.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(parts, responses.EasyInputMessageRoleUser),
		}}
	case "reasoning":
		body.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortMedium, Summary: shared.ReasoningSummaryAuto}
	case "abort":
		events := client.Responses.NewStreaming(context.Background(), body)
		defer events.Close()
		for events.Next() {
			if event := events.Current(); event.Type == "response.output_text.delta" {
				return []string{event.Delta}, nil
			}
		}
		return nil, events.Err()
	}
	next := responsesWhole
	if stream {
		next = responsesStreamed
	}
	reply, err := next(client, body)
	if err != nil {
		return nil, err
	}
	shown := ""
	for _, item := range reply.Output {
		if item.Type != "reasoning" {
			continue
		}
		for _, part := range item.Summary {
			shown += part.Text
		}
		if len(item.Summary) > 0 {
			continue
		}
		for _, part := range item.AsReasoning().Content {
			shown += part.Text
		}
	}
	return featureOf(feature, shown, reply.OutputText())
}

func messagesFeature(to account, feature string, stream bool) ([]string, error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(to.url), anthropicoption.WithAPIKey(to.key))
	body := anthropic.MessageNewParams{
		Model:     anthropic.Model(to.model),
		MaxTokens: 4096,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(worthIt))},
	}
	switch feature {
	case "schema":
		body.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: shapeOf()}
	case "image":
		body.Messages[0] = anthropic.NewUserMessage(anthropic.NewImageBlockBase64("image/png", pixel), anthropic.NewTextBlock(worthIt))
	case "reasoning":
		body.Thinking = anthropic.ThinkingConfigParamOfEnabled(2048)
	case "abort":
		events := client.Messages.NewStreaming(context.Background(), body)
		defer events.Close()
		for events.Next() {
			if event := events.Current(); event.Type == "content_block_delta" && event.Delta.Text != "" {
				return []string{event.Delta.Text}, nil
			}
		}
		return nil, events.Err()
	}
	message, err := anthropicMessage(client, body, stream)
	if err != nil {
		return nil, err
	}
	shown, text := "", ""
	for _, block := range message.Content {
		shown += block.Thinking
		text += block.Text
	}
	return featureOf(feature, shown, text)
}

func goOpenaiFeature(to account, feature string, stream bool) ([]string, error) {
	config := goopenai.DefaultConfig(to.key)
	config.BaseURL = to.url + "/v1"
	client := goopenai.NewClientWithConfig(config)
	body := goopenai.ChatCompletionRequest{Model: to.model, Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: worthIt}}}
	switch feature {
	case "schema":
		shape, err := goopenaischema.GenerateSchemaForType(capital{})
		if err != nil {
			return nil, err
		}
		body.ResponseFormat = &goopenai.ChatCompletionResponseFormat{
			Type:       goopenai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{Name: "capital", Schema: shape, Strict: true},
		}
	case "image":
		body.Messages[0] = goopenai.ChatCompletionMessage{Role: "user", MultiContent: []goopenai.ChatMessagePart{
			{Type: goopenai.ChatMessagePartTypeText, Text: worthIt},
			{Type: goopenai.ChatMessagePartTypeImageURL, ImageURL: &goopenai.ChatMessageImageURL{URL: dataURL}},
		}}
	case "reasoning":
		body.ReasoningEffort = "medium"
	case "abort":
		chunks, err := client.CreateChatCompletionStream(context.Background(), body)
		if err != nil {
			return nil, err
		}
		defer chunks.Close()
		for {
			chunk, err := chunks.Recv()
			if err != nil {
				return nil, err
			}
			if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
				return []string{chunk.Choices[0].Delta.Content}, nil
			}
		}
	}
	message, err := goOpenaiMessage(client, body, stream)
	if err != nil {
		return nil, err
	}
	return featureOf(feature, message.ReasoningContent, message.Content)
}

var errLeft = errors.New("the stream was left")

func langchaingoFeature(to account, feature string, stream bool) ([]string, error) {
	options := []lcopenai.Option{lcopenai.WithBaseURL(to.url + "/v1"), lcopenai.WithToken(to.key), lcopenai.WithModel(to.model)}
	if feature == "schema" {
		options = append(options, lcopenai.WithResponseFormat(&lcopenai.ResponseFormat{
			Type: "json_schema",
			JSONSchema: &lcopenai.ResponseFormatJSONSchema{Name: "capital", Strict: true, Schema: &lcopenai.ResponseFormatJSONSchemaProperty{
				Type: "object",
				Properties: map[string]*lcopenai.ResponseFormatJSONSchemaProperty{
					"capital": {Type: "string"}, "inhabitants": {Type: "integer"},
				},
				Required: []string{"capital", "inhabitants"},
			}},
		}))
	}
	model, err := lcopenai.New(options...)
	if err != nil {
		return nil, err
	}
	message := llms.TextParts(llms.ChatMessageTypeHuman, worthIt)
	if feature == "image" {
		picture, err := base64.StdEncoding.DecodeString(pixel)
		if err != nil {
			return nil, err
		}
		// Parts of bytes have a type of its own, which no provider takes.
		message.Parts = append(message.Parts, llms.BinaryPart("image/png", picture))
	}
	call := []llms.CallOption{}
	if feature == "reasoning" {
		call = append(call, llms.WithThinkingMode(llms.ThinkingModeMedium))
	}
	first := ""
	if stream || feature == "abort" {
		call = append(call, llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
			if first += string(chunk); feature == "abort" && first != "" {
				return errLeft
			}
			return nil
		}))
	}
	reply, err := model.GenerateContent(context.Background(), []llms.MessageContent{message}, call...)
	if feature == "abort" && errors.Is(err, errLeft) {
		return []string{first}, nil
	}
	if err != nil {
		return nil, err
	}
	return featureOf(feature, reply.Choices[0].ReasoningContent, reply.Choices[0].Content)
}

func einoFeature(to account, feature string, stream bool) ([]string, error) {
	ctx := context.Background()
	config := &einoopenai.ChatModelConfig{BaseURL: to.url + "/v1", APIKey: to.key, Model: to.model}
	message := einoschema.UserMessage(worthIt)
	switch feature {
	case "schema":
		shape := &einojsonschema.Schema{}
		if err := json.Unmarshal([]byte(oneShape), shape); err != nil {
			return nil, err
		}
		config.ResponseFormat = &einoopenai.ChatCompletionResponseFormat{
			Type:       einoopenai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &einoopenai.ChatCompletionResponseFormatJSONSchema{Name: "capital", Strict: true, JSONSchema: shape},
		}
	case "image":
		data := pixel
		message = &einoschema.Message{Role: einoschema.User, UserInputMultiContent: []einoschema.MessageInputPart{
			{Type: einoschema.ChatMessagePartTypeText, Text: worthIt},
			{Type: einoschema.ChatMessagePartTypeImageURL, Image: &einoschema.MessageInputImage{
				MessagePartCommon: einoschema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"},
			}},
		}}
	case "reasoning":
		config.ReasoningEffort = einoopenai.ReasoningEffortLevelMedium
	}
	model, err := einoopenai.NewChatModel(ctx, config)
	if err != nil {
		return nil, err
	}
	messages := []*einoschema.Message{message}
	if feature == "abort" {
		// Where its reader is closed alone, the request goes on until the next piece.
		ctx, leave := context.WithCancel(ctx)
		defer leave()
		chunks, err := model.Stream(ctx, messages)
		if err != nil {
			return nil, err
		}
		defer chunks.Close()
		for {
			chunk, err := chunks.Recv()
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			if err != nil || chunk.Content != "" {
				return []string{chunk.Content}, nil
			}
		}
	}
	reply, err := einoMessage(ctx, model, messages, stream)
	if err != nil {
		return nil, err
	}
	return featureOf(feature, reply.ReasoningContent, reply.Content)
}
