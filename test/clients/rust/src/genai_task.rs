//! genai at the formats of OpenAI and of Anthropic.

use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, Tool, ToolResponse};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};

use crate::{Account, Answers, DESCRIPTION, QUESTIONS, schema, weather};

pub async fn openai(account: Account, stream: bool) -> Answers {
    converse(account, AdapterKind::OpenAI, stream).await
}

pub async fn anthropic(account: Account, stream: bool) -> Answers {
    converse(account, AdapterKind::Anthropic, stream).await
}

pub fn client_of(Account { url, key, model }: Account, kind: AdapterKind) -> Result<Client, genai::Error> {
    let resolver = ServiceTargetResolver::from_resolver_fn(move |_: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
        // Its base addresses end with a slash: it joins paths as relative addresses.
        let endpoint = Endpoint::from_owned(format!("{url}/v1/"));
        Ok(ServiceTarget { endpoint, auth: AuthData::from_single(key.clone()), model: ModelIden::new(kind, model.clone()) })
    });
    Client::builder().with_service_target_resolver(resolver).build()
}

async fn converse(account: Account, kind: AdapterKind, stream: bool) -> Answers {
    let model = account.model.clone();
    let client = client_of(account, kind)?;
    let tool = Tool::new("weather").with_description(DESCRIPTION).with_schema(schema());
    let mut request = ChatRequest::default().with_tools(vec![tool]);
    let mut answers = Vec::new();
    for question in QUESTIONS {
        request = request.append_message(ChatMessage::user(question));
        loop {
            let (text, said) = if stream { streamed(&client, &model, &request).await? } else { whole(&client, &model, &request).await? };
            let Some((said, calls)) = said else {
                request = request.append_message(ChatMessage::assistant(text.as_str()));
                answers.push(text);
                break;
            };
            let results: Vec<_> = calls.into_iter().map(|(id, arguments)| ToolResponse::new(id, weather(&arguments))).collect();
            request = request.append_message(said).append_message(results);
        }
    }
    Ok(answers)
}

/// The text, and where tools are called the message for the next request, ids and arguments.
type Reply = (String, Option<(ChatMessage, Vec<(String, serde_json::Value)>)>);

async fn whole(client: &Client, model: &str, request: &ChatRequest) -> Result<Reply, Box<dyn std::error::Error>> {
    let response = client.exec_chat(model, request.clone(), None).await?;
    let text = response.first_text().unwrap_or_default().to_owned();
    let calls: Vec<_> = response.tool_calls().into_iter().map(|call| (call.call_id.clone(), call.fn_arguments.clone())).collect();
    Ok((text, response.into_assistant_message_for_tool_use().filter(|_| !calls.is_empty()).map(|said| (said, calls))))
}

async fn streamed(client: &Client, model: &str, request: &ChatRequest) -> Result<Reply, Box<dyn std::error::Error>> {
    let options = ChatOptions::default().with_capture_tool_calls(true).with_capture_content(true);
    let mut events = client.exec_chat_stream(model, request.clone(), Some(&options)).await?.stream;
    while let Some(event) = events.next().await {
        let ChatStreamEvent::End(end) = event? else { continue };
        let text = end.captured_first_text().unwrap_or_default().to_owned();
        let calls: Vec<_> = end.captured_tool_calls().unwrap_or_default().into_iter().map(|call| (call.call_id.clone(), call.fn_arguments.clone())).collect();
        return Ok((text, end.into_assistant_message_for_tool_use().filter(|_| !calls.is_empty()).map(|said| (said, calls))));
    }
    Err("the stream has no end".into())
}
