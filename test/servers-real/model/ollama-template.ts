/**
 * The chat template of the tiny model as Ollama writes templates (Go's text/template): the same words as `template.ts`. Ollama finds by it
 * that the model thinks (`.Thinking` between two tags) and how it calls tools (the tag in front of `.ToolCalls`).
 */
export const OLLAMA_TEMPLATE = `
{{- if or .System .Tools }}<|im_start|>system
{{ .System }}
{{- if .Tools }}

# Tools
<tools>
{{- range .Tools }}
{{ . }}
{{- end }}
</tools>
Call a tool with <tool_call>
{"name": <name>, "arguments": <arguments>}
</tool_call>
{{- end }}<|im_end|>
{{ end }}
{{- range $i, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 }}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ if .Thinking }}<think>
{{ .Thinking }}
</think>

{{ end }}{{ .Content }}
{{- if .ToolCalls }}<tool_call>
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
{{ end }}</tool_call>
{{- end }}{{ if not $last }}<|im_end|>
{{ end }}
{{- else if eq .Role "tool" }}<|im_start|>user
<tool_response>
{{ .Content }}
</tool_response><|im_end|>
{{ end }}
{{- if and (ne .Role "assistant") $last }}<|im_start|>assistant
{{ if and $.IsThinkSet (not $.Think) }}<think>

</think>

{{ end }}
{{- end }}
{{- end }}`.trimStart()
