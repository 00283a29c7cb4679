#!/usr/bin/env bash
# Package: github.com/tmc/langchaingo v0.1.14 (Go).
# Behaviour: an image that is given as bytes, llms.BinaryPart("image/png", data), goes to the API of OpenAI as a part
#   { "type": "binary", "binary": { "mime_type": …, "data": … } }, whole and streamed. The API has no part of that type, nor has any
#   server that speaks its format. llms.ImageURLPart with a data: address goes as image_url, which all of them take.
# Why a good guess is wrong: BinaryPart is the constructor for bytes, the other providers of the library (Google AI, Anthropic, Ollama)
#   make images of it, and the program compiles. OpenAI answers 400; a gateway that leaves out what the next format cannot say answers
#   200, and the model says that it sees no picture.
# A gateway should: make of such a part what its mime_type says (image_url, input_audio, file) before it goes on, in the same format as
#   in others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/program"
cd "$folder/program"
export GOPATH="$folder/go" GOCACHE="$folder/cache" GOFLAGS="-mod=mod -modcacherw"
cat > go.mod <<'MOD'
module finding

go 1.23

require github.com/tmc/langchaingo v0.1.14
MOD
cat > main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
)

func main() {
	seen := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body struct {
			Messages []struct{ Content json.RawMessage }
		}
		_ = json.Unmarshal(data, &body)
		var parts []map[string]any
		_ = json.Unmarshal(body.Messages[0].Content, &parts)
		for _, part := range parts {
			seen += fmt.Sprint(part["type"], " ")
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	model, err := openai.New(openai.WithBaseURL(server.URL), openai.WithToken("sk-none"), openai.WithModel("gpt-5.5"))
	if err != nil {
		panic(err)
	}
	message := llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{
		llms.TextPart("What is this?"),
		llms.BinaryPart("image/png", []byte{1, 2, 3}),
		llms.ImageURLPart("data:image/png;base64,AQID"),
	}}
	_, _ = model.GenerateContent(context.Background(), []llms.MessageContent{message})
	fmt.Println(seen)
}
GO
go mod tidy 2> /dev/null
found=$(go run .)
echo "types of the parts: $found"
[ "$found" = "text binary image_url " ] || { echo "The behaviour has changed."; exit 1; }
echo "As described."
