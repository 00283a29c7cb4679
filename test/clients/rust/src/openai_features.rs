//! async-openai at what it does beside tools.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionRequestMessageContentPartImage, ChatCompletionRequestMessageContentPartText, ChatCompletionRequestUserMessage,
    ChatCompletionRequestUserMessageContent, ChatCompletionRequestUserMessageContentPart, CreateChatCompletionRequest, ImageUrl, ReasoningEffort,
    ResponseFormat, ResponseFormatJsonSchema,
};
use futures::StreamExt;

use crate::features::{PIXEL, QUESTION, capital, parts};
use crate::{Account, Answers};

fn content(feature: &str) -> ChatCompletionRequestUserMessageContent {
    if feature != "image" {
        return ChatCompletionRequestUserMessageContent::Text(QUESTION.into());
    }
    let text = ChatCompletionRequestMessageContentPartText { text: QUESTION.into(), ..Default::default() };
    let image_url = ImageUrl { url: format!("data:image/png;base64,{PIXEL}"), detail: None };
    let image = ChatCompletionRequestMessageContentPartImage { image_url, ..Default::default() };
    ChatCompletionRequestUserMessageContent::Array(vec![
        ChatCompletionRequestUserMessageContentPart::Text(text),
        ChatCompletionRequestUserMessageContentPart::ImageUrl(image),
    ])
}

pub async fn chat(account: Account, feature: &str, stream: bool) -> Answers {
    let config = OpenAIConfig::new().with_api_base(format!("{}/v1", account.url)).with_api_key(account.key);
    let client = Client::with_config(config);
    let message = ChatCompletionRequestUserMessage { content: content(feature), ..Default::default() };
    let mut request = CreateChatCompletionRequest { model: account.model, messages: vec![message.into()], ..Default::default() };
    if feature == "schema" {
        let json_schema = ResponseFormatJsonSchema { name: "capital".into(), description: None, schema: capital(), strict: Some(true) };
        request.response_format = Some(ResponseFormat::JsonSchema { json_schema });
    }
    if feature == "reasoning" {
        request.reasoning_effort = Some(ReasoningEffort::Medium);
    }
    if !stream {
        let reply = client.chat().create(request).await?;
        return parts(feature, String::new(), reply.choices[0].message.content.clone().unwrap_or_default());
    }
    let mut chunks = client.chat().create_stream(request).await?;
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        for choice in chunk?.choices {
            text += choice.delta.content.as_deref().unwrap_or_default();
        }
        if feature == "abort" && !text.is_empty() {
            break;
        }
    }
    parts(feature, String::new(), text)
}
