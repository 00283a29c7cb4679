//! rig at what it does beside tools.

use futures::StreamExt;
use rig_core::completion::message::{ImageMediaType, UserContent};
use rig_core::completion::{CompletionRequest, Effort, Message, Reasoning};
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::streaming::{Item, StreamEvent};

use crate::features::{PIXEL, QUESTION, capital, parts};
use crate::{Account, Answers};

fn request(feature: &str, reasoning: impl Into<Reasoning>) -> Result<CompletionRequest, Box<dyn std::error::Error>> {
    let mut content = vec![UserContent::text(QUESTION)];
    if feature == "image" {
        content.push(UserContent::image_base64(PIXEL, Some(ImageMediaType::PNG), None));
    }
    let mut request = CompletionRequest::new(Message::from(content));
    if feature == "schema" {
        request.output_schema = Some(serde_json::from_value(capital())?);
    }
    Ok(if feature == "reasoning" { request.reasoning(reasoning) } else { request })
}

/// The models of its formats are of different types.
macro_rules! converse {
    ($model:expr, $request:expr, $feature:expr, $stream:expr) => {{
        if $feature == "abort" {
            let mut events = $model.stream($request)?;
            while let Some(event) = events.next().await {
                if let Item::Event(StreamEvent::Text { text, .. }) = event? {
                    return Ok(vec![text]);
                }
            }
            return Err("the stream has no text".into());
        }
        let reply = if $stream { $model.stream($request)?.finish().await? } else { $model.call($request).await? };
        parts($feature, reply.reasoning(), reply.text())
    }};
}

pub async fn chat(account: Account, feature: &str, stream: bool) -> Answers {
    let model = OpenAIConfig::new(account.key).with_base_url(format!("{}/v1", account.url)).client().chat(account.model);
    converse!(model, request(feature, Effort::Medium)?, feature, stream)
}

pub async fn responses(account: Account, feature: &str, stream: bool) -> Answers {
    let model = OpenAIConfig::new(account.key).with_base_url(format!("{}/v1", account.url)).client().responses(account.model);
    converse!(model, request(feature, Effort::Medium)?, feature, stream)
}

pub async fn anthropic(account: Account, feature: &str, stream: bool) -> Answers {
    let model = AnthropicConfig::new(account.key).with_base_url(account.url).client().completion(account.model);
    converse!(model, request(feature, Reasoning::Budget { tokens: 2048 })?.max_tokens(4096), feature, stream)
}
