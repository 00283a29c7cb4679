//! rig at each of the three formats.

use rig_core::ProviderError;
use rig_core::completion::{CompletionRequest, CompletionResponse, Message, ToolDefinition};
use rig_core::message::{ToolName, ToolResultContent};
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::openai::OpenAIConfig;

use crate::{Account, Answers, DESCRIPTION, QUESTIONS, schema, weather};

pub async fn chat(account: Account, stream: bool) -> Answers {
    let model = OpenAIConfig::new(account.key).with_base_url(format!("{}/v1", account.url)).client().chat(account.model);
    converse(async |request| if stream { model.stream(request)?.finish().await } else { model.call(request).await }).await
}

pub async fn responses(account: Account, stream: bool) -> Answers {
    let model = OpenAIConfig::new(account.key).with_base_url(format!("{}/v1", account.url)).client().responses(account.model);
    converse(async |request| if stream { model.stream(request)?.finish().await } else { model.call(request).await }).await
}

pub async fn anthropic(account: Account, stream: bool) -> Answers {
    let model = AnthropicConfig::new(account.key).with_base_url(account.url).client().completion(account.model);
    // It demands the cap for models that it has no own one for.
    let capped = |request: CompletionRequest| request.max_tokens(4096);
    converse(async |request| if stream { model.stream(capped(request))?.finish().await } else { model.call(capped(request)).await }).await
}

async fn converse(next: impl AsyncFn(CompletionRequest) -> Result<CompletionResponse, ProviderError>) -> Answers {
    let tool = ToolDefinition::new(ToolName::try_from("weather".to_owned())?, DESCRIPTION, schema());
    let mut messages: Vec<Message> = Vec::new();
    let mut answers = Vec::new();
    for question in QUESTIONS {
        messages.push(Message::user(question));
        loop {
            let mut before = messages.clone();
            let last = before.pop().ok_or("no message")?;
            let response = next(CompletionRequest::new(last).messages(before).tool(tool.clone())).await?;
            messages.push(response.message().ok_or("an empty message")?);
            let results: Vec<_> = response
                .tool_calls()
                .map(|call| call.result(vec![ToolResultContent::text(weather(&call.function.arguments_value()))]))
                .collect();
            if results.is_empty() {
                answers.push(response.text());
                break;
            }
            messages.push(Message::tool_results(results));
        }
    }
    Ok(answers)
}
