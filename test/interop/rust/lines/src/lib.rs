//! What every driver in Rust does alike: lets another process use a client, by lines of JSON: see
//! ../../README.md. Each step runs in a task of its own, so that one that waits does not keep others from
//! being carried out.

use anyhow::anyhow;
use serde_json::{Map, Value, json};
use std::{io::Write, sync::Arc, time::Duration};
use tokio::io::{AsyncBufReadExt, BufReader};

/// Why a step was not carried out.
pub enum Failure {
    /// The client has no counterpart for it.
    Unsupported(String),
    Error(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Error(error.into())
    }
}

pub type Outcome = Result<Value, Failure>;

/// The steps of one client. `quit` is one of them; the process ends after it.
pub trait Steps: Default + Send + Sync + 'static {
    fn run(&self, request: &Value) -> impl Future<Output = Outcome> + Send;
}

/// Says who it is, and carries out steps until its input ends.
pub async fn serve<S: Steps>(client: &str) -> anyhow::Result<()> {
    say(&json!({ "event": "ready", "client": client, "version": version_of(client) }));
    let steps = Arc::new(S::default());
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

/// The version that was built, as the workspace's lock file has it.
fn version_of(client: &str) -> &'static str {
    let mut lines = include_str!("../../Cargo.lock").lines();
    lines.find(|line| *line == format!("name = \"{client}\""));
    let found = lines.next().and_then(|line| line.split('"').nth(1));
    found.unwrap_or("unknown")
}

fn say(line: &Value) {
    let mut output = std::io::stdout().lock();
    // Whoever drives it may be gone: then there is nobody to tell.
    _ = writeln!(output, "{line}");
    _ = output.flush();
}

fn answer(id: &Value, result: Outcome) -> Value {
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

/// Fails if the step names something that the driver would pass over in silence.
pub fn allow(request: &Value, known: &[&str]) -> Result<(), Failure> {
    let names = request
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys());
    for name in names {
        if name != "id" && name != "step" && !known.contains(&name.as_str()) {
            return Err(Failure::Unsupported(format!("no option for {name}")));
        }
    }
    Ok(())
}

pub fn text<'a>(request: &'a Value, name: &str) -> anyhow::Result<&'a str> {
    request[name]
        .as_str()
        .ok_or_else(|| anyhow!("{name} is missing"))
}

pub fn span(request: &Value, name: &str) -> Option<Duration> {
    request[name].as_u64().map(Duration::from_millis)
}
