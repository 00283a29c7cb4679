/**
 * The chat template of the tiny model, in the manner of those of Qwen 3: thoughts in `<think>`, tool calls in the form of Hermes.
 * It refuses roles that it does not know and a system message that is not the first, as many published templates do.
 */
export const CHAT_TEMPLATE = String.raw`
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}
{%- if tools or system %}
{{- '<|im_start|>system\n' }}{{- system }}
{%- if tools %}
{{- "\n\n# Tools\n<tools>" }}
{%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{%- endfor %}
{{- "\n</tools>\nCall a tool with <tool_call>\n{\"name\": <name>, \"arguments\": <arguments>}\n</tool_call>" }}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in rest %}
{%- if message.role == 'user' %}
{{- '<|im_start|>user\n' }}
{%- if message.content is string %}{{- message.content }}{% else %}{% for part in message.content %}{% if part.type == 'text' %}{{- part.text }}{% else %}{{- raise_exception('This model reads text only, not ' ~ part.type) }}{% endif %}{% endfor %}{% endif %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' }}
{%- if message.reasoning_content is defined and message.reasoning_content is string and message.reasoning_content %}{{- '<think>\n' ~ message.reasoning_content | trim ~ '\n</think>\n\n' }}{% endif %}
{%- if message.content is string %}{{- message.content }}{% elif message.content %}{% for part in message.content %}{{- part.text }}{% endfor %}{% endif %}
{%- if message.tool_calls %}{% for call in message.tool_calls %}{% set f = call.function if call.function else call %}
{%- if not loop.first or message.content %}{{- '\n' }}{% endif %}
{{- '<tool_call>\n{"name": "' ~ f.name ~ '", "arguments": ' }}{%- if f.arguments is string %}{{- f.arguments }}{% else %}{{- f.arguments | tojson }}{% endif %}{{- '}\n</tool_call>' }}
{%- endfor %}{% endif %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' }}
{%- if message.content is string %}{{- message.content }}{% else %}{% for part in message.content %}{{- part.text }}{% endfor %}{% endif %}
{{- '\n</tool_response><|im_end|>\n' }}
{%- elif message.role == 'system' %}{{- raise_exception('System message must be at the beginning.') }}
{%- else %}{{- raise_exception('Unexpected message role: ' ~ message.role) }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{% endif %}
{%- endif %}
`.trim()
