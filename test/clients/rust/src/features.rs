//! Features of ../../support/features.ts: `schema`, `image`, `reasoning`, or `abort`, in which a stream is left after its first text.

use serde_json::{Value, json};

use crate::Answers;

pub const QUESTION: &str = "Is it worth it?";
pub const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub fn capital() -> Value {
    json!({
        "type": "object",
        "properties": { "capital": { "type": "string" }, "inhabitants": { "type": "integer" } },
        "required": ["capital", "inhabitants"],
        "additionalProperties": false,
    })
}

/// What the test expects of a feature, by what the client shows.
pub fn parts(feature: &str, shown: String, text: String) -> Answers {
    match feature {
        "schema" => {
            let found: Value = serde_json::from_str(&text)?;
            Ok(vec![found["capital"].as_str().unwrap_or_default().to_owned(), found["inhabitants"].to_string()])
        }
        "reasoning" => Ok(vec![shown, text]),
        _ => Ok(vec![text]),
    }
}
