//! Lets another process use dynamodb-lease, by lines of JSON: see ../../README.md. Each step runs in a
//! task of its own, so that one that waits does not keep others from being carried out.

mod steps;

use serde_json::{Map, Value, json};
use std::{io::Write, sync::Arc};
use steps::{Failure, Steps};
use tokio::io::{AsyncBufReadExt, BufReader};

const CLIENT: &str = "dynamodb-lease";

/// The version that was built, as the workspace's lock file has it.
fn version() -> &'static str {
    let mut lines = include_str!("../../Cargo.lock").lines();
    lines.find(|line| *line == format!("name = \"{CLIENT}\""));
    let found = lines.next().and_then(|line| line.split('"').nth(1));
    found.unwrap_or("unknown")
}

fn say(line: &Value) {
    let mut output = std::io::stdout().lock();
    // Whoever drives it may be gone: then there is nobody to tell.
    _ = writeln!(output, "{line}");
    _ = output.flush();
}

fn answer(id: &Value, result: Result<Value, Failure>) -> Value {
    let mut line = Map::from_iter([("id".to_owned(), id.clone())]);
    match result {
        Ok(Value::Object(fields)) => {
            line.insert("ok".into(), true.into());
            line.extend(fields);
        }
        Ok(_) => {
            line.insert("ok".into(), true.into());
        }
        Err(Failure::Unsupported(why)) => {
            line.insert("unsupported".into(), true.into());
            line.insert("why".into(), why.into());
        }
        Err(Failure::Error(error)) => {
            let kind = error.root_cause().to_string();
            line.insert(
                "error".into(),
                json!({ "kind": kind, "message": format!("{error:#}") }),
            );
        }
    }
    Value::Object(line)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    say(&json!({ "event": "ready", "client": CLIENT, "version": version() }));
    let steps = Arc::new(Steps::default());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let request: Value = serde_json::from_str(&line)?;
        let steps = Arc::clone(&steps);
        tokio::spawn(async move {
            let result = steps.run(&request).await;
            say(&answer(&request["id"], result));
            if request["step"] == "quit" {
                std::process::exit(0);
            }
        });
    }
    // Nobody is left to drive it: it dies as it is, without releasing anything.
    std::process::exit(0);
}
