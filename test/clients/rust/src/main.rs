//! Clients in Rust, by their defaults, at the task of ../../support/task.ts: both questions in one conversation, the tool run where the
//! model calls it. Reads lines of JSON, [client, url, key, model], and writes for each a line: a list of both answers, or the error as text.
//! A fifth member is a feature in place of the task (features.rs).

mod features;
mod genai_features;
mod genai_task;
mod openai_features;
mod openai_task;
mod rig_features;
mod rig_task;

use std::error::Error;
use std::io::{BufRead, stdin};

use serde_json::{Value, json};

pub const QUESTIONS: [&str; 2] = ["What is the weather in Rome and in Oslo?", "And what do I take along?"];
pub const DESCRIPTION: &str = "The weather of a place";

pub type Answers = Result<Vec<String>, Box<dyn Error>>;

/// What one client sends, and to whom.
pub struct Account {
    pub url: String,
    pub key: String,
    pub model: String,
}

pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "place": { "type": "string", "description": "Name of the place" } },
        "required": ["place"],
        "additionalProperties": false,
    })
}

/// Runs the tool.
pub fn weather(arguments: &Value) -> String {
    format!("It rains frogs in {}.", arguments["place"].as_str().unwrap_or("no place"))
}

async fn answers(client: &str, account: Account) -> Answers {
    match client {
        "async-openai, chat, whole" => openai_task::chat(account, false).await,
        "async-openai, chat, streamed" => openai_task::chat(account, true).await,
        "rig, chat, whole" => rig_task::chat(account, false).await,
        "rig, chat, streamed" => rig_task::chat(account, true).await,
        "rig, responses, whole" => rig_task::responses(account, false).await,
        "rig, responses, streamed" => rig_task::responses(account, true).await,
        "rig, anthropic, whole" => rig_task::anthropic(account, false).await,
        "rig, anthropic, streamed" => rig_task::anthropic(account, true).await,
        "genai, chat, whole" => genai_task::openai(account, false).await,
        "genai, chat, streamed" => genai_task::openai(account, true).await,
        "genai, anthropic, whole" => genai_task::anthropic(account, false).await,
        "genai, anthropic, streamed" => genai_task::anthropic(account, true).await,
        _ => Err(format!("no client {client}").into()),
    }
}

async fn feature(client: &str, account: Account, feature: &str) -> Answers {
    let (name, mode) = client.rsplit_once(", ").unwrap_or((client, ""));
    let stream = mode == "streamed";
    match name {
        "async-openai, chat" => openai_features::chat(account, feature, stream).await,
        "rig, chat" => rig_features::chat(account, feature, stream).await,
        "rig, responses" => rig_features::responses(account, feature, stream).await,
        "rig, anthropic" => rig_features::anthropic(account, feature, stream).await,
        "genai, chat" => genai_features::openai(account, feature, stream).await,
        "genai, anthropic" => genai_features::anthropic(account, feature, stream).await,
        _ => Err(format!("no features of {client}").into()),
    }
}

/// The text of an error and of all that it holds.
fn text_of(error: &dyn Error) -> String {
    let mut text = format!("{error:?}");
    let mut each = error.source();
    while let Some(source) = each {
        text = format!("{text}; {source}");
        each = source.source();
    }
    text
}

#[tokio::main]
async fn main() {
    for line in stdin().lock().lines() {
        let order: Vec<String> = serde_json::from_str(&line.expect("a line")).expect("a list of texts");
        let [client, url, key, model, rest @ ..] = order.as_slice() else { panic!("fewer than four texts") };
        let account = Account { url: url.clone(), key: key.clone(), model: model.clone() };
        let found = match rest {
            [name, ..] => feature(client, account, name).await,
            [] => answers(client, account).await,
        };
        let answer = match found {
            Ok(texts) => json!(texts),
            Err(error) => json!(text_of(error.as_ref())),
        };
        println!("{answer}");
    }
}
