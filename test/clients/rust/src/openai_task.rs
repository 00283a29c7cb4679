//! async-openai at the chat format.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessage, ChatCompletionRequestMessage,
    ChatCompletionRequestToolMessage, ChatCompletionRequestUserMessage, ChatCompletionTool, ChatCompletionTools, CreateChatCompletionRequest,
    FunctionObject,
};
use futures::StreamExt;

use crate::{Account, Answers, DESCRIPTION, QUESTIONS, schema, weather};

type Reply = (Option<String>, Vec<ChatCompletionMessageToolCall>);

async fn whole(client: &Client<OpenAIConfig>, request: CreateChatCompletionRequest) -> Result<Reply, Box<dyn std::error::Error>> {
    let mut response = client.chat().create(request).await?;
    let message = response.choices.remove(0).message;
    let calls = message.tool_calls.unwrap_or_default().into_iter();
    let functions = calls.filter_map(|call| match call {
        ChatCompletionMessageToolCalls::Function(function) => Some(function),
        ChatCompletionMessageToolCalls::Custom(_) => None,
    });
    Ok((message.content, functions.collect()))
}

async fn streamed(client: &Client<OpenAIConfig>, request: CreateChatCompletionRequest) -> Result<Reply, Box<dyn std::error::Error>> {
    let mut chunks = client.chat().create_stream(request).await?;
    let mut text = String::new();
    let mut calls: Vec<ChatCompletionMessageToolCall> = Vec::new();
    while let Some(chunk) = chunks.next().await {
        for choice in chunk?.choices {
            text += choice.delta.content.as_deref().unwrap_or_default();
            for piece in choice.delta.tool_calls.unwrap_or_default() {
                let index = piece.index as usize;
                if calls.len() <= index {
                    calls.resize_with(index + 1, Default::default);
                }
                let call = &mut calls[index];
                call.id += piece.id.as_deref().unwrap_or_default();
                let Some(function) = piece.function else { continue };
                call.function.name += function.name.as_deref().unwrap_or_default();
                call.function.arguments += function.arguments.as_deref().unwrap_or_default();
            }
        }
    }
    Ok((Some(text).filter(|text| !text.is_empty()), calls))
}

pub async fn chat(account: Account, stream: bool) -> Answers {
    let config = OpenAIConfig::new().with_api_base(format!("{}/v1", account.url)).with_api_key(account.key);
    let client = Client::with_config(config);
    let function = FunctionObject {
        name: "weather".into(),
        description: Some(DESCRIPTION.into()),
        parameters: Some(schema()),
        ..Default::default()
    };
    let mut messages: Vec<ChatCompletionRequestMessage> = Vec::new();
    let mut answers = Vec::new();
    for question in QUESTIONS {
        messages.push(ChatCompletionRequestUserMessage::from(question).into());
        loop {
            let request = CreateChatCompletionRequest {
                model: account.model.clone(),
                messages: messages.clone(),
                tools: Some(vec![ChatCompletionTools::Function(ChatCompletionTool { function: function.clone() })]),
                ..Default::default()
            };
            let (content, calls) = if stream { streamed(&client, request).await? } else { whole(&client, request).await? };
            let wrapped: Vec<_> = calls.iter().cloned().map(ChatCompletionMessageToolCalls::Function).collect();
            let said = ChatCompletionRequestAssistantMessage {
                content: content.clone().map(Into::into),
                tool_calls: Some(wrapped).filter(|calls| !calls.is_empty()),
                ..Default::default()
            };
            messages.push(said.into());
            for call in &calls {
                let content = weather(&serde_json::from_str(&call.function.arguments)?);
                messages.push(ChatCompletionRequestToolMessage { content: content.into(), tool_call_id: call.id.clone() }.into());
            }
            if calls.is_empty() {
                answers.push(content.unwrap_or_default());
                break;
            }
        }
    }
    Ok(answers)
}
