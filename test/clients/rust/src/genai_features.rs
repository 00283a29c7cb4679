//! genai at what it does beside tools.

use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ChatStreamEvent, ContentPart, JsonSpec, ReasoningEffort};

use crate::features::{PIXEL, QUESTION, capital, parts};
use crate::genai_task::client_of;
use crate::{Account, Answers};

pub async fn openai(account: Account, feature: &str, stream: bool) -> Answers {
    converse(account, AdapterKind::OpenAI, feature, stream).await
}

pub async fn anthropic(account: Account, feature: &str, stream: bool) -> Answers {
    converse(account, AdapterKind::Anthropic, feature, stream).await
}

async fn converse(account: Account, kind: AdapterKind, feature: &str, stream: bool) -> Answers {
    let model = account.model.clone();
    let client = client_of(account, kind)?;
    let mut content = vec![ContentPart::from_text(QUESTION)];
    if feature == "image" {
        content.push(ContentPart::from_binary_base64("image/png", PIXEL, None));
    }
    let request = ChatRequest::default().append_message(ChatMessage::user(content));
    let mut options = ChatOptions::default();
    if feature == "schema" {
        options = options.with_response_format(ChatResponseFormat::JsonSpec(JsonSpec::new("capital", capital())));
    }
    if feature == "reasoning" {
        options = options.with_reasoning_effort(ReasoningEffort::Medium);
    }
    if !stream {
        let reply = client.exec_chat(&model, request, Some(&options)).await?;
        let text = reply.first_text().unwrap_or_default().to_owned();
        return parts(feature, reply.reasoning_content.unwrap_or_default(), text);
    }
    let mut events = client.exec_chat_stream(&model, request, Some(&options)).await?.stream;
    let (mut shown, mut text) = (String::new(), String::new());
    while let Some(event) = events.next().await {
        match event? {
            ChatStreamEvent::Chunk(chunk) => text += &chunk.content,
            ChatStreamEvent::ReasoningChunk(chunk) => shown += &chunk.content,
            _ => {}
        }
        if feature == "abort" && !text.is_empty() {
            break;
        }
    }
    parts(feature, shown, text)
}
